import "server-only";
import { readFile } from "node:fs/promises";
import {
  findHost,
  findKey,
  recordAudit,
  recordKey,
  recordToken,
  revokeHost,
  revokeKey,
  trustHost,
} from "@/db/queries/hosts";
import { recordOrganization } from "@/db/queries/organizations";
import { findLease, returnJob } from "@/db/queries/queue";
import { invalidateGradingsOfKey } from "@/db/queries/submission-admin";
import { listSubmissionsOfKey, recomputeSubmission } from "@/db/queries/summaries";
import { InfraDevError } from "@/lib/contract/errors";
import { protocol } from "@/lib/contract/job";
import { sha256Schema, uuidSchema } from "@/lib/contract/scalars";
import { fromBase64 } from "@/lib/evidence/bytes";
import { keyidOf, rawPublicKey } from "@/lib/evidence/keys";
import { announceJobs, announceTags } from "../announce";
import type { ServerContext } from "../context";
import { submissionTags } from "../ingest/submission-tags";
import { appendToLog } from "../log/append";
import { cacheTags } from "../tags";
import { mintSecret } from "../tokens";

const tokenValidSeconds = 3600;
const actor = "admin command";

export type OrganizationName = { slug: string; name: string };

/** Makes a one-time token that registers one host within one hour. It is shown once: only its digest is kept. */
export async function mintToken(
  context: ServerContext,
  params: { name: string | null; trusted: boolean; organization: OrganizationName },
): Promise<{ token: string; expiresAt: Date }> {
  const organizationId = await recordOrganization(context.database.db, params.organization);
  const { secret, hash } = mintSecret("irt");
  const expiresAt = await context.database.sql.begin(async (tx) => {
    await recordAudit(tx, { actor, action: "token.mint", subject: params.name ?? "host", detail: null });
    return recordToken(tx, {
      hash,
      organizationId,
      name: params.name,
      trusted: params.trusted,
      validSeconds: tokenValidSeconds,
    });
  });
  return { token: secret, expiresAt };
}

/** Lets a host's sandboxed gradings reach `verified` from now on. */
export async function trust(context: ServerContext, hostId: string): Promise<void> {
  const host = await requireHost(context, hostId);
  await context.database.sql.begin(async (tx) => {
    if (!(await trustHost(tx, host.id))) {
      throw new InfraDevError("conflict", {
        code: "host.revoked",
        message: `host '${host.name}' was revoked`,
        where: host.id,
        rule: "a revoked host is never trusted again",
        remedy: "register it anew with a fresh token",
      });
    }
    await recordAudit(tx, { actor, action: "host.trust", subject: host.id, detail: host.name });
    if (host.keyid) {
      await appendToLog(
        tx,
        {
          format: "infradev-log/1",
          type: "key-trusted",
          at: new Date().toISOString(),
          keyid: host.keyid,
          reason: null,
          compromisedSince: null,
        },
        null,
      );
    }
    await announceJobs(tx);
  });
}

/** Ends a host: it gets no work, its credential opens nothing, its key is revoked. What it has graded stays. */
export async function revoke(context: ServerContext, hostId: string, reason: string): Promise<void> {
  const host = await requireHost(context, hostId);
  await context.database.sql.begin(async (tx) => {
    await revokeHost(tx, host.id);
    await recordAudit(tx, { actor, action: "host.revoke", subject: host.id, detail: reason });
  });
  if (host.keyid) await revokeSigningKey(context, { keyid: host.keyid, compromisedSince: null, reason });
}

/** Registers a vendor's public key: PEM, or base64 of its SPKI DER. */
export async function addVendorKey(
  context: ServerContext,
  params: { file: string; owner: string; organization: OrganizationName; validUntil: Date | null },
): Promise<{ keyid: string; created: boolean }> {
  const spki = parsePublicKey(await readKeyFile(params.file), params.file);
  rawPublicKey(spki);
  const keyid = await keyidOf(spki);
  const organizationId = await recordOrganization(context.database.db, params.organization);
  const created = await context.database.sql.begin(async (tx) => {
    const added = await recordKey(tx, {
      keyid,
      role: "vendor",
      owner: params.owner,
      spki,
      hostId: null,
      organizationId,
      validUntil: params.validUntil,
    });
    if (added) {
      await appendToLog(
        tx,
        {
          format: "infradev-log/1",
          type: "key-registered",
          at: new Date().toISOString(),
          keyid,
          reason: null,
          compromisedSince: null,
        },
        null,
      );
      await announceTags(tx, [cacheTags.keys]);
    }
    return added;
  });
  return { keyid, created };
}

