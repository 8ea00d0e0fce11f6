import "server-only";
import { randomUUID } from "node:crypto";
import type { SqlRunner } from "@/db/queries/queue";

/** Postgres channels: what changed, told to every process when the transaction commits. */
export const channels = { cache: "infradev_cache", queue: "infradev_queue" } as const;

const shared = globalThis as typeof globalThis & { infradevProcessId?: string };

/** Identifies this process among those that hear an announcement; Next loads this module more than once. */
export function processId(): string {
  shared.infradevProcessId ??= randomUUID();
  return shared.infradevProcessId;
}

/** Tells the page caches of all web processes, from inside the transaction that changed something. */
export async function announceTags(tx: SqlRunner, tags: readonly string[]): Promise<void> {
  for (let start = 0; start < tags.length; start += tagsPerMessage) {
    const message = JSON.stringify({ from: processId(), tags: tags.slice(start, start + tagsPerMessage) });
    await tx`select pg_notify(${channels.cache}, ${message})`;
  }
}

/** Wakes claims that wait for a job. */
export async function announceJobs(tx: SqlRunner): Promise<void> {
  await tx`select pg_notify(${channels.queue}, '')`;
}

// A message of Postgres holds less than 8000 bytes, a tag at most 256.
const tagsPerMessage = 25;
