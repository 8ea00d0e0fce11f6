import "server-only";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { LeaseRow } from "@/db/queries/queue";
import { InfraDevError } from "@/lib/contract/errors";
import type { ServerContext } from "../context";

const gunzipAsync = promisify(gunzip);

/** Largest chunk after unpacking, and the most that is kept of one job's live log. The evidence is in the bundle. */
const chunkUnpackedBytes = 16 * 1024 * 1024;
const logBytes = 256 * 1024 * 1024;

const watchedForMs = 60_000;
const watchedUntil = new Map<string, number>();

/** Somebody looks at a job's log: its runner sends every second for a while. */
export function watchLog(leaseId: string): void {
  watchedUntil.set(leaseId, Date.now() + watchedForMs);
}

/** How often a runner sends its log: 1 s while watched, 30 s otherwise. */
export function logIntervalSeconds(leaseId: string): number {
  const until = watchedUntil.get(leaseId);
  if (until === undefined) return 30;
  if (until > Date.now()) return 1;
  watchedUntil.delete(leaseId);
  return 30;
}

/**
 * Appends a gzip chunk whose unpacked bytes begin at `offset` of the job's log. Idempotent: what the server has
 * already is skipped. A gap is refused (`logs.gap`). Answers the offset reached, in unpacked bytes.
 */
export async function appendLog(
  context: ServerContext,
  lease: LeaseRow,
  offset: number,
  chunk: Buffer,
): Promise<number> {
  let bytes: Buffer;
  try {
    bytes = await gunzipAsync(chunk, { maxOutputLength: chunkUnpackedBytes });
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "logs.not-gzip",
        message: "the chunk is no gzip data, or unpacks to more than a chunk may hold",
        where: `offset ${offset}`,
        rule: `log chunks are gzip and unpack to at most ${chunkUnpackedBytes} bytes`,
        remedy: "compress the chunk with gzip and send smaller chunks",
      },
      { cause },
    );
  }
  // What comes after the end is in the bundle, or of no use.
  if (lease.state !== "active") return offset + bytes.byteLength;
  const path = pathOf(context, lease.id);
  return afterOthers(path, () => appendAt(path, offset, bytes));
}

const appending = new Map<string, Promise<unknown>>();

/** Runs after what was asked for before on this log: what a chunk adds depends on where the one before it ended. */
async function afterOthers<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = appending.get(path) ?? Promise.resolve();
  const mine = before.then(work, work);
  appending.set(path, mine);
  try {
    return await mine;
  } finally {
    if (appending.get(path) === mine) appending.delete(path);
  }
}

async function appendAt(path: string, offset: number, bytes: Buffer): Promise<number> {
  await mkdir(dirname(path), { recursive: true });
  const reached = await sizeOf(path);
  if (reached >= logBytes) return offset + bytes.byteLength;
  if (offset > reached) {
    throw new InfraDevError("conflict", {
      code: "logs.gap",
      message: `the log stands at offset ${reached}, the chunk begins at ${offset}`,
      where: `offset ${offset}`,
      rule: "a log has no gaps",
      remedy: `send from offset ${reached}`,
    });
  }
  const fresh = bytes.subarray(reached - offset);
  if (fresh.byteLength === 0) return reached;
  const file = await open(path, "a", 0o600);
  try {
    await file.writeFile(fresh.subarray(0, logBytes - reached));
  } finally {
    await file.close();
  }
  return reached + fresh.byteLength;
}

/** A piece of a job's live log from `offset` on, at most `limit` bytes, cut at the last whole line where there is one. */
export async function readLog(
  context: ServerContext,
  leaseId: string,
  offset: number,
  limit: number,
): Promise<{ text: string; offset: number }> {
  const path = pathOf(context, leaseId);
  const size = await sizeOf(path);
  if (offset >= size) return { text: "", offset };
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(limit, size - offset));
    const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, offset);
    const lastLine = buffer.lastIndexOf(0x0a, bytesRead - 1);
    const end = lastLine < 0 ? bytesRead : lastLine + 1;
    return { text: buffer.subarray(0, end).toString("utf8"), offset: offset + end };
  } finally {
    await file.close();
  }
}

/** The evidence of a finished job is its bundle; the live log has served. */
export async function removeLog(context: ServerContext, leaseId: string): Promise<void> {
  watchedUntil.delete(leaseId);
  await rm(pathOf(context, leaseId), { force: true });
}

const pathOf = (context: ServerContext, leaseId: string) => join(context.dataDir, "live-logs", `${leaseId}.log`);

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
