import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestDatabase } from "../db/testing";
import type { JobSpec } from "../lib/contract/job";
import type { PackedSuite } from "../lib/contract/task";
import { writeBundle } from "../lib/evidence/node/bundle-writer";
import { testCandidate } from "../lib/evidence/testing";
import { importPackedSuite } from "../lib/server/admin/suites";
import { createServerContext } from "../lib/server/context";
import { finish } from "../lib/server/runners/finish";
import { leaseOf, signedFinish, type TestHost, type TestServer, uploadFile } from "../lib/server/testing";
import { gradeTask } from "../runner/grading/grade";
import { ensurePython } from "../runner/grading/python-runtime";
import type { LoadedSuite, LoadedTask } from "../runner/suites/load";
import { packSuite } from "../runner/suites/pack";
import { readReferencePatch } from "../runner/suites/reference";
import { runnerVersion } from "../runner/version";
import { timed } from "./figure";
import type { Session } from "./session";

/** A mutant: its bundles carry failures and labels. */
export const referenceSet = "mutant-1";

/** Payloads as the runner makes them, by task: graded once each, without a sandbox. */
export async function gradeTasks(session: Session, tasks: readonly LoadedTask[]): Promise<Map<string, string>> {
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

/** A suite of these tasks alone. */
export const packOnly = (suite: LoadedSuite, tasks: LoadedTask[]): Promise<PackedSuite> =>
  packSuite({ ...suite, tasks, file: { ...suite.file, tasks: tasks.map((task) => task.metadata.slug) } });

/** The server's code on a database, with the suite imported where it is not yet. */
export async function openServer(database: TestDatabase, dataDir: string, pack: PackedSuite): Promise<TestServer> {
  const server = {
    ...(await createServerContext({ database, dataDir, serverName: "synthetic.test" })),
    testDatabase: database,
    expired: [],
    manifests: pack.tasks.map((task) => task.manifest),
    close: () => database.close(),
  };
  const packFile = join(dataDir, "pack.json");
  await writeFile(packFile, JSON.stringify(pack));
  await importPackedSuite(server, packFile);
  return server;
}

/** Signs and uploads what a runner would for a job, then times its ingest. */
export async function deliver(session: Session, server: TestServer, host: TestHost, job: JobSpec, payload: string) {
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
