import "server-only";
import { finishJob, type LeaseRow, returnJob, type SqlRunner } from "@/db/queries/queue";
import { type FinishRequest, protocol } from "@/lib/contract/job";
import { announceJobs } from "../announce";

/** Ends the job of an active lease, or puts it back into the queue after a fault of the host. */
export async function endJob(
  tx: SqlRunner,
  lease: LeaseRow,
  outcome: { status: FinishRequest["status"]; reason: string | null },
): Promise<"requeued" | "recorded"> {
  if (outcome.status === "infra") {
    const returned = await returnJob(tx, {
      jobId: lease.jobId,
      hostId: lease.hostId,
      countRetry: true,
      maxRetries: protocol.infraRetries,
      delaySeconds: protocol.infraRetryDelaysSeconds[lease.infraRetries] ?? 0,
      reason: outcome.reason ?? "a fault of the host",
    });
    if (returned === "requeued") {
      await announceJobs(tx);
      return "requeued";
    }
    return "recorded";
  }
  await finishJob(tx, { jobId: lease.jobId, state: "finished", status: outcome.status, reason: outcome.reason });
  return "recorded";
}
