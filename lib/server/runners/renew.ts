import "server-only";
import type { z } from "zod";
import { findLease, type LeaseRow, renewLease } from "@/db/queries/queue";
import { InfraDevError } from "@/lib/contract/errors";
import { protocol, type RenewResponse, type renewRequestSchema } from "@/lib/contract/job";
import { announceTags } from "../announce";
import type { ServerContext } from "../context";

import { cacheTags } from "../tags";
import { leaseOver } from "./authenticate";
import { logIntervalSeconds } from "./live-logs";

const renewableStates = ["leased", "preparing", "running", "uploading"] as const;

/** Prolongs a lease and hears how far its job is. Throws `lease.lost` or `lease.over` (410). */
export async function renew(
  context: ServerContext,
  lease: LeaseRow,
  request: z.infer<typeof renewRequestSchema>,
): Promise<RenewResponse> {
  const { sql } = context.database;
  const state = renewableStates.find((word) => word === request.state);
  if (!state) {
    throw new InfraDevError("invalid", {
      code: "lease.state",
      message: `a runner cannot put its job into state '${request.state}'`,
      where: "body#state",
      rule: `a renewal names one of ${renewableStates.join(", ")}`,
      remedy: "send the state that the job is in; 'finish' ends it",
    });
  }
  const renewed = await renewLease(sql, {
    leaseId: lease.id,
    state,
    progress: request.progress,
    leaseSeconds: protocol.leaseSeconds,
  });
  if (!renewed) throw leaseOver((await findLease(sql, lease.id)) ?? lease);
  if (state !== lease.jobState) {
    const tags = [cacheTags.submission(lease.submissionId)];
    await announceTags(sql, tags);
    context.expireTags(tags);
  }
  return {
    leaseExpiresAt: renewed.expiresAt.toISOString(),
    cancel: renewed.cancel,
    logIntervalSeconds: logIntervalSeconds(lease.id),
  };
}
