import "server-only";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { channels, processId } from "./announce";
import { getDatabase } from "./context";
import { listeningPort } from "./env";
import { logger } from "./logger";
import { cacheTags, isCacheTag } from "./tags";

const shared = globalThis as typeof globalThis & { infradevExpireSecret?: string };

/** What the process calls itself with, new at every start: nobody else can expire its caches. */
function secret(): string {
  shared.infradevExpireSecret ??= randomBytes(32).toString("base64url");
  return shared.infradevExpireSecret;
}

export function isExpireSecret(given: string | null): boolean {
  const expected = Buffer.from(secret());
  const actual = Buffer.from(given ?? "");
  return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
}

/**
 * Hears what other processes announce (other web processes, the admin command) and expires it in this process's caches.
 * Next expires tags inside a request only, so the process asks itself for one. Whatever may have been missed, before
 * the start or while the connection was down, is expired as a whole once listening works (again).
 */
export function listenForAnnouncements(): void {
  void listen().catch((error: unknown) => {
    logger().error({ err: error }, "announcements of changes cannot be heard; pages are refreshed by time alone");
  });
}

async function listen(): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await getDatabase().sql.listen(
        channels.cache,
        (message) => void expireSoon(tagsOf(message)),
        () => void expireSoon([cacheTags.everything]),
      );
      return;
    } catch (error) {
      if (attempt === 0) logger().warn({ err: error }, "the database cannot be reached; trying again");
      await sleep(Math.min(30_000, 1000 * 2 ** attempt));
    }
  }
}

/** Tags of another process's message; what this process announced it has expired itself. */
function tagsOf(message: string): string[] {
  try {
    const { from, tags } = JSON.parse(message) as { from?: unknown; tags?: unknown };
    return from === processId() || !Array.isArray(tags) ? [] : tags.filter(isCacheTag);
  } catch {
    return [cacheTags.everything];
  }
}

async function expireSoon(tags: readonly string[]): Promise<void> {
  if (tags.length === 0) return;
  for (let attempt = 0; attempt < 60; attempt++) {
    const port = listeningPort();
    if (port !== null) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/internal/expire`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-infradev-expire": secret() },
        body: JSON.stringify({ tags }),
      }).catch(() => null);
      if (answer?.ok) return;
    }
    // The server listens a moment after it has started.
    await sleep(Math.min(5000, 250 * (attempt + 1)));
  }
  logger().error({ tags }, "changes that another process announced could not be applied to the page cache");
}
