import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type postgres from "postgres";
import { createDatabase, type DatabaseHandle } from "../db/client";
import { migrateDatabase } from "../db/migrate";
import { recordEntry } from "../db/queries/entries";
import { recordKey } from "../db/queries/hosts";
import { recordOrganization } from "../db/queries/organizations";
import { importSuite } from "../db/queries/suites";
import { recomputeSubmission } from "../db/queries/summaries";
import { InfraDevError } from "../lib/contract/errors";
import { generateKeyPair } from "../lib/evidence/keys";
import { testHost } from "../lib/evidence/testing";
import { type Random, seededRandom } from "../lib/stats/random";
import { digestOf, makePack, pick, syntheticEntry } from "./synthetic-board";

const seed = 20_250_101;
/** Of each task; every one is required. */
const officialTests = 16;
const probes = 12;
const testsPerTask = officialTests + probes;
const tasksPerSuite = 36;
/** Tests of each attempt whose outcomes stand in the small database: a tenth. */
const fewTests = 3;

/** A suite version, and how often each of its entries was submitted. */
interface Board {
  version: string;
  entries: number;
  rounds: number;
}

/** Boards of one length in both forms; the whole form has their history of years. */
const boardsOf = (quick: boolean): Board[] =>
  quick
    ? [
        { version: "1.0", entries: 500, rounds: 1 },
        { version: "2.0", entries: 100, rounds: 1 },
      ]
    : [
        { version: "1.0", entries: 500, rounds: 4 },
        ...["2.0", "3.0", "4.0", "5.0"].map((version) => ({ version, entries: 100, rounds: 20 })),
      ];

/** Changes with what is drawn here: rows of another form are made anew. */
const form = 1;
export const stampOf = (quick: boolean): string => digestOf(JSON.stringify([form, seed, boardsOf(quick)])).slice(0, 16);

interface Attempt {
  id: string;
  gradingId: string;
  submissionId: string;
  taskId: number;
  testIds: readonly number[];
  /** Bit `n` is set where test `n` did not pass. */
  failed: number;
  time: number;
}

/**
 * Fills an empty database whose name begins with `synthetic_` with the submissions of years, drawn from a seed, and the
 * outcomes of a tenth of their tests. Everything is loaded by COPY; summaries are computed by the code that computes
 * them at ingest. Returns the attempts, for `addOutcomes`.
 * Throws `bench.not-synthetic` for any other database.
 */
export async function fillSyntheticHistory(
  url: string,
  options: { quick: boolean; say: (text: string) => void },
): Promise<Attempt[]> {
  await migrateDatabase(url);
  const handle = createDatabase(url, { max: 1 });
  try {
    await refuseOthers(handle.sql, url);
    await handle.sql`set session_replication_role = replica`;
    const random = seededRandom(seed);
    const made: Attempt[] = [];
    const { signer } = await generateKeyPair();
    const key = { keyid: signer.keyid, role: "runner" as const, owner: "synthetic host", spki: signer.spki };
    await recordKey(handle.sql, { ...key, hostId: null, organizationId: null, validUntil: null });
    const entries = await addEntries(handle, Math.max(...boardsOf(options.quick).map((board) => board.entries)));
    for (const board of boardsOf(options.quick)) {
      options.say(`suite version ${board.version}: ${board.entries} entries, ${board.rounds} submissions each`);
      for (const attempt of await addBoard(handle, board, entries, signer.keyid, random)) made.push(attempt);
    }
    options.say("failures and labels");
    await addFailures(handle.sql, made, seededRandom(seed + 1));
    options.say(`outcomes of ${fewTests} tests of ${made.length} attempts`);
    await addOutcomes(handle.sql, made, 0, fewTests);
    return made;
  } finally {
    await handle.close();
  }
}

/** Adds the outcomes of all other tests to a copy of the database that `fillSyntheticHistory` filled. */
export async function addOtherOutcomes(url: string, attempts: readonly Attempt[]): Promise<void> {
  const { sql, close } = createDatabase(url, { max: 1 });
  try {
    await sql`set session_replication_role = replica`;
    await addOutcomes(sql, attempts, fewTests, testsPerTask);
  } finally {
    await close();
  }
}

async function refuseOthers(sql: postgres.Sql, url: string): Promise<void> {
  const { hostname, pathname } = new URL(url);
  const [{ n } = { n: -1 }] = await sql<{ n: number }[]>`
    select ((select count(*) from submission) + (select count(*) from suite))::int as n`;
  if (hostname === "127.0.0.1" && /^\/synthetic_[a-z0-9_]+$/.test(pathname) && n === 0) return;
  throw new InfraDevError("forbidden", {
    code: "bench.not-synthetic",
    message: `database ${pathname.slice(1)} on ${hostname} holds ${n} suites and submissions`,
    where: `${hostname}${pathname}`,
    rule: "made-up rows go into an empty database of the bench on this machine and nowhere else",
    remedy: "let the bench make its databases itself: npm run bench -- scale",
  });
}

