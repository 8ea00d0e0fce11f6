import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import postgres from "postgres";
import { type EmbeddedServer, freePort, startEmbedded } from "../../db/embedded";
import { type LockHolder, markProcess, type ProcessMark, runsStill, takeLockFile } from "../../db/lock-file";
import { migrateDatabase } from "../../db/migrate";
import { seedDatabase } from "../../db/seed/seed";
import { submissionDetailSchema } from "../../lib/contract/api";
import { InfraDevError } from "../../lib/contract/errors";
import {
  buildSite,
  choosePort,
  copyBuild,
  killGroup,
  removeBuildCopy,
  repositoryRoot,
  resolveDataDir,
  runCommand,
  type Site,
  startProgram,
  startSite,
  stopPrograms,
  watchPrograms,
} from "../stack";
import { chooseExecutor } from "./host";
import { checkDemo } from "./self-check";

const suiteDir = join(repositoryRoot, "runner/suites/infradev-mini");
/** A grading has up to four ranks, which wait for each other half of their time; a container may have fewer processors. */
const gradingsAtOnce = Math.min(4, Math.max(2, Math.floor(availableParallelism() / 4)));
const minimumFreeBytes = 1024 * 1024 * 1024;
/** With less than this left, whatever fails fails for lack of space. */
const nothingFreeBytes = 8 * 1024 * 1024;

interface DemoOptions {
  exit?: boolean;
  port?: string;
  executor?: string;
}

/** Ends what was started, last first. */
const cleanups: (() => Promise<void> | void)[] = [];
let interrupted = false;
let ending: Promise<void> | null = null;

function cleanUp(): Promise<void> {
  ending ??= (async () => {
    await stopPrograms();
    for (let next = cleanups.pop(); next; next = cleanups.pop()) await next();
  })();
  return ending;
}

