import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { startEmbedded } from "../../db/embedded";
import { migrateDatabase } from "../../db/migrate";
import { seedDatabase } from "../../db/seed/seed";
import { submissionDetailSchema } from "../../lib/contract/api";
import { InfraDevError } from "../../lib/contract/errors";
import {
  buildSite,
  choosePort,
  processExists,
  repositoryRoot,
  resolveDataDir,
  runCommand,
  startProgram,
  startSite,
} from "../stack";
import { checkDemo } from "./self-check";

const suiteDir = join(repositoryRoot, "runner/suites/infradev-mini");
const minimumFreeBytes = 1024 * 1024 * 1024;

interface DemoOptions {
  exit?: boolean;
  port?: string;
  executor?: string;
}

/** Ends what was started, last first. */
const cleanups: (() => Promise<void> | void)[] = [];
let interrupted = false;

async function cleanUp(): Promise<void> {
  for (let next = cleanups.pop(); next; next = cleanups.pop()) await next();
}

const started = performance.now();
function say(text: string): void {
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}  ${text}`);
}

async function demo(options: DemoOptions): Promise<void> {
  const dataDir = resolveDataDir(undefined);
  prepareDataDir(dataDir);
  claimFolder(dataDir, options.exit === true);
  const logs = join(dataDir, "logs");
  const tsx = [process.execPath, "--import", "tsx"];

  say("starting Postgres (embedded, from npm)");
  const given = process.env["DATABASE_URL"];
  const database = given ? null : await startEmbedded({ dataDir });
  if (database?.startedHere) cleanups.push(() => database.stop());
  const databaseUrl = given ?? database?.url ?? "";
  await migrateDatabase(databaseUrl);
  const { reportedRows, figures } = await seedDatabase(databaseUrl);
  say(`database ready: ${reportedRows} published rows, ${figures} published figures`);

  const env = { DATABASE_URL: databaseUrl, INFRADEV_DATA_DIR: dataDir };
  const admin = (name: string, args: string[]) =>
    runCommand(
      name,
      [
        process.execPath,
        "--conditions=react-server",
        "--import",
        "tsx",
        join(repositoryRoot, "lib/server/admin/cli.ts"),
        ...args,
        "--json",
      ],
      env,
      join(logs, "admin.log"),
    );
  const runner = [...tsx, join(repositoryRoot, "runner/cli.ts")];

  const pack = join(dataDir, "suites", "infradev-mini.json");
  mkdirSync(join(dataDir, "suites"), { recursive: true });
  await runCommand(
    "runner suite pack",
    [...runner, "suite", "pack", suiteDir, "--out", pack],
    env,
    join(logs, "pack.log"),
  );
  await admin("suite import", ["suite", "import", pack]);
  say("suite infradev-mini packed and imported");

  say("building the site (about a minute; skipped when nothing changed)");
  say((await buildSite({ databaseUrl, dataDir })) === "built" ? "site built" : "site is current");
  const { port, busy } = await choosePort(Number(options.port ?? 3000), options.port !== undefined);
  if (busy) say(`port 3000 is in use; taking ${port}`);
  const site = await startSite({ databaseUrl, dataDir, port });
  cleanups.push(() => site.stop());
  writeFileSync(join(dataDir, "demo.json"), JSON.stringify({ pid: process.pid, url: site.url }));
  say(`site is up at ${site.url}`);

  const submitted = JSON.parse(
    await admin("submission create", [
      "submission",
      "create",
      "--suite",
      "infradev-mini",
      "--reference",
      "all",
      "--if-absent",
    ]),
  ) as {
    submissions: { id: string; name: string; created: boolean }[];
  };
  for (const submission of submitted.submissions)
    say(
      `${submission.created ? "submitted" : "already submitted"} ${submission.name}: ${site.url}/submissions/${submission.id}`,
    );

  const token = JSON.parse(await admin("token mint", ["token", "mint", "--name", "this machine", "--trusted"])) as {
    token: string;
  };
  say("attaching a runner on this machine; it grades what is queued");
  const submissions = submitted.submissions.map((submission) => submission.id);
  for (let round = 1; ; round++) {
    const grading = startProgram({
      command: [
        ...runner,
        "attach",
        "--server",
        site.url,
        "--token",
        token.token,
        "--name",
        "demo host",
        "--data",
        join(dataDir, "runner", String(port)),
        "--drain",
        ...(options.executor ? ["--executor", options.executor] : []),
      ],
      env: { INFRADEV_DATA_DIR: dataDir },
      logFile: join(logs, "runner.log"),
      onLine: (line) => say(`  ${line}`),
    });
    cleanups.push(() => grading.stop());
    const code = await grading.exit;
    if (interrupted) return;
    if (code !== 0)
      throw new InfraDevError("internal", {
        code: "demo.runner-failed",
        message: `the runner ended with exit code ${code}`,
        where: join(logs, "runner.log"),
        remedy: "read its last lines above; 'npm run runner -- doctor' says what this machine lacks",
      });
    // What a fault of the host interrupted is offered again after a minute.
    const open = await countOpenJobs(site.url, submissions);
    if (open === 0 || round === 3) break;
    say(`${open} gradings wait to be tried again; the runner goes on in a minute`);
    await sleep(65_000);
  }

  say("checking: bundles, board, recomputation");
  const report = await checkDemo({ siteUrl: site.url, dataDir, runner, env });
  for (const line of report.lines) say(`  ${line}`);
  if (report.failed > 0)
    throw new InfraDevError("internal", {
      code: "demo.check-failed",
      message: `${report.failed} of ${report.lines.length} checks of the demo fail`,
      where: join(dataDir, "bundles"),
      remedy: "read the lines marked FAIL above",
    });
  say(`all ${report.lines.length} checks hold; every bundle lies in ${join(dataDir, "bundles")}`);
  console.log(`\n  Leaderboard: ${site.url}/?suite=infradev-mini\n  Published:   ${site.url}/\n`);
  if (options.exit) return;
  console.log("  Ctrl-C stops the site, the runner and the database; the data stays.\n");
  await new Promise<void>((settle) => {
    void site.exit.then(() => settle());
    cleanups.unshift(() => settle());
  });
}

async function countOpenJobs(siteUrl: string, submissions: string[]): Promise<number> {
  let open = 0;
  for (const id of submissions) {
    const submission = submissionDetailSchema.parse(await (await fetch(`${siteUrl}/api/v1/submissions/${id}`)).json());
    open += submission.attempts.filter((attempt) => attempt.jobState !== "finished").length;
  }
  return open;
}

/** Names a folder that cannot be written or a disk that is full before anything is half made. */
function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(join(dataDir, "logs"), { recursive: true });
    const probe = join(dataDir, `.write-${process.pid}`);
    writeFileSync(probe, "x");
    rmSync(probe);
    // The build and a package's cache write beside the sources.
    const beside = join(repositoryRoot, `.next-write-${process.pid}`);
    writeFileSync(beside, "x");
    rmSync(beside);
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    throw new InfraDevError(
      "unavailable",
      {
        code: error.code === "ENOSPC" ? "demo.disk-full" : "demo.folder-not-writable",
        message: `cannot write here (${error.code})`,
        where: error.path ?? dataDir,
        rule: "the demo keeps its database, bundles and logs in its data folder and builds the site beside the sources",
        remedy: "make the folder writable, free some space, or set INFRADEV_DATA_DIR to another folder",
      },
      { cause },
    );
  }
  const disk = statfsSync(dataDir);
  if (disk.bavail * disk.bsize < minimumFreeBytes)
    throw new InfraDevError("unavailable", {
      code: "demo.disk-full",
      message: `only ${Math.floor((disk.bavail * disk.bsize) / 2 ** 20)} MiB are free`,
      where: dataDir,
      rule: "the demo needs 1 GiB for its database, build and bundles",
      remedy: "free some space, or set INFRADEV_DATA_DIR to a folder on another disk",
    });
}

/** One demo per data folder: a second one finds the first and says so. */
function claimFolder(dataDir: string, checksItself: boolean): void {
  const file = join(dataDir, "demo.json");
  for (;;) {
    try {
      writeFileSync(file, JSON.stringify({ pid: process.pid, url: null }), { flag: "wx" });
      cleanups.push(() => rmSync(file, { force: true }));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const first = readClaim(file);
    if (first && processExists(first.pid)) throw new AlreadyRunning(first, checksItself);
    rmSync(file, { force: true });
  }
}

function readClaim(file: string): { pid: number; url: string | null } | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { pid: number; url: string | null };
  } catch {
    return null;
  }
}

class AlreadyRunning extends Error {
  readonly checksItself: boolean;
  constructor(first: { pid: number; url: string | null }, checksItself: boolean) {
    super(`a demo of this folder is already running (pid ${first.pid}): ${first.url ?? "it is still starting"}`);
    this.checksItself = checksItself;
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    if (interrupted) return;
    interrupted = true;
    console.log("\nstopping");
    void cleanUp().then(() => process.exit(signal === "SIGINT" ? 130 : 143));
  });

const program = new Command("demo")
  .description("Grades the bundled suite on this machine and shows the leaderboard")
  .option("--exit", "stop after checking itself; exit code 0 only when every check holds")
  .option("--port <port>", "port of the site (default: 3000, or a free one)")
  .option("--executor <name>", "bwrap or process (default: bwrap where it works)")
  .action(demo);

try {
  await program.parseAsync();
  await cleanUp();
  if (!interrupted) console.log("demo: done");
} catch (error) {
  await cleanUp();
  if (interrupted) process.exit(130);
  if (error instanceof AlreadyRunning) {
    console.log(error.message);
    process.exitCode = error.checksItself ? 1 : 0;
  } else if (error instanceof InfraDevError) {
    console.error(error.describe());
    process.exitCode = 1;
  } else throw error;
}
