import "server-only";
import type { SqlRunner } from "@/db/queries/queue";
import { listAttemptPatches, recordSelfTests } from "@/db/queries/self-tests";
import { selfTestRulesVersion } from "@/lib/self-tests/rules";
import { findSelfTests, type SelfTests } from "@/lib/self-tests/self-tests";
import { announceTags } from "./announce";
import type { ServerContext } from "./context";
import { cacheTags } from "./tags";

/** Longer patches are not read. */
const patchLimitBytes = 4 << 20;

const batchSize = 200;

/**
 * What the tests check that a patch adds; null where it cannot be read: it is too long, or its bytes are not here.
 * Never a reason to refuse a bundle.
 */
export async function readSelfTests(
  context: Pick<ServerContext, "blobs">,
  patchSha256: string,
): Promise<SelfTests | null> {
  try {
    return findSelfTests((await context.blobs.readAll(patchSha256, patchLimitBytes)).toString("utf8"));
  } catch {
    return null;
  }
}

/** Keeps what was read of an attempt's patch under the rules in force. */
export async function keepSelfTests(tx: SqlRunner, attemptId: string, found: SelfTests | null): Promise<void> {
  await recordSelfTests(tx, { attemptId, rulesVersion: selfTestRulesVersion, found });
}

/** Reads every attempt's patch again by the rules in force. Again under the same rules it changes nothing. */
export async function recomputeSelfTests(
  context: Pick<ServerContext, "database" | "blobs">,
): Promise<{ rulesVersion: string; attempts: number; notRead: number }> {
  const { sql } = context.database;
  const report = { rulesVersion: selfTestRulesVersion, attempts: 0, notRead: 0 };
  let after: string | null = null;
  for (;;) {
    const batch: { id: string; patchSha256: string }[] = await listAttemptPatches(sql, { after, limit: batchSize });
    const read: { id: string; found: SelfTests | null }[] = [];
    for (const { id, patchSha256 } of batch) read.push({ id, found: await readSelfTests(context, patchSha256) });
    await sql.begin(async (tx) => {
      for (const { id, found } of read) await keepSelfTests(tx, id, found);
      await announceTags(tx, [cacheTags.failures]);
    });
    report.attempts += read.length;
    report.notRead += read.filter(({ found }) => found === null).length;
    after = batch.at(-1)?.id ?? null;
    if (batch.length < batchSize) return report;
  }
}
