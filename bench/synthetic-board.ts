import { createHash } from "node:crypto";
import { sql as raw } from "drizzle-orm";
import { createDatabase, type Database } from "../db/client";
import { type EntryConfiguration, recordEntry } from "../db/queries/entries";
import { recordKey } from "../db/queries/hosts";
import { recordOrganization } from "../db/queries/organizations";
import { importSuite } from "../db/queries/suites";
import { recomputeSubmission } from "../db/queries/summaries";
import { attempts, gradings, submissions, suites } from "../db/schema";
import { InfraDevError } from "../lib/contract/errors";
import type { Manifest, PackedSuite } from "../lib/contract/task";
import { categories, taskTypes } from "../lib/contract/vocabulary";
import { generateKeyPair } from "../lib/evidence/keys";
import { makeTestManifest, testHost } from "../lib/evidence/testing";
import { type Random, seededRandom } from "../lib/stats/random";

export const syntheticSlug = "synthetic-suite";

/** Tests of each task: the first ones official, the others probes. */
const officialTests = 12;
const probes = 8;

export const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * Fills a database with a suite and graded rows that are made up and say so, drawn from a seed. The suite comes first on
 * the site. Summaries are computed by the code that computes them at ingest.
 * Throws `bench.not-a-test-database` for anything but a database that db/testing made on this machine.
 */
export async function fillSyntheticBoard(
  url: string,
  size: { entries: number; tasks: number; seed: number },
): Promise<void> {
  refuseOtherDatabases(url);
  const { db, sql, close } = createDatabase(url, { max: 2 });
  try {
    const random = seededRandom(size.seed);
    const { suiteId } = await db.transaction((tx) =>
      importSuite(tx, makePack({ version: "1.0", tasks: size.tasks, officialTests, probes })),
    );
    await db.update(suites).set({ position: -1 }).where(raw`${suites.id} = ${suiteId}`);
    const taskIds = (
      await sql<{ id: number }[]>`select id from task where suite_id = ${suiteId} order by position`
    ).map(({ id }) => id);
    const { signer } = await generateKeyPair();
    const key = { keyid: signer.keyid, role: "runner" as const, owner: "synthetic host", spki: signer.spki };
    await recordKey(sql, { ...key, hostId: null, organizationId: null, validUntil: null });
    for (let entry = 0; entry < size.entries; entry++) {
      const submissionId = await addEntry(db, { entry, suiteId, taskIds, keyid: signer.keyid, random });
      await sql.begin((tx) => recomputeSubmission(tx, submissionId));
    }
  } finally {
    await close();
  }
}

function refuseOtherDatabases(url: string): void {
  const { hostname, pathname } = new URL(url);
  if (hostname === "127.0.0.1" && /^\/t_[0-9a-f]{16}$/.test(pathname)) return;
  throw new InfraDevError("forbidden", {
    code: "bench.not-a-test-database",
    message: `database ${pathname.slice(1)} on ${hostname} is not one that db/testing made`,
    where: `${hostname}${pathname}`,
    rule: "made-up rows go into a throw-away database on this machine and nowhere else",
    remedy: "create one with createTestDatabase of db/testing",
  });
}

const taskNumber = (index: number) => String(index + 1).padStart(2, "0");

/** A made-up task by its number, from 0. */
export const syntheticTaskSlug = (index: number) => `synthetic-task-${taskNumber(index)}-of-a-usual-length`;

/** A suite version whose tasks are made up, each with so many official tests and probes. */
export function makePack(shape: {
  version: string;
  tasks: number;
  officialTests: number;
  probes: number;
}): PackedSuite {
  const { version, officialTests, probes } = shape;
  const tasks = Array.from({ length: shape.tasks }, (_, index): Manifest => {
    const base = makeTestManifest();
    const [first] = base.tests;
    if (!first) throw new Error("a manifest has tests");
    const number = taskNumber(index);
    return {
      ...base,
      suite: { ...base.suite, slug: syntheticSlug, version },
      task: {
        ...base.task,
        slug: syntheticTaskSlug(index),
        title: `Synthetic task ${number}, with a title of a usual length`,
        category: pick(categories, index),
        type: pick(taskTypes, index),
      },
      digests: { prompts: { interface: digestOf("prompt") }, grading: digestOf(`grading ${version} ${index}`) },
      tests: Array.from({ length: officialTests + probes }, (_, test) => ({
        ...first,
        id: `${test < officialTests ? "tests" : "probes"}/test_synthetic.py::test_${test}`,
        kind: test < officialTests ? "official" : "probe",
      })),
    };
  });
  return {
    format: "infradev-suite/1",
    suite: {
      slug: syntheticSlug,
      version,
      title: "Synthetic suite",
      summary: "Made up to measure the site; says nothing about any model.",
      probes: "open",
      tasks: tasks.map(({ task }) => task.slug),
    },
    tasks: tasks.map((manifest) => ({ manifest, prompts: [], interfaces: [] })),
    referenceSets: [],
  };
}

