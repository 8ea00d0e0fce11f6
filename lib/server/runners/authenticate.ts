import "server-only";
import { findHostByCredential, type HostRow } from "@/db/queries/hosts";
import { findLease, type LeaseRow } from "@/db/queries/queue";
import { InfraDevError } from "@/lib/contract/errors";
import { uuidSchema } from "@/lib/contract/scalars";
import type { ServerContext } from "../context";
import { secretHash } from "../tokens";

/** The host that sent a request. Throws `runner.unknown` (401) or `runner.revoked` (403). */
export async function authenticateHost(context: ServerContext, request: Request): Promise<HostRow> {
  const credential = bearerOf(request);
  const host = credential && (await findHostByCredential(context.database.sql, secretHash(credential)));
  if (!host) {
    throw new InfraDevError("unauthorized", {
      code: "runner.unknown",
      message: "the request carries no credential of a registered host",
      where: "Authorization",
      rule: "every request but the registration carries 'Authorization: Bearer <credential>'",
      remedy: "register with a one-time token: runner attach --server URL --token TOKEN",
    });
  }
  if (host.revoked) {
    throw new InfraDevError("forbidden", {
      code: "runner.revoked",
      message: `host '${host.name}' was revoked`,
      where: host.id,
      rule: "a revoked host gets no work and delivers none",
      remedy: "ask a maintainer; the host must be registered anew",
    });
  }
  return host;
}

/** A lease of this host. Throws `lease.unknown` (404), for a lease of another host too. */
export async function requireLease(context: ServerContext, host: HostRow, leaseId: string): Promise<LeaseRow> {
  const lease = uuidSchema.safeParse(leaseId).success ? await findLease(context.database.sql, leaseId) : null;
  if (lease?.hostId !== host.id) {
    throw new InfraDevError("not-found", {
      code: "lease.unknown",
      message: "this host has no such lease",
      where: leaseId.slice(0, 80),
      rule: "a lease belongs to the host that claimed it",
      remedy: "claim again",
    });
  }
  return lease;
}

/** What a runner is told whose lease is active no longer. It stops its job and may still deliver late evidence. */
export function leaseOver(lease: Pick<LeaseRow, "id" | "state">): InfraDevError {
  return new InfraDevError("gone", {
    code: lease.state === "lost" ? "lease.lost" : "lease.over",
    message:
      lease.state === "lost"
        ? "the lease was not renewed in time and is lost; the job may run elsewhere"
        : `the lease is over (${lease.state})`,
    where: lease.id,
    rule: "the lease id fences: only an active lease is renewed, and what a lost one delivers is kept as late",
    remedy: "stop the job; a bundle that is ready may still be uploaded as late evidence",
  });
}

/** The bearer credential, or null. */
function bearerOf(request: Request): string | null {
  const match = /^Bearer ([!-~]{16,400})$/i.exec(request.headers.get("authorization") ?? "");
  return match?.[1] ?? null;
}