const started = performance.now();
function say(text: string): void {
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}  ${text}`);
}

async function demo(options: DemoOptions): Promise<void> {
  const dataDir = resolveDataDir(undefined);
  const wantedPort = parsePort(options.port);
  prepareDataDir(dataDir);
  const claim = claimFolder(dataDir, options.exit === true);
  watchPrograms((pids) => claim.note({ programs: pids.map(markProcess) }));
  const logs = join(dataDir, "logs");
  const runner = [process.execPath, "--import", "tsx", join(repositoryRoot, "runner/cli.ts")];

  say("looking at this machine (where only pytest is missing, it is installed into the data folder)");
  const { executor, withoutSandbox } = await chooseExecutor({
    runner,
    dataDir,
    env: { INFRADEV_DATA_DIR: dataDir },
    asked: options.executor,
  });
  if (withoutSandbox) {
    say(`no sandbox: ${withoutSandbox.reason}`);
    say("  grading goes on without one (--executor process); its rows are 'signed', never 'verified'");
    say(`  for 'verified': ${withoutSandbox.remedy}, remove ${dataDir} and start again`);
  }
  await choosePort(wantedPort ?? defaultPort, wantedPort !== null);

  const given = process.env["DATABASE_URL"];
  say(given ? "using the Postgres that DATABASE_URL names" : "starting Postgres (embedded, from npm)");
  const databaseUrl = given ?? (await startDatabase(dataDir, claim)).url;
  if (given) await checkDatabase(given);
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
  const distDir = await copyBuild();
  cleanups.push(() => removeBuildCopy(distDir));
  const site = await startOnPort(wantedPort, { databaseUrl, dataDir, distDir });
  const port = Number(new URL(site.url).port);
  claim.note({ url: site.url });
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
        "--parallel",
        String(gradingsAtOnce),
        "--executor",
        executor,
      ],
      env: { INFRADEV_DATA_DIR: dataDir },
      logFile: join(logs, "runner.log"),
      onLine: (line) => say(`  ${line}`),
    });
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
  if (withoutSandbox) console.log(`\n  Graded without a sandbox ('signed', not 'verified'): ${withoutSandbox.reason}`);
  const was = options.exit ? " (until now; 'npm run demo' brings it up again)" : "";
  console.log(`\n  Leaderboard: ${site.url}/?suite=infradev-mini${was}\n  Published:   ${site.url}/${was}\n`);
  if (options.exit) return;
  console.log("  Ctrl-C stops the site, the runner and the database; the data stays.\n");
  await site.exit;
  if (interrupted) return;
  throw new InfraDevError("internal", {
    code: "demo.site-ended",
    message: "the site ended by itself",
    where: join(logs, "site.log"),
    remedy: "read the log named above, then start the demo again: what was graded is kept",
  });
}

const defaultPort = 3000;

function parsePort(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InfraDevError("invalid", {
    code: "demo.port",
    message: `'${text}' is no port`,
    where: "--port",
    rule: "a port is a whole number from 1 to 65535",
    remedy: "correct the number, or leave the option out",
  });
}

/** The embedded Postgres, ended with the demo unless it ran before and somebody else had started it. */
async function startDatabase(dataDir: string, claim: ReturnType<typeof claimFolder>): Promise<EmbeddedServer> {
  const starting = startEmbedded({ dataDir });
  // Registered before it is up: an interrupted demo waits for the start, and ends it.
  cleanups.push(async () => {
    const server = await starting.catch(() => null);
    if (server && (server.startedHere || claim.startedDatabase)) await server.stop();
  });
  const server = await starting;
  claim.note({ startedDatabase: server.startedHere || claim.startedDatabase });
  return server;
}

/** Names a DATABASE_URL that does not answer, without its password. */
async function checkDatabase(url: string): Promise<void> {
  const client = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    await client`select 1`;
  } catch (cause) {
    throw new InfraDevError(
      "unavailable",
      {
        code: "demo.database-unreachable",
        message: `the database does not answer: ${(cause as Error).message || (cause as NodeJS.ErrnoException).code}`,
        where: "DATABASE_URL",
        rule: "the demo uses the Postgres that DATABASE_URL names, where it is set",
        remedy: "correct DATABASE_URL, or unset it: the demo then starts a Postgres of its own",
      },
      { cause },
    );
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** Starts the site; where nobody asked for a port by name, one that another program takes meanwhile is let go. */
async function startOnPort(
  wanted: number | null,
  options: { databaseUrl: string; dataDir: string; distDir: string },
): Promise<Site> {
  for (let attempt = 1, port = wanted ?? defaultPort; ; attempt++) {
    const choice = await choosePort(port, wanted !== null);
    if (choice.busy) say(`port ${port} is in use; taking ${choice.port}`);
    try {
      return await startSite({ ...options, port: choice.port });
    } catch (error) {
      const taken = error instanceof InfraDevError && error.code === "site.port-busy";
      if (!taken || wanted !== null || attempt === 3) throw error;
      port = await freePort();
      say(`another program has just taken port ${choice.port}; taking ${port}`);
    }
  }
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
  tryWriting(
    dataDir,
    "the demo keeps its database, bundles and logs in its data folder",
    "name another data folder with INFRADEV_DATA_DIR",
  );
  mkdirSync(join(dataDir, "logs"), { recursive: true });
  tryWriting(repositoryRoot, "the demo builds the site beside the sources", "clone the repository to another folder");
  const free = freeBytes(dataDir);
  if (free < minimumFreeBytes)
    throw new InfraDevError("unavailable", {
      code: "demo.disk-full",
      message: `only ${Math.floor(free / 2 ** 20)} MiB are free`,
      where: dataDir,
      rule: "the demo needs 1 GiB for its database, build and bundles",
      remedy: "free some space, or name a data folder on another disk with INFRADEV_DATA_DIR",
    });
}

function tryWriting(folder: string, rule: string, otherwise: string): void {
  const probe = join(folder, `.next-write-${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(probe, "x");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const full = code === "ENOSPC" || code === "EDQUOT";
    throw new InfraDevError(
      "unavailable",
      {
        code: full ? "demo.disk-full" : "demo.folder-not-writable",
        message: `nothing can be written here (${code})`,
        where: folder,
        rule,
        remedy: `${full ? "free some space" : "make the folder writable for this user"}, or ${otherwise}`,
      },
      { cause },
    );
  } finally {
    removeQuietly(probe);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A folder that cannot be written holds nothing of ours.
  }
}

function freeBytes(folder: string): number {
  const disk = statfsSync(folder);
  return disk.bavail * disk.bsize;
}

/** What a running demo says of itself, for the next one in its folder. */
interface DemoNote {
  url: string | null;
  /** Programs that it has started; a demo that was killed leaves them behind. */
  programs: ProcessMark[];
  startedDatabase: boolean;
}

