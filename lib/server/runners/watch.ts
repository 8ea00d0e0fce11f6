import "server-only";
import { findWatchableLease } from "@/db/queries/queue";
import { slugSchema, uuidSchema } from "@/lib/contract/scalars";
import type { JobState } from "@/lib/contract/vocabulary";
import type { ServerContext } from "../context";
import { found } from "../http";
import { readLog, watchLog } from "./live-logs";

const pieceBytes = 256 * 1024;

/** The next piece of a running grading's log. Throws `log.nothing-runs`, for suites with hidden probes too. */
export async function readWatchedLog(
  context: ServerContext,
  params: { submissionId: string; task: string; offset: number },
): Promise<{ state: JobState; progress: string | null; text: string; offset: number }> {
  const { submissionId, task, offset } = params;
  const known = uuidSchema.safeParse(submissionId).success && slugSchema.safeParse(task).success;
  const lease = found(
    known ? await findWatchableLease(context.database.sql, { submissionId, task }) : null,
    "log.nothing-runs",
    `${submissionId}/${task}`,
  );
  watchLog(lease.id);
  return { state: lease.state, progress: lease.progress, ...(await readLog(context, lease.id, offset, pieceBytes)) };
}