async function addEntries(
  { db }: DatabaseHandle,
  count: number,
): Promise<{ id: number; organizationId: number; skill: number }[]> {
  const random = seededRandom(seed + 2);
  const added: { id: number; organizationId: number; skill: number }[] = [];
  for (let entry = 0; entry < count; entry++) {
    const lab = entry % 20;
    added.push({
      id: await recordEntry(db, syntheticEntry(entry)),
      organizationId: await recordOrganization(db, {
        slug: `synthetic-lab-${lab}`,
        name: `Synthetic lab ${lab + 1}`,
      }),
      skill: random(),
    });
  }
  return added;
}

async function addBoard(
  handle: DatabaseHandle,
  board: Board,
  entries: readonly { id: number; organizationId: number; skill: number }[],
  keyid: string,
  random: Random,
): Promise<Attempt[]> {
  const { sql } = handle;
  const pack = makePack({ version: board.version, tasks: tasksPerSuite, officialTests, probes });
  const { suiteId } = await handle.db.transaction((tx) => importSuite(tx, pack));
  const tasks = await sql<{ id: number; testIds: number[] }[]>`
    select task.id, array_agg(task_test.id order by task_test.position) as "testIds"
    from task join task_test on task_test.task_id = task.id where task.suite_id = ${suiteId}
    group by task.id order by task.position`;
  const submissionIds: string[] = [];
  const attempts: (Attempt & { round: number })[] = [];
  const submissionRows: string[] = [];
  for (let round = 0; round < board.rounds; round++)
    for (const entry of entries.slice(0, board.entries)) {
      const submissionId = uuid(random);
      const time = Date.UTC(2025, 0, 1) + round * 7 * 86_400_000 + submissionIds.length * 1000;
      submissionIds.push(submissionId);
      submissionRows.push(
        copyLine([submissionId, suiteId, entry.id, entry.organizationId, instantOf(time), instantOf(time)]),
      );
      for (const task of tasks)
        attempts.push({
          id: uuid(random),
          gradingId: uuid(random),
          submissionId,
          taskId: task.id,
          testIds: task.testIds,
          failed: drawFailed(entry.skill, random),
          time,
          round,
        });
    }
  await copyInto(sql, "submission (id, suite_id, entry_id, organization_id, created_at, published_at)", submissionRows);
  await copyInto(
    sql,
    "attempt (id, submission_id, task_id, patch_sha256, patch_bytes, time_min, cost_usd, steps, input_tokens, output_tokens, created_at)",
    map(attempts, ({ id, submissionId, taskId, time }) =>
      copyLine([
        id,
        submissionId,
        taskId,
        digestOf(id),
        1000,
        5 + 50 * random(),
        0.1 + 9 * random(),
        10 + Math.floor(190 * random()),
        Math.floor(5e6 * random()),
        Math.floor(2e5 * random()),
        instantOf(time),
      ]),
    ),
  );
  const host = JSON.stringify(testHost);
  const guard = JSON.stringify({ format: "infradev-guard/1", canaries: [], restoredPaths: [], findings: [] });
  await copyInto(
    sql,
    "grading (id, attempt_id, keyid, status, executor, sandboxed, tier, started_at, finished_at, duration_ms, received_at, required_total, required_passed, official_total, official_passed, resolved, official_resolved, runner_version, bundle_sha256, bundle_bytes, envelopes, sums, launches, host, guard, extra_tests)",
    map(attempts, ({ id, gradingId, failed, time }) => {
      const officialFailed = countBits(failed & ((1 << officialTests) - 1));
      const at = instantOf(time);
      return copyLine([
        gradingId,
        id,
        keyid,
        "completed",
        "bwrap",
        "t",
        "verified",
        at,
        at,
        4500,
        at,
        testsPerTask,
        testsPerTask - countBits(failed),
        officialTests,
        officialTests - officialFailed,
        failed === 0 ? "t" : "f",
        officialFailed === 0 ? "t" : "f",
        "0.0.0-synthetic",
        digestOf(gradingId),
        1,
        "",
        "",
        "[]",
        host,
        guard,
        "[]",
      ]);
    }),
  );
  await sql`analyze`;
  for (let from = 0; from < submissionIds.length; from += 200)
    await sql.begin(async (tx) => {
      for (const id of submissionIds.slice(from, from + 200)) await recomputeSubmission(tx, id);
    });
  return attempts;
}