/** One demo per data folder: a second one finds the first and says so. What a killed one left running is ended. */
function claimFolder(
  dataDir: string,
  checksItself: boolean,
): { note(change: Partial<DemoNote>): void; startedDatabase: boolean } {
  const file = join(dataDir, "demo.json");
  const before = readNote(file);
  let current: DemoNote = { url: null, programs: [], startedDatabase: before?.startedDatabase ?? false };
  const taken = takeLockFile(file, current);
  if ("holder" in taken) throw new AlreadyRunning(taken.holder, dataDir, checksItself);
  cleanups.push(() => taken.lock.release());
  for (const program of before?.programs ?? []) if (runsStill(program)) killGroup(program.pid, "SIGKILL");
  return {
    startedDatabase: current.startedDatabase,
    note: (change) => {
      current = { ...current, ...change };
      try {
        taken.lock.note(current);
      } catch {
        // On a full disk the last note stands; it serves only after a kill.
      }
    },
  };
}

function readNote(file: string): Partial<DemoNote> | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Partial<DemoNote> | null;
  } catch {
    return null;
  }
}

class AlreadyRunning extends Error {
  readonly checksItself: boolean;
  constructor(first: LockHolder<DemoNote>, dataDir: string, checksItself: boolean) {
    super(
      [
        `a demo of this folder is already running${first ? ` (pid ${first.pid})` : ""}: ${first?.url ?? "it is still starting"} [demo.already-running]`,
        `  where:  ${dataDir}`,
        "  rule:   one demo at a time keeps its database and bundles in a data folder",
        "  remedy: use that one, or end it with Ctrl-C where it runs; INFRADEV_DATA_DIR names another folder for a second one",
      ].join("\n"),
    );
    this.checksItself = checksItself;
  }
}

/** What went wrong, as a problem with a remedy; null for a defect. */
function problemOf(error: unknown): InfraDevError | null {
  const { code, path, message } = error as NodeJS.ErrnoException;
  const full = [resolveDataDir(undefined), repositoryRoot, tmpdir()].find(
    (folder) => existsSync(folder) && freeBytes(folder) < nothingFreeBytes,
  );
  // What was found wrong before anything ran has its own reason.
  const ofItsOwn = error instanceof InfraDevError && error.kind !== "internal" && !error.code.startsWith("database.");
  if ((full && !ofItsOwn) || code === "ENOSPC")
    return new InfraDevError("unavailable", {
      code: "demo.disk-full",
      message: `the disk became full while the demo ran: ${message}`,
      where: path ?? full ?? resolveDataDir(undefined),
      rule: "the demo needs 1 GiB for its database, build and bundles",
      remedy: "free some space and start again: what was graded is kept",
    });
  if (error instanceof InfraDevError) return error;
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return new InfraDevError("unavailable", {
      code: "demo.folder-not-writable",
      message,
      ...(path ? { where: path } : {}),
      rule: "the demo writes into its data folder and beside the sources",
      remedy: "make the path named writable for this user",
    });
  return null;
}

for (const [signal, number] of [
  ["SIGHUP", 1],
  ["SIGINT", 2],
  ["SIGTERM", 15],
] as const)
  process.on(signal, () => {
    if (interrupted) return;
    interrupted = true;
    console.log("\nstopping");
    void cleanUp().finally(() => process.exit(128 + number));
  });

const program = new Command("demo")
  .description("Grades the bundled suite on this machine and shows the leaderboard")
  .option("--exit", "stop after checking itself; exit code 0 only when every check holds")
  .option("--port <port>", "port of the site (default: 3000, or a free one)")
  .option("--executor <name>", "bwrap or process (default: bwrap where it works)")
  .action(demo);

async function report(error: unknown): Promise<void> {
  await cleanUp();
  // The handler of the signal ends the process.
  if (interrupted) return;
  if (error instanceof AlreadyRunning) {
    console.log(error.message);
    process.exitCode = error.checksItself ? 1 : 0;
    return;
  }
  const problem = problemOf(error);
  console.error(problem ? problem.describe() : error);
  process.exitCode = problem && problem.kind !== "internal" ? 2 : 1;
}

process.on("uncaughtException", (error) => void report(error).finally(() => process.exit()));
try {
  await program.parseAsync();
  await cleanUp();
  if (!interrupted) console.log("demo: done");
} catch (error) {
  await report(error);
}
