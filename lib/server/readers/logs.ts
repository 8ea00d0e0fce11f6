import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findGradingPlace } from "@/db/queries/gradings";
import { InfraDevError } from "@/lib/contract/errors";
import type { LogPage } from "@/lib/contract/log-lines";
import { lastPage, logPageLines, payloadPathOf } from "@/lib/prepare/log-view";
import { getDatabase, getServerContext } from "../context";
import { readLogLines } from "../logs/log-lines";
import { styledLine } from "../logs/styled-line";
import { cacheTags } from "../tags";

/** A page of a log from line `from` on, the last page beyond its end; null where there is no such grading or file. */
export async function getLogPage(gradingId: string, path: string, from: number): Promise<LogPage | null> {
  "use cache";
  cacheTag(cacheTags.everything);
  const place = await findGradingPlace(getDatabase().sql, gradingId);
  // Of two lives the shorter one counts: each way names its own.
  if (!place) {
    cacheLife("minutes");
    return null;
  }
  cacheLife("hours");
  cacheTag(cacheTags.submission(place.submissionId));
  try {
    const context = await getServerContext();
    const read = (first: number) =>
      readLogLines(context, { gradingId, path: payloadPathOf(path), from: first, count: logPageLines });
    const asked = await read(from);
    const { lines, bytes, lineCount } = from > asked.lineCount ? await read(lastPage(asked.lineCount)) : asked;
    const shown = lines.map(({ text, ...line }) => ({ ...line, pieces: styledLine(text) }));
    return { ...place, path, bytes, lineCount, lines: shown };
  } catch (error) {
    if (error instanceof InfraDevError && error.kind === "not-found") return null;
    throw error;
  }
}
