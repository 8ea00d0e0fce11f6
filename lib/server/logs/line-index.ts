import "server-only";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { ServerContext } from "../context";

/** Bytes between two entries at least: a page of lines never reads more than this before each of its lines. */
export const indexedEveryBytes = 64 * 1024;

/** Indexes of smaller files are made again each time: that is faster than keeping them. */
const keptFromBytes = 1024 * 1024;

/** Where lines begin: entry `i` says that line `lines[i]` (from 1) begins at byte `offsets[i]`. */
const lineIndexSchema = z.object({
  format: z.literal("infradev-line-index/1"),
  bytes: z.int().nonnegative(),
  /** A last line without an end counts. */
  lineCount: z.int().nonnegative(),
  lines: z.array(z.int().positive()),
  offsets: z.array(z.int().nonnegative()),
});
export type LineIndex = z.infer<typeof lineIndexSchema>;

/** What an index is made of: the digest names the bytes, so an index once made is right for ever. */
export interface IndexedBlob {
  sha256: string;
  bytes: number;
}

/** Counts line ends in a file of `bytes` bytes, read as a stream. */
async function buildLineIndex(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<LineIndex> {
  const lines = [1];
  const offsets = [0];
  let line = 1;
  let offset = 0;
  let nextEntry = indexedEveryBytes;
  let last = 10;
  for await (const chunk of chunks) {
    const { length } = chunk;
    for (let at = 0; at < length; at += 1) {
      if (chunk[at] !== 10) continue;
      line += 1;
      const start = offset + at + 1;
      if (start < nextEntry) continue;
      lines.push(line);
      offsets.push(start);
      nextEntry = start + indexedEveryBytes;
    }
    if (length > 0) last = chunk[length - 1] as number;
    offset += length;
  }
  return { format: "infradev-line-index/1", bytes, lineCount: last === 10 ? line - 1 : line, lines, offsets };
}

const running = new Map<string, Promise<LineIndex>>();

/**
 * The line index of a blob: read from `<data>/line-index/ab/cdef....json` where it was made before, else made by one
 * pass over the bytes, and kept where the blob is large. Requests that come meanwhile wait for the same pass. A kept
 * index that cannot be read is made again.
 */
export function lineIndexOf(context: Pick<ServerContext, "blobs" | "dataDir">, blob: IndexedBlob): Promise<LineIndex> {
  const key = `${context.dataDir} ${blob.sha256}`;
  const already = running.get(key);
  if (already !== undefined) return already;
  const work = findOrBuild(context, blob).finally(() => running.delete(key));
  running.set(key, work);
  return work;
}

async function findOrBuild(
  { blobs, dataDir }: Pick<ServerContext, "blobs" | "dataDir">,
  { sha256, bytes }: IndexedBlob,
): Promise<LineIndex> {
  if (bytes < keptFromBytes) return buildLineIndex(bytes === 0 ? none() : await blobs.read(sha256), bytes);
  const path = join(dataDir, "line-index", sha256.slice(0, 2), `${sha256.slice(2)}.json`);
  const kept = await readKept(path, bytes);
  if (kept !== null) return kept;
  const index = await buildLineIndex(await blobs.read(sha256), bytes);
  await keep(path, index);
  return index;
}

async function* none(): AsyncGenerator<Uint8Array> {}

async function readKept(path: string, bytes: number): Promise<LineIndex | null> {
  try {
    const index = lineIndexSchema.parse(JSON.parse(await readFile(path, "utf8")));
    return index.bytes === bytes && index.lines.length === index.offsets.length ? index : null;
  } catch {
    return null;
  }
}

/** Whole or not at all; a reader never sees half of it. */
async function keep(path: string, index: LineIndex): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `${randomUUID()}.tmp`);
  try {
    await writeFile(temporary, JSON.stringify(index));
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
