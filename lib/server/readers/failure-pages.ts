import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findPayload } from "@/db/queries/evidence";
import { type FailureSource, findFailureSource } from "@/db/queries/gradings";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import { getDatabase, getServerContext } from "../context";
import { findEvidenceFile } from "../evidence";
import { readFailingLines } from "../logs/failing-lines";
import { styledLine } from "../logs/styled-line";
import { cacheTags } from "../tags";

/** Of a longer patch so much is read. */
const readPatchBytes = 512 * 1024;

/** What stands behind a failure: patch, and lines of the log; null where there is no such failure. */
export async function getFailureBackground(gradingId: string, test: number): Promise<FailureBackground | null> {
  "use cache";
  cacheTag(cacheTags.everything);
  const source = await findFailureSource(getDatabase().sql, { gradingId, test });
  // Of two lives the shorter one counts: each way names its own.
  if (!source) {
    cacheLife("minutes");
    return null;
  }
  cacheLife("hours");
  cacheTag(cacheTags.submission(source.submissionId));
  const hidden = source.probes === "hidden" && source.kind === "probe";
  const logPaths = hidden ? [] : await listRankLogs(gradingId);
  return {
    patch: await readPatch(source),
    log: hidden ? null : await readLog(gradingId, source, logPaths),
    logPaths,
  };
}

async function readPatch({ patchSha256, patchBytes }: FailureSource): Promise<FailureBackground["patch"]> {
  const { blobs } = await getServerContext();
  const end = Math.min(patchBytes, readPatchBytes) - 1;
  const chunks: Buffer[] = [];
  if (end >= 0)
    for await (const chunk of await blobs.read(patchSha256, { start: 0, end })) chunks.push(chunk as Buffer);
  return {
    text: Buffer.concat(chunks).toString("utf8"),
    sha256: patchSha256,
    truncated: patchBytes > readPatchBytes,
  };
}

async function listRankLogs(gradingId: string): Promise<FailureBackground["logPaths"]> {
  const payload = await findPayload(getDatabase().sql, gradingId);
  return (payload?.files ?? []).flatMap(({ path, bytes }) => {
    const match = /^payload\/ranks\/launch-(\d+)\/rank-(\d+)\.stdout\.log$/.exec(path);
    return match && bytes > 0 ? [{ launch: Number(match[1]), rank: Number(match[2]), path }] : [];
  });
}

async function readLog(
  gradingId: string,
  { launch, rank, testId, message, logLine }: FailureSource,
  paths: FailureBackground["logPaths"],
): Promise<FailureBackground["log"]> {
  const path = paths.find((one) => one.launch === launch && one.rank === rank)?.path;
  if (path === undefined) return null;
  const context = await getServerContext();
  const blob = await findEvidenceFile(context, gradingId, path);
  const found = await readFailingLines(context, blob, { testId, message, logLine });
  return (
    found && {
      path,
      lineCount: found.lineCount,
      marked: found.marked,
      lines: found.lines.map(({ text, ...line }) => ({ ...line, pieces: styledLine(text) })),
    }
  );
}
