import { createHash } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import postgres from "postgres";
import { createDatabase } from "../db/client";
import { createTestDatabase, startTestServer, withDatabase } from "../db/testing";
import { repositoryRoot } from "../e2e/stack";
import type { JobSpec } from "../lib/contract/job";
import { writeBundle } from "../lib/evidence/node/bundle-writer";
import { testCandidate } from "../lib/evidence/testing";
import { createReferenceSubmissions } from "../lib/server/admin/submissions";
import { importPackedSuite } from "../lib/server/admin/suites";
import { createServerContext } from "../lib/server/context";
import { finish } from "../lib/server/runners/finish";
import {
  addTestHost,
  leaseOf,
  signedFinish,
  startJob,
  type TestHost,
  type TestServer,
  uploadFile,
} from "../lib/server/testing";
import { gradeTask } from "../runner/grading/grade";
import { ensurePython } from "../runner/grading/python-runtime";
import { type LoadedTask, loadSuite } from "../runner/suites/load";
import { packSuite } from "../runner/suites/pack";
import { readReferencePatch } from "../runner/suites/reference";
import { runnerVersion } from "../runner/version";
import { type Figure, median, quartilesOf, ratiosOf, timed } from "./figure";
import type { Session } from "./session";

const limit = 3;
const warmups = 3;
/** Tasks of the bundled suite whose gradings are delivered, so many attempts to a submission. */
const taskCount = 3;
/** A mutant: its bundles carry failures and labels. */
const referenceSet = "mutant-1";

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
  const pack = await packSuite({
    ...suite,
    tasks,
    file: { ...suite.file, tasks: tasks.map((task) => task.metadata.slug) },
  });
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

/** Payloads as the runner makes them, by task: graded once each, without a sandbox. */
async function gradeTasks(session: Session, tasks: readonly LoadedTask[]): Promise<Map<string, string>> {
  const python = await ensurePython();
  const payloads = new Map<string, string>();
  for (const task of tasks) {
    session.say(`grading ${referenceSet} of ${task.metadata.slug} for a bundle`);
    const { result, payloadDir } = await gradeTask({
      task,
      suite: task.suite,
      patch: await readReferencePatch(task, referenceSet),
      candidate: testCandidate,
      gradingId: crypto.randomUUID(),
      attemptId: null,
      lease: null,
      executor: "process",
      workDir: join(session.dir, "graded", task.metadata.slug),
      python,
      runnerVersion,
    });
    if (result.status !== "completed")
      throw new Error(`grading ended as '${result.status}': ${result.reason?.message}`);
    payloads.set(task.metadata.slug, payloadDir);
  }
  return payloads;
}

/** A server whose queue is full, and a copy of its database in which nothing has been ingested. */
async function prepareServer(session: Session, pack: Awaited<ReturnType<typeof packSuite>>, submissions: number) {
  session.say("starting Postgres with the durability of production");
  const postgresServer = await startTestServer(join(session.dir, "database"), { durable: true });
  session.defer(() => postgresServer.stop());
  const dataDir = join(session.dir, "server");
  await mkdir(dataDir);
  const original = await createTestDatabase(postgresServer.url);
  const open = async (database: typeof original): Promise<TestServer> => ({
    ...(await createServerContext({ database, dataDir, serverName: "synthetic.test" })),
    testDatabase: database,
    expired: [],
    manifests: pack.tasks.map((task) => task.manifest),
    close: () => database.close(),
  });
  const before = await open(original);
  const packFile = join(dataDir, "pack.json");
  await writeFile(packFile, JSON.stringify(pack));
  await importPackedSuite(before, packFile);
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
  const server = await open({ ...original, ...createDatabase(original.url) });
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

/** Signs and uploads what a runner would for a job, then times its ingest. */
async function deliver(session: Session, server: TestServer, host: TestHost, job: JobSpec, payload: string) {
  const dir = join(session.dir, "bundles", job.gradingId);
  const payloadDir = join(dir, "payload");
  await cp(payload, payloadDir, { recursive: true });
  const files = (await readdir(payloadDir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const path of files) await makeOwn(path, job.gradingId);
  const bundle = await writeBundle({
    payloadDir,
    attemptId: job.attemptId,
    lease: { id: job.lease.id, nonce: job.lease.nonce },
    candidate: job.candidate,
    signer: host.signer,
    out: join(dir, "bundle.tar.gz"),
  });
  const sha256 = await uploadFile(server, job.lease.id, bundle.path);
  const request = await signedFinish(host, job.lease.id, "completed", sha256);
  const lease = await leaseOf(server, job);
  const { ms, result } = await timed(() => finish(server, host.row, lease, request));
  if (result.verdict !== "accepted") throw new Error(`the bundle was not accepted but '${result.verdict}'`);
  return { ms, files: [...files, bundle.path] };
}

/**
 * Gradings of one task share patch, manifest and host, while results and what the ranks wrote differ: so it is here,
 * or the store would find most files in place.
 */
async function makeOwn(path: string, gradingId: string): Promise<void> {
  const name = path.slice(path.lastIndexOf("/payload/") + "/payload/".length);
  const text = await readFile(path, "utf8");
  if (name === "result.json") await writeFile(path, JSON.stringify({ ...JSON.parse(text), gradingId }, null, 2));
  else if (name === "tests.ctrf.json") await writeFile(path, JSON.stringify({ ...JSON.parse(text), extra: gradingId }));
  else if (text !== "" && /^(ranks|events|junit|resources)\//.test(name))
    await writeFile(path, text + ownLine(name, gradingId));
}

function ownLine(name: string, gradingId: string): string {
  if (name.endsWith(".xml")) return `<!-- ${gradingId} -->\n`;
  return name.endsWith(".log") ? `${gradingId}\n` : `${JSON.stringify({ gradingId })}\n`;
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
