import "server-only";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { extractBundle } from "@/lib/evidence/node/bundle-reader";
import type { ServerContext } from "../context";

/** Files of one bundle that are written to the blob store at the same time. */
const parallelFiles = 8;

const running = new Map<string, Promise<void>>();

/**
 * Puts the files of an accepted bundle into the blob store, so that any range of any of them is one read. The bundle
 * is the evidence and is stored before anything is recorded; this may come later, and again.
 */
export function unpackPayload(
  context: ServerContext,
  payload: { bundleSha256: string; files: readonly { path: string; sha256: string }[] },
): Promise<void> {
  const key = `${context.dataDir} ${payload.bundleSha256}`;
  const already = running.get(key);
  if (already !== undefined) return already;
  const work = unpack(context, payload).finally(() => running.delete(key));
  running.set(key, work);
  return work;
}

async function unpack(
  context: ServerContext,
  { bundleSha256, files }: { bundleSha256: string; files: readonly { path: string; sha256: string }[] },
): Promise<void> {
  const folder = join(context.dataDir, "ingest", randomUUID());
  try {
    await extractBundle(await context.blobs.localPath(bundleSha256), folder);
    const queue = [...files];
    const worker = async () => {
      for (let file = queue.pop(); file; file = queue.pop()) {
        await context.blobs.adopt(join(folder, file.path), file.sha256);
      }
    };
    await Promise.all(Array.from({ length: parallelFiles }, worker));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
