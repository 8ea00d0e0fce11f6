import "server-only";
import { type LogLinesAnswer, logLinesAnswerSchema } from "@/lib/contract/log-lines";
import type { ServerContext } from "../context";
import { findEvidenceFile } from "../evidence";
import { readLines } from "./read-lines";

/**
 * Lines of one file of a grading's payload, read by ranges whatever its size. Throws `grading.unknown` and
 * `grading.no-such-file`; what is sealed is never among the files.
 */
export async function readLogLines(
  context: ServerContext,
  { gradingId, path, from, count }: { gradingId: string; path: string; from: number; count: number },
): Promise<LogLinesAnswer> {
  const { sha256, bytes } = await findEvidenceFile(context, gradingId, path);
  const read = await readLines(context, { sha256, bytes }, { from, count });
  return logLinesAnswerSchema.parse({ gradingId: gradingId.toLowerCase(), path, sha256, bytes, ...read });
}