/** Which tests an attempt fails: none as often as its entry's skill says, some probes alone, or official tests too. */
function drawFailed(skill: number, random: Random): number {
  const official = random() < skill;
  if (official && random() < 0.7) return 0;
  let failed = 0;
  for (let left = 1 + Math.floor(5 * random()); left > 0; left--)
    failed |= 1 << (official ? officialTests + Math.floor(probes * random()) : Math.floor(testsPerTask * random()));
  return official ? failed : failed | (1 << Math.floor(officialTests * random()));
}

const kinds = [
  { exception: "AssertionError", class: "behavioral", type: "value" },
  { exception: "AssertionError", class: "structural", type: "shape-layout-dtype" },
  { exception: "AttributeError", class: "structural", type: "execution-api" },
  { exception: "AssertionError", class: "structural", type: "state-lifecycle" },
  { exception: "AssertionError", class: "behavioral", type: "resource" },
  { exception: "AssertionError", class: "behavioral", type: "condition-specific" },
];

async function addFailures(sql: postgres.Sql, attempts: readonly Attempt[], random: Random): Promise<void> {
  const each = function* (lineOf: (gradingId: string, testId: number, draw: number) => string) {
    for (const { gradingId, testIds, failed } of attempts)
      for (let test = 0; test < testsPerTask; test++)
        if (failed & (1 << test)) yield lineOf(gradingId, testIds[test] ?? 0, random());
  };
  const kindOf = (draw: number) => pick(kinds, Math.floor(draw * kinds.length));
  await copyInto(
    sql,
    "failure (grading_id, test_id, status, root_rank, exception_type, message, line, signature, class, type, tags, label_source)",
    each((gradingId, testId, draw) => {
      const kind = kindOf(draw);
      const line = `synthetic failure ${Math.floor(draw * 400)}: expected ${Math.floor(draw * 1000)}, got ${testId}`;
      const signature = digestOf(`synthetic ${Math.floor(draw * 400)}`);
      const message = `${line}\n  at synthetic_module.py:${Math.floor(draw * 500)} in synthetic_function`;
      return copyLine([
        gradingId,
        testId,
        draw < 0.9 ? "failed" : "error",
        Math.floor(draw * 97) % 4,
        kind.exception,
        message,
        line,
        signature,
        kind.class,
        kind.type,
        "[]",
        "rule",
      ]);
    }),
  );
  await copyInto(
    sql,
    "label (grading_id, test_id, class, type, source, rule, rules_version)",
    each((gradingId, testId, draw) => {
      const kind = kindOf(draw);
      return copyLine([gradingId, testId, kind.class, kind.type, "rule", "synthetic-rule", "0-synthetic"]);
    }),
  );
}

/** Outcomes of the tests from one place to another of every attempt; the primary key is built after the rows are there. */
async function addOutcomes(sql: postgres.Sql, attempts: readonly Attempt[], from: number, to: number): Promise<void> {
  const [key] = await sql<{ name: string; definition: string }[]>`
    select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = 'outcome'::regclass and contype = 'p'`;
  if (!key) throw new Error("table outcome has no primary key");
  await sql.unsafe(`alter table outcome drop constraint "${key.name}"`);
  await copyInto(
    sql,
    "outcome (grading_id, test_id, status, duration_ms)",
    (function* () {
      for (const { gradingId, testIds, failed } of attempts)
        for (let test = from; test < to; test++)
          yield `${gradingId}\t${testIds[test]}\t${failed & (1 << test) ? "failed" : "passed"}\t${(test * 37) % 900}\n`;
    })(),
  );
  await sql`set maintenance_work_mem = '512MB'`;
  await sql.unsafe(`alter table outcome add constraint "${key.name}" ${key.definition}`);
  await sql`vacuum analyze`;
}

/** A random uuid of version 4, as the database's own are. */
function uuid(random: Random): string {
  const hex = (digits: number) =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, "0");
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(6)}${hex(6)}`;
}

const instantOf = (time: number) => new Date(time).toISOString();

function countBits(value: number): number {
  let bits = 0;
  for (let left = value; left !== 0; left &= left - 1) bits++;
  return bits;
}

function* map<From, To>(values: Iterable<From>, change: (value: From) => To): Generator<To> {
  for (const value of values) yield change(value);
}

/** A row in COPY's text form. */
function copyLine(fields: readonly (string | number)[]): string {
  const spelled = fields.map((field) => String(field).replaceAll("\\", "\\\\").replaceAll("\n", "\\n"));
  return `${spelled.join("\t")}\n`;
}

/** COPYs lines into a table, in pieces of some size: one a line would cost a message each. */
async function copyInto(sql: postgres.Sql, target: string, lines: Iterable<string>): Promise<void> {
  const pieces = function* () {
    let piece = "";
    for (const line of lines) {
      piece += line;
      if (piece.length > 256 * 1024) {
        yield piece;
        piece = "";
      }
    }
    if (piece !== "") yield piece;
  };
  await pipeline(Readable.from(pieces()), await sql.unsafe(`copy ${target} from stdin`).writable());
}