/**
 * Revokes a key. Signatures received before `compromisedSince` still count; gradings received at or after it are taken
 * out of the scoring, and every board they touched is computed again.
 */
export async function revokeSigningKey(
  context: ServerContext,
  params: { keyid: string; compromisedSince: Date | null; reason: string },
): Promise<{ invalidated: number }> {
  const { sql } = context.database;
  const key = sha256Schema.safeParse(params.keyid).success ? await findKey(sql, params.keyid) : null;
  if (!key) {
    throw new InfraDevError("not-found", {
      code: "key.unknown",
      message: "this key is not registered",
      where: params.keyid.slice(0, 80),
      rule: "a key is named by its keyid, 64 hex digits",
      remedy: "see: npm run admin -- key list",
    });
  }
  return sql.begin(async (tx) => {
    await revokeKey(tx, { keyid: key.keyid, compromisedSince: params.compromisedSince });
    await recordAudit(tx, { actor, action: "key.revoke", subject: key.keyid, detail: params.reason });
    const invalidated = params.compromisedSince
      ? await invalidateGradingsOfKey(tx, { keyid: key.keyid, since: params.compromisedSince })
      : [];
    const tags = new Set<string>([cacheTags.keys]);
    for (const submissionId of await listSubmissionsOfKey(tx, key.keyid)) {
      await recomputeSubmission(tx, submissionId);
      for (const tag of await submissionTags(tx, submissionId)) tags.add(tag);
    }
    await announceTags(tx, [...tags]);
    await appendToLog(
      tx,
      {
        format: "infradev-log/1",
        type: "key-revoked",
        at: new Date().toISOString(),
        keyid: key.keyid,
        reason: params.reason,
        compromisedSince: params.compromisedSince?.toISOString() ?? null,
      },
      null,
    );
    return { invalidated: invalidated.length };
  });
}

/** Ends a lease: what it still delivers is late, and its job goes back into the queue. */
export async function endLease(context: ServerContext, leaseId: string): Promise<{ job: string }> {
  const { sql } = context.database;
  return sql.begin(async (tx) => {
    const lease = uuidSchema.safeParse(leaseId).success ? await findLease(tx, leaseId, true) : null;
    if (lease?.state !== "active") {
      throw new InfraDevError(lease ? "conflict" : "not-found", {
        code: lease ? "lease.over" : "lease.unknown",
        message: lease ? `the lease is over already (${lease.state})` : "there is no such lease",
        where: leaseId.slice(0, 80),
        rule: "only an active lease can be ended",
        remedy: "see: npm run admin -- lease list",
      });
    }
    await tx`update lease set state = 'ended', ended_at = now() where id = ${lease.id}`;
    const job = await returnJob(tx, {
      jobId: lease.jobId,
      hostId: lease.hostId,
      countRetry: false,
      maxRetries: protocol.infraRetries,
      delaySeconds: 0,
      reason: "a maintainer ended its lease",
    });
    await recomputeSubmission(tx, lease.submissionId);
    await recordAudit(tx, { actor, action: "lease.end", subject: lease.id, detail: null });
    await announceTags(tx, await submissionTags(tx, lease.submissionId));
    await announceJobs(tx);
    return { job };
  });
}

async function requireHost(context: ServerContext, hostId: string) {
  const host = uuidSchema.safeParse(hostId).success ? await findHost(context.database.sql, hostId) : null;
  if (host) return host;
  throw new InfraDevError("not-found", {
    code: "host.unknown",
    message: "there is no such host",
    where: hostId.slice(0, 80),
    rule: "a host is named by its UUID",
    remedy: "see: npm run admin -- host list",
  });
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "key.unreadable",
        message: `the key's file cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown error"})`,
        where: path,
        remedy: "name a file that holds the public key",
      },
      { cause },
    );
  }
}

/** PEM (`BEGIN PUBLIC KEY`) or bare base64 of the SPKI. */
function parsePublicKey(text: string, path: string): Uint8Array {
  const body = /^-----BEGIN PUBLIC KEY-----([\s\S]+)-----END PUBLIC KEY-----\s*$/.exec(text.trim())?.[1] ?? text;
  try {
    return fromBase64(body.replaceAll(/\s/g, ""));
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "key.form",
        message: "the file holds no public key",
        where: path,
        rule: "a public key is PEM (BEGIN PUBLIC KEY) or base64 of its SubjectPublicKeyInfo in DER",
        remedy: "export it with: openssl pkey -in key.pem -pubout",
      },
      { cause },
    );
  }
}
