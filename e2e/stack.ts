import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, probePort } from "../db/embedded";
import { runsStill, takeLockFile } from "../db/lock-file";
import { InfraDevError } from "../lib/contract/errors";

export const repositoryRoot = fileURLToPath(new URL("..", import.meta.url));

/** A program of the repository, running. Its output goes to a file and, line by line, to whoever listens. */
export interface Program {
  pid: number;
  /** Settles with the exit code, or null after a signal. */
  exit: Promise<number | null>;
  /** SIGTERM to its process group, SIGKILL after ten seconds; settles when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ProgramOptions {
  command: string[];
  env: Record<string, string>;
  logFile: string;
  onLine?: (line: string, stream: "stdout" | "stderr") => void;
}

const running = new Set<Program>();
let stopped = false;
let listener: ((pids: number[]) => void) | null = null;

/** Calls back with the pids of all programs that run, now and at each change. */
export function watchPrograms(onChange: (pids: number[]) => void): void {
  listener = onChange;
  reportPrograms();
}

function reportPrograms(): void {
  listener?.([...running].map((program) => program.pid));
}

/** Ends every program that was started here, last first, and lets no other start: for a process that is to end. */
export async function stopPrograms(): Promise<void> {
  stopped = true;
  for (const program of [...running].reverse()) await program.stop();
}

/** Starts a program in a process group of its own, so that ending it ends its children. */
export function startProgram({ command, env, logFile, onLine }: ProgramOptions): Program {
  const [file = "", ...args] = command;
  if (stopped) throw new Error(`${file} does not start: this process is ending`);
  const child: ChildProcess = spawn(file, args, {
    cwd: repositoryRoot,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(logFile, { flags: "a" });
  // On a full disk the log is cut; what fails for the same reason says so itself.
  log.on("error", () => {});
  for (const name of ["stdout", "stderr"] as const) {
    const stream = child[name];
    let rest = "";
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      log.write(chunk);
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine?.(line, name);
    });
    stream?.on("end", () => rest && onLine?.(rest, name));
  }
  const exit = new Promise<number | null>((settle) => {
    child.once("error", (error) => {
      log.end(`${String(error)}\n`);
      settle(127);
    });
    child.once("close", (code) => {
      log.end();
      settle(code);
    });
  });
  const pid = child.pid;
  if (pid === undefined) return { pid: 0, exit, stop: async () => {} };
  const program: Program = {
    pid,
    exit,
    stop: async (signal = "SIGTERM") => {
      killGroup(pid, signal);
      const late = setTimeout(() => killGroup(pid, "SIGKILL"), 10_000);
      await exit;
      clearTimeout(late);
      killGroup(pid, "SIGKILL");
    },
  };
  running.add(program);
  reportPrograms();
  void exit.then(() => {
    running.delete(program);
    reportPrograms();
  });
  return program;
}

/** Signals a program of `startProgram` and all its children; one that is gone is none. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** What the built site depends on. A change anywhere here makes `buildSite` build again. */
const buildInputs = [
  "app",
  "components",
  "lib",
  "db",
  "drizzle",
  "public",
  "package-lock.json",
  "next.config.ts",
  "postcss.config.mjs",
  "instrumentation.ts",
  "proxy.ts",
  "tsconfig.json",
];

function sourceDigest(): string {
  // A build holds absolute paths: a clone that was moved or copied builds again.
  const hash = createHash("sha256").update(repositoryRoot).update("\0");
  const visit = (path: string) => {
    const full = join(repositoryRoot, path);
    if (!existsSync(full)) return;
    if (statSync(full).isDirectory()) for (const name of readdirSync(full).sort()) visit(join(path, name));
    else if (!/\.test\.tsx?$/.test(path)) hash.update(path).update("\0").update(readFileSync(full)).update("\0");
  };
  for (const input of buildInputs) visit(input);
  return hash.digest("hex");
}

/**
 * Builds the production site unless the last build is of the same sources. Two builders of one folder queue on a lock.
 * Prerendering asks the database, so it must run, migrated and seeded.
 */
export async function buildSite(options: {
  databaseUrl: string;
  dataDir: string;
  onLine?: (line: string) => void;
}): Promise<"built" | "current"> {
  const stamp = join(repositoryRoot, ".next", "infradev-build");
  const digest = sourceDigest();
  const release = await lockBuild();
  try {
    if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return "current";
    // A build that is cut short leaves a mixture, which is no build of any sources.
    rmSync(stamp, { force: true });
    const logFile = join(options.dataDir, "logs", "build.log");
    rmSync(logFile, { force: true });
    const build = startProgram({
      command: [process.execPath, join(repositoryRoot, "node_modules/next/dist/bin/next"), "build"],
      env: {
        DATABASE_URL: options.databaseUrl,
        INFRADEV_DATA_DIR: options.dataDir,
        NODE_ENV: "production",
        NEXT_TELEMETRY_DISABLED: "1",
      },
      logFile,
      ...(options.onLine ? { onLine: options.onLine } : {}),
    });
    const code = await build.exit;
    if (code !== 0)
      throw new InfraDevError("internal", {
        code: "site.build-failed",
        message: `the site did not build (exit code ${code}): ${tailOf(logFile)}`,
        where: logFile,
        remedy: "read the log named above",
      });
    writeFileSync(stamp, digest);
    return "built";
  } finally {
    release();
  }
}

async function lockBuild(): Promise<() => void> {
  const file = join(repositoryRoot, ".next-build.lock");
  for (;;) {
    const taken = takeLockFile(file, {});
    if ("lock" in taken) return taken.lock.release;
    await sleep(250);
  }
}

const copyPrefix = ".next-site-";

/**
 * Copies the build to a folder beside it, for one site alone: a running site writes the pages that it renders again
 * into its build, and the next build replaces `.next`. Returns the copy's name; copies of processes that are gone are
 * removed.
 */
export async function copyBuild(): Promise<string> {
  for (const name of readdirSync(repositoryRoot))
    if (name.startsWith(copyPrefix) && !runsStill({ pid: Number(name.slice(copyPrefix.length)), started: null }))
      removeBuildCopy(name);
  const name = `${copyPrefix}${process.pid}`;
  const built = join(repositoryRoot, ".next");
  const release = await lockBuild();
  try {
    removeBuildCopy(name);
    cpSync(built, join(repositoryRoot, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path !== join(built, "cache") && path !== join(built, "dev"),
    });
  } catch (error) {
    removeBuildCopy(name);
    throw error;
  } finally {
    release();
  }
  return name;
}

export function removeBuildCopy(name: string): void {
  rmSync(join(repositoryRoot, name), { recursive: true, force: true });
}

export interface Site extends Program {
  url: string;
}

/**
 * Starts the built site on a port of 127.0.0.1 and waits until it answers. `distDir`, a folder beside the sources,
 * holds another copy of the build (see `copyBuild`). Throws `site.port-busy` where another program has taken the port.
 */
export async function startSite(options: {
  databaseUrl: string;
  dataDir: string;
  port: number;
  distDir?: string;
}): Promise<Site> {
  const logFile = join(options.dataDir, "logs", "site.log");
  mkdirSync(join(options.dataDir, "logs"), { recursive: true });
  let listens = false;
  let portTaken = false;
  const program = startProgram({
    command: [
      process.execPath,
      join(repositoryRoot, "node_modules/next/dist/bin/next"),
      "start",
      // Told an address of the loopback instead, Next takes its own rewrites for another host's and asks itself over HTTP.
      "-H",
      "localhost",
      "-p",
      String(options.port),
    ],
    env: {
      DATABASE_URL: options.databaseUrl,
      INFRADEV_DATA_DIR: options.dataDir,
      PORT: String(options.port),
      NODE_ENV: "production",
      NEXT_TELEMETRY_DISABLED: "1",
      // `localhost` is then 127.0.0.1, whatever this machine's list of hosts says first.
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --dns-result-order=ipv4first`.trim(),
      ...(options.distDir ? { NEXT_DIST_DIR: options.distDir } : {}),
    },
    logFile,
    onLine: (line) => {
      listens ||= line.includes("Ready in");
      portTaken ||= line.includes("EADDRINUSE");
    },
  });
  let exited = false;
  void program.exit.then(() => {
    exited = true;
  });
  const url = `http://127.0.0.1:${options.port}`;
  for (let waited = 0; waited < 60_000 && !exited; waited += 100) {
    // Until this site says that it listens, whatever answers there is another program.
    const answer = listens ? await fetch(`${url}/healthz`).catch(() => null) : null;
    if (answer?.ok) return { ...program, url };
    await sleep(100);
  }
  await program.stop();
  if (portTaken) throw portBusy(options.port);
  throw new InfraDevError("unavailable", {
    code: "site.does-not-start",
    message: `the site did not answer at ${url}/healthz: ${tailOf(logFile)}`,
    where: logFile,
    rule: "the site answers within 60 s",
    remedy: "read the log named above",
  });
}

/**
 * The wanted port if it is free; else a free one, unless the port was asked for by name: then throws `site.port-busy` or
 * `site.port-refused`.
 */
export async function choosePort(wanted: number, asked: boolean): Promise<{ port: number; busy: boolean }> {
  const reason = await probePort(wanted);
  if (reason === null) return { port: wanted, busy: false };
  if (!asked) return { port: await freePort(), busy: true };
  if (reason === "EADDRINUSE") throw portBusy(wanted);
  throw new InfraDevError("unavailable", {
    code: "site.port-refused",
    message: `the system does not let this user listen on port ${wanted} (${reason})`,
    where: `127.0.0.1:${wanted}`,
    rule: "ports below 1024 are kept for the system's own services",
    remedy: "choose a port from 1024 on with --port",
  });
}

function portBusy(port: number): InfraDevError {
  return new InfraDevError("conflict", {
    code: "site.port-busy",
    message: `port ${port} is in use`,
    where: `127.0.0.1:${port}`,
    rule: "the site listens on a port of its own",
    remedy: "end the program that listens there, or choose another port with --port",
  });
}

/**
 * Runs a command of the repository to its end and returns its stdout; an exit code that is not accepted is an error that
 * quotes what it printed.
 */
export async function runCommand(
  name: string,
  command: string[],
  env: Record<string, string>,
  logFile: string,
  acceptedCodes: readonly number[] = [0],
): Promise<string> {
  const lines: string[] = [];
  const output: string[] = [];
  const program = startProgram({
    command,
    env,
    logFile,
    onLine: (line, stream) => {
      lines.push(line);
      if (stream === "stdout") output.push(line);
    },
  });
  const code = await program.exit;
  if (code === null || !acceptedCodes.includes(code))
    throw new InfraDevError("internal", {
      code: "demo.command-failed",
      message: `${name} failed (exit code ${code}): ${lines.slice(-12).join("\n")}`,
      where: logFile,
      remedy: "read what the command says above",
    });
  return output.join("\n");
}

function tailOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").slice(-8).join("\n") : "(no log)";
}

export function resolveDataDir(given: string | undefined): string {
  return resolve(given ?? process.env["INFRADEV_DATA_DIR"] ?? join(repositoryRoot, ".data"));
}
