import "server-only";
import { failingLineOf } from "@/lib/prepare/failure-page";
import type { ServerContext } from "../context";
import type { IndexedBlob } from "./line-index";
import { type RawLine, readLines } from "./read-lines";

/** Lines in which a failure is looked for: so many from where the test began, and so many at the log's end. */
const searchedLines = 2000;

/** Lines shown above and below. */
const aroundLines = 8;

/**
 * The lines of a rank's log around the one that says why a test failed: looked for where the test's own output begins,
 * then at the end, where pytest repeats what failed. Where neither says it, around the test's first line. Null where
 * the log is empty, or nothing of the test is known in it.
 */
export async function readFailingLines(
  context: Pick<ServerContext, "blobs" | "dataDir">,
  blob: IndexedBlob,
  { testId, message, logLine }: { testId: string; message: string; logLine: number | null },
): Promise<{ lines: RawLine[]; marked: number; lineCount: number } | null> {
  const search = async (from: number) => {
    const { lines, lineCount } = await readLines(context, blob, { from, count: searchedLines });
    const at = failingLineOf(
      lines.map(({ text }) => text),
      { testId, message },
    );
    return { lineCount, found: at === null ? null : (lines[at]?.number ?? null) };
  };
  const first = await search(logLine ?? 1);
  const tail = Math.max(1, first.lineCount - searchedLines + 1);
  const found = first.found ?? (tail > (logLine ?? 1) ? (await search(tail)).found : null);
  const marked = found ?? (logLine !== null && logLine <= first.lineCount ? logLine : null);
  if (marked === null) return null;
  const from = Math.max(1, marked - aroundLines);
  const { lines } = await readLines(context, blob, { from, count: marked + aroundLines - from + 1 });
  return { lines, marked, lineCount: first.lineCount };
}