export const pick = <T>(words: readonly T[], index: number): T => {
  const word = words[index % words.length];
  if (word === undefined) throw new RangeError("nothing to pick from");
  return word;
};

async function addEntry(
  db: Database,
  facts: { entry: number; suiteId: number; taskIds: readonly number[]; keyid: string; random: Random },
): Promise<string> {
  const { entry, suiteId, taskIds, keyid, random } = facts;
  const organization = { slug: `synthetic-lab-${entry % 20}`, name: `Synthetic lab ${(entry % 20) + 1}` };
  const [submission] = await db
    .insert(submissions)
    .values({
      suiteId,
      entryId: await recordEntry(db, syntheticEntry(entry)),
      organizationId: await recordOrganization(db, organization),
      publishedAt: new Date(Date.UTC(2025, 0, 1 + entry)),
    })
    .returning({ id: submissions.id });
  if (!submission) throw new Error("an insert returns its row");
  const skill = random();
  const added = await db
    .insert(attempts)
    .values(
      taskIds.map((taskId) => ({
        submissionId: submission.id,
        taskId,
        patchSha256: digestOf(`${entry} ${taskId}`),
        patchBytes: 1000,
        timeMin: 5 + 50 * random(),
        costUsd: 0.1 + 9 * random(),
        steps: 10 + Math.floor(190 * random()),
        inputTokens: Math.floor(5e6 * random()),
        outputTokens: Math.floor(2e5 * random()),
      })),
    )
    .returning({ id: attempts.id });
  await db.insert(gradings).values(added.map(({ id }) => gradingOf(id, keyid, skill, random)));
  return submission.id;
}

/** A grading in which the entry passes each test as often as its skill says. */
function gradingOf(attemptId: string, keyid: string, skill: number, random: Random): typeof gradings.$inferInsert {
  const ease = random();
  const officialResolved = ease < skill;
  const resolved = officialResolved && random() < 0.7;
  const officialPassed = officialResolved ? officialTests : Math.floor(officialTests * random());
  const probesPassed = resolved ? probes : Math.floor(probes * random());
  const startedAt = new Date("2025-01-01T00:00:00Z");
  return {
    id: crypto.randomUUID(),
    attemptId,
    keyid,
    status: "completed",
    executor: "bwrap",
    sandboxed: true,
    tier: "verified",
    startedAt,
    finishedAt: startedAt,
    durationMs: 4500,
    receivedAt: startedAt,
    requiredTotal: officialTests + probes,
    requiredPassed: officialPassed + probesPassed,
    officialTotal: officialTests,
    officialPassed,
    resolved,
    officialResolved,
    runnerVersion: "0.0.0-synthetic",
    bundleSha256: digestOf(attemptId),
    bundleBytes: 1,
    envelopes: "",
    sums: "",
    launches: [],
    host: testHost,
    guard: { format: "infradev-guard/1", canaries: [], restoredPaths: [], findings: [] },
    extraTests: [],
  };
}

/** A made-up entry by its number, from 0. */
export function syntheticEntry(entry: number): EntryConfiguration {
  return {
    kind: "model",
    model: `Synthetic model ${String(entry + 1).padStart(3, "0")}`,
    agent: `synthetic-agent-${entry % 5}`,
    agentVersion: "1.0",
    reasoningEffort: pick([null, "medium", "high"], entry),
    promptCondition: "interface",
    skill: null,
    networkPolicy: "model-endpoint-only",
    budget: { timeMin: 60, costUsd: null, tokensM: null, steps: null },
  };
}
