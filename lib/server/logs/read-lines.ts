import "server-only";
import type { ServerContext } from "../context";
import { type IndexedBlob, type LineIndex, lineIndexOf } from "./line-index";

/** Bytes of a line that are read where nothing else is said; what is longer is cut and says so. */
export const lineLimitBytes = 4096;

/** A line as it lies in the file, without its end. */
export interface RawLine {
  number: number;
  /** At most so many bytes as text; bytes that are not UTF-8 stand as U+FFFD. */
  text: string;
  /** Length of the whole line, in bytes. */
  bytes: number;
  cut: boolean;
}

export interface LinesRead {
  lines: RawLine[];
  lineCount: number;
}

/**
 * Lines `from` to `from + count - 1` (counted from 1) of a blob, by ranges: the index says where to begin, and of a
 * long line only the beginning is read. Empty beyond the end.
 */
export async function readLines(
  context: Pick<ServerContext, "blobs" | "dataDir">,
  blob: IndexedBlob,
  { from, count, limitBytes = lineLimitBytes }: { from: number; count: number; limitBytes?: number },
): Promise<LinesRead> {
  const index = await lineIndexOf(context, blob);
  const lines: RawLine[] = [];
  const end = Math.min(from + count - 1, index.lineCount);
  let wanted = from;
  while (wanted <= end) {
    const read = await readPiece(context, blob, index, { from: wanted, to: end, limitBytes });
    if (read.length === 0) throw new Error(`blob ${blob.sha256} ends before its line ${wanted}`);
    lines.push(...read);
    wanted += read.length;
  }
  return { lines, lineCount: index.lineCount };
}

/** Position of the last entry whose line is at most `line`. */
function entryBefore(index: LineIndex, line: number): number {
  let low = 0;
  let high = index.lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((index.lines[middle] as number) <= line) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Lines `from` to at most `to` that begin before the next entry of the index, at least one: between two entries lie few
 * bytes, or one long line, whose end the next entry tells without reading it.
 */
async function readPiece(
  { blobs }: Pick<ServerContext, "blobs">,
  { sha256, bytes }: IndexedBlob,
  index: LineIndex,
  { from, to, limitBytes }: { from: number; to: number; limitBytes: number },
): Promise<RawLine[]> {
  const entry = entryBefore(index, from);
  const start = index.offsets[entry] as number;
  const firstLine = index.lines[entry] as number;
  const nextLine = index.lines[entry + 1] ?? index.lineCount + 1;
  const end = index.offsets[entry + 1] ?? bytes;
  const last = Math.min(to, nextLine - 1);
  const made: RawLine[] = [];
  let number = firstLine;
  let lineStart = start;
  let head: Buffer[] = [];
  let headBytes = 0;
  const finish = (lineEnd: number) => {
    if (number >= from) made.push(lineOf(number, Buffer.concat(head), lineEnd - lineStart, limitBytes));
    number += 1;
    head = [];
    headBytes = 0;
  };
  let offset = start;
  reading: for await (const piece of await blobs.read(sha256, { start, end: end - 1 })) {
    const chunk = piece as Buffer;
    let at = 0;
    while (at < chunk.length) {
      const found = chunk.indexOf(10, at);
      const stop = found < 0 ? chunk.length : found;
      if (headBytes <= limitBytes) {
        const kept = chunk.subarray(at, Math.min(stop, at + limitBytes + 1 - headBytes));
        head.push(kept);
        headBytes += kept.length;
      }
      at = stop + 1;
      if (found >= 0) {
        finish(offset + found);
        lineStart = offset + at;
        if (number > last) break reading;
      } else if (number === nextLine - 1 && headBytes > limitBytes) {
        // The rest of a long line is known to be one: it ends where the next entry begins, or with the file.
        finish(index.offsets[entry + 1] === undefined ? await endOfLast(blobs, sha256, bytes) : end - 1);
        break reading;
      }
    }
    offset += chunk.length;
  }
  if (number <= last && headBytes > 0) finish(end);
  return made;
}

/** Where a file's last line ends: before its line end, if it has one. */
async function endOfLast(blobs: ServerContext["blobs"], sha256: string, bytes: number): Promise<number> {
  let last = 0;
  for await (const chunk of await blobs.read(sha256, { start: bytes - 1, end: bytes - 1 }))
    last = (chunk as Buffer)[0] ?? 0;
  return last === 10 ? bytes - 1 : bytes;
}

function lineOf(number: number, head: Buffer, bytes: number, limitBytes: number): RawLine {
  const cut = head.length > limitBytes;
  // A character that the cut runs through is left out rather than shown as a wrong one.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(head.subarray(0, limitBytes), { stream: cut });
  return { number, text: cut ? text : text.replace(/\r$/, ""), bytes, cut };
}
