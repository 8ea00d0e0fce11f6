import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import postgres from "postgres";
import { createDatabase } from "../db/client";
import { createTestDatabase, startTestServer, withDatabase } from "../db/testing";
import { repositoryRoot } from "../e2e/stack";
import type { JobSpec } from "../lib/contract/job";
import type { PackedSuite } from "../lib/contract/task";
import { createReferenceSubmissions } from "../lib/server/admin/submissions";
import { addTestHost, startJob } from "../lib/server/testing";
import { loadSuite } from "../runner/suites/load";
import { type Figure, median, quartilesOf, ratiosOf, timed } from "./figure";
import { deliver, gradeTasks, openServer, packOnly, referenceSet } from "./graded";
import type { Session } from "./session";

const limit = 3;
const warmups = 3;
/** Tasks of the bundled suite whose gradings are delivered, so many attempts to a submission. */
const taskCount = 3;

/** Everything that an accepted bundle leaves in the database, in an order that foreign keys allow. */
const gradingTables: [table: string, key: string][] = [
  ["grading", "id"],
  ["outcome", "grading_id"],
  ["rank_outcome", "grading_id"],
  ["resource_measure", "grading_id"],
  ["failure", "grading_id"],
  ["label", "grading_id"],
  ["payload_file", "grading_id"],
  ["log_record", "grading_id"],
];
/** Rows that each accepted bundle of a submission replaces. */
const summaryTables = ["attempt_summary", "submission_summary", "submission_category_summary"];

/**
 * Time from the end of an upload to the receipt, against one transaction that reads and hashes the same files and
 * COPYs the same rows into a copy of the same database on the same server, with the durability of production.
 */
export async function measureIngest(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
  const suite = await loadSuite(join(repositoryRoot, "runner/suites/infradev-mini"));
  const tasks = suite.tasks.slice(0, taskCount);
  const payloads = await gradeTasks(session, tasks);
  const pack = await packOnly(suite, tasks);
  const rounds = warmups + repeats;
  const { server, host, copy } = await prepareServer(session, pack, Math.ceil(rounds / taskCount));

  session.say(`delivering ${rounds} bundles, each beside its plain transaction`);
  const ingestMs: number[] = [];
  const plainMs: number[] = [];
  let rows = 0;
  let files = 0;
  for (let round = 0; round < rounds; round++) {
    const { job } = await startJob(server, host);
    const payload = payloads.get(job.task.slug);
    if (!payload) throw new Error(`nothing was graded for task ${job.task.slug}`);
    const delivered = await deliver(session, server, host, job, payload);
    const dump = await dumpRows(server.database.sql, job);
    const { ms } = await timed(() => loadPlainly(copy, delivered.files, dump));
    if (round < warmups) continue;
    ingestMs.push(delivered.ms);
    plainMs.push(ms);
    rows += dump.rows;
    files += delivered.files.length;
  }
  const ratios = ratiosOf(ingestMs, plainMs);
  return [
    {
      name: "ingest",
      what: "a bundle's ingest against one transaction that hashes its files and COPYs its rows",
      value: median(ratios),
      unit: "x",
      quartiles: quartilesOf(ratios),
      repeats,
      budget: `at most ${limit} x`,
      met: median(ratios) <= limit,
      detail: `${median(ingestMs).toFixed(1)} ms against ${median(plainMs).toFixed(1)} ms; ${Math.round(rows / repeats)} rows and ${Math.round(files / repeats)} files a bundle`,
    },
  ];
}

/** A server whose queue is full, and a copy of its database in which nothing has been ingested. */
async function prepareServer(session: Session, pack: PackedSuite, submissions: number) {
  session.say("starting Postgres with the durability of production");
  const postgresServer = await startTestServer(join(session.dir, "database"), { durable: true });
  session.defer(() => postgresServer.stop());
  const dataDir = join(session.dir, "server");
  await mkdir(dataDir);
  const original = await createTestDatabase(postgresServer.url);
  const before = await openServer(original, dataDir, pack);
  for (let made = 0; made < submissions; made++) {
    await createReferenceSubmissions(before, { suite: pack.suite.slug, sets: [referenceSet], ifAbsent: false });
  }
  const host = await addTestHost(before, { trusted: true });
  // A database is copied while nobody is connected to it.
  await before.close();
  const maintenance = createDatabase(postgresServer.url, { max: 1 });
  const copyName = `${new URL(original.url).pathname.slice(1)}_copy`;
  await maintenance.sql.unsafe(`create database ${copyName} template ${new URL(original.url).pathname.slice(1)}`);
  await maintenance.close();
  const server = await openServer({ ...original, ...createDatabase(original.url) }, dataDir, pack);
  session.defer(() => server.close());
  const copy = openPlainly(withDatabase(postgresServer.url, copyName));
  session.defer(() => copy.end({ timeout: 5 }));
  return { server, host, copy };
}

/**
 * One connection without Nagle's algorithm: a COPY sends its rows and its end apart, and the second would wait 40 ms
 * for the delayed acknowledgement of the first.
 */
function openPlainly(url: string): postgres.Sql {
  const { hostname, port } = new URL(url);
  const socket = async () => {
    const opened = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(opened, "connect");
    return opened;
  };
  return postgres(url, { max: 1, onnotice: () => {}, ...{ socket } });
}

interface Dump {
  tables: { table: string; columns: string[]; text: string }[];
  /** Its summary rows are replaced. */
  submissionId: string;
  rows: number;
}

/** The rows that an accepted bundle left, table by table, in COPY's text form. */
async function dumpRows(sql: postgres.Sql, job: JobSpec): Promise<Dump> {
  const [attempt] = await sql<{ submissionId: string }[]>`
    select submission_id as "submissionId" from attempt where id = ${job.attemptId}`;
  if (!attempt) throw new Error(`there is no attempt ${job.attemptId}`);
  const { submissionId } = attempt;
  const tables: Dump["tables"] = [];
  let count = 0;
  for (const [table, key, value] of [
    ...gradingTables.map(([table, key]) => [table, key, job.gradingId] as const),
    ...summaryTables.map((table) => [table, "submission_id", submissionId] as const),
  ]) {
    const rows = await sql<{ row: Record<string, unknown> }[]>`
      select to_jsonb(it) as row from ${sql(table)} it where ${sql(key)} = ${value}`;
    const columns = Object.keys(rows[0]?.row ?? {});
    const lines = rows.map(({ row }) => `${columns.map((column) => copyField(row[column])).join("\t")}\n`);
    tables.push({ table, columns, text: lines.join("") });
    count += rows.length;
  }
  return { tables, submissionId, rows: count };
}

function copyField(value: unknown): string {
  if (value === null) return "\\N";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
}

/** The least that keeps the same: every file read and hashed, every row written, one commit. */
async function loadPlainly(sql: postgres.Sql, files: readonly string[], dump: Dump): Promise<void> {
  await sql.begin(async (tx) => {
    for (const path of files)
      createHash("sha256")
        .update(await readFile(path))
        .digest();
    for (const table of summaryTables) await tx`delete from ${tx(table)} where submission_id = ${dump.submissionId}`;
    for (const { table, columns, text } of dump.tables) {
      if (text === "") continue;
      const copy = await tx`copy ${tx(table)} (${tx(columns)}) from stdin`.writable();
      await pipeline(Readable.from([text]), copy);
    }
  });
}
