import "server-only";
import type { SqlRunner } from "@/db/queries/queue";
import {
  type AttemptSources,
  listAttemptSources,
  recordCommandChecks,
  recordPatchChecks,
} from "@/db/queries/self-tests";
import { selfTestRulesVersion } from "@/lib/self-tests/rules";
import { findSelfTests, type SelfTests } from "@/lib/self-tests/self-tests";
import { announceTags } from "./announce";
import type { ServerContext } from "./context";
import { cacheTags } from "./tags";
import { readCommandChecks } from "./trajectories";

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
  await recordPatchChecks(tx, { attemptId, rulesVersion: selfTestRulesVersion, found });
}

/** Reads every attempt's patch and trajectory again by the rules in force. Again under the same rules it changes nothing. */
export async function recomputeSelfTests(context: Pick<ServerContext, "database" | "blobs">): Promise<{
  rulesVersion: string;
  attempts: number;
  notRead: number;
  trajectories: number;
  unreadTrajectories: number;
}> {
  const { sql } = context.database;
  const rulesVersion = selfTestRulesVersion;
  const report = { rulesVersion, attempts: 0, notRead: 0, trajectories: 0, unreadTrajectories: 0 };
  let after: string | null = null;
  for (;;) {
    const batch: AttemptSources[] = await listAttemptSources(sql, { after, limit: batchSize });
    for (const { id, patchSha256, trajectorySha256 } of batch) {
      const found = await readSelfTests(context, patchSha256);
      const commands = trajectorySha256 === null ? null : await readCommandChecks(context, trajectorySha256);
      await sql.begin(async (tx) => {
        await keepSelfTests(tx, id, found);
        // One that came since the list was made is newer than what is known here.
        if (trajectorySha256 !== null) await recordCommandChecks(tx, { attemptId: id, rulesVersion, found: commands });
      });
      report.attempts += 1;
      if (found === null) report.notRead += 1;
      if (trajectorySha256 === null) continue;
      report.trajectories += 1;
      if (commands === null) report.unreadTrajectories += 1;
    }
    await sql.begin((tx) => announceTags(tx, [cacheTags.failures]));
    after = batch.at(-1)?.id ?? null;
    if (batch.length < batchSize) return report;
  }
}
