import "server-only";
import { finishJob, type LeaseRow, returnJob, type SqlRunner } from "@/db/queries/queue";
import { type FinishRequest, protocol } from "@/lib/contract/job";
import { announceJobs } from "../announce";

/**
 * Ends the job of an active lease, or puts it back into the queue: after a fault of the host, which counts as a retry,
 * and where its runner was stopped (`canceled` though nobody asked for it), which does not.
 */
export async function endJob(
  tx: SqlRunner,
  lease: LeaseRow,
  outcome: { status: FinishRequest["status"]; reason: string | null },
): Promise<"requeued" | "recorded"> {
  if (outcome.status === "infra" || outcome.status === "canceled") {
    const fault = outcome.status === "infra";
    const returned = await returnJob(tx, {
      jobId: lease.jobId,
      hostId: lease.hostId,
      countRetry: fault,
      maxRetries: protocol.infraRetries,
      delaySeconds: fault ? (protocol.infraRetryDelaysSeconds[lease.infraRetries] ?? 0) : 0,
      reason: outcome.reason ?? (fault ? "a fault of the host" : "its runner was stopped"),
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
