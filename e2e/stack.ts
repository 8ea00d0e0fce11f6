import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
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
import { freePort, isFreePort } from "../db/embedded";
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
  onLine?: (line: string) => void;
}

/** Starts a program in a process group of its own, so that ending it ends its children. */
export function startProgram({ command, env, logFile, onLine }: ProgramOptions): Program {
  const [file = "", ...args] = command;
  const child: ChildProcess = spawn(file, args, {
    cwd: repositoryRoot,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(logFile, { flags: "a" });
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      log.write(chunk);
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine?.(line);
    });
    stream?.on("end", () => rest && onLine?.(rest));
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
  return {
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
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
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
  const hash = createHash("sha256");
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
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (!processExists(Number(readFileSync(file, "utf8")))) rmSync(file, { force: true });
    else await sleep(250);
  }
}

export function processExists(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export interface Site extends Program {
  url: string;
}

/**
 * Starts the built site on a port of 127.0.0.1 and waits until it answers. `distDir`, a folder beside the sources,
 * holds another copy of the build: a running site writes the pages that it renders again into its build.
 */
export async function startSite(options: {
  databaseUrl: string;
  dataDir: string;
  port: number;
  distDir?: string;
}): Promise<Site> {
  const logFile = join(options.dataDir, "logs", "site.log");
  mkdirSync(join(options.dataDir, "logs"), { recursive: true });
  const program = startProgram({
    command: [
      process.execPath,
      join(repositoryRoot, "node_modules/next/dist/bin/next"),
      "start",
      "-H",
      "127.0.0.1",
      "-p",
      String(options.port),
    ],
    env: {
      DATABASE_URL: options.databaseUrl,
      INFRADEV_DATA_DIR: options.dataDir,
      PORT: String(options.port),
      NODE_ENV: "production",
      NEXT_TELEMETRY_DISABLED: "1",
      ...(options.distDir ? { NEXT_DIST_DIR: options.distDir } : {}),
    },
    logFile,
  });
  let exited = false;
  void program.exit.then(() => {
    exited = true;
  });
  const url = `http://127.0.0.1:${options.port}`;
  for (let waited = 0; waited < 60_000 && !exited; waited += 100) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    if (answer?.ok) return { ...program, url };
    await sleep(100);
  }
  await program.stop();
  throw new InfraDevError("unavailable", {
    code: "site.does-not-start",
    message: `the site did not answer at ${url}/healthz: ${tailOf(logFile)}`,
    where: logFile,
    rule: "the site answers within 60 s",
    remedy: "read the log named above",
  });
}

/** The wanted port if it is free; else a free one, unless the port was asked for by name. */
export async function choosePort(wanted: number, asked: boolean): Promise<{ port: number; busy: boolean }> {
  if (await isFreePort(wanted)) return { port: wanted, busy: false };
  if (asked)
    throw new InfraDevError("conflict", {
      code: "site.port-busy",
      message: `port ${wanted} is in use`,
      where: `127.0.0.1:${wanted}`,
      rule: "the site listens on a port of its own",
      remedy: `end the program that listens there, or choose another with --port`,
    });
  return { port: await freePort(), busy: true };
}

/** Runs a command of the repository to its end and returns what it printed; its failure is an error that quotes it. */
export async function runCommand(
  name: string,
  command: string[],
  env: Record<string, string>,
  logFile: string,
): Promise<string> {
  const lines: string[] = [];
  const program = startProgram({ command, env, logFile, onLine: (line) => lines.push(line) });
  const code = await program.exit;
  if (code !== 0)
    throw new InfraDevError("internal", {
      code: "demo.command-failed",
      message: `${name} failed (exit code ${code}): ${lines.slice(-12).join("\n")}`,
      where: logFile,
      remedy: "read what the command says above",
    });
  return lines.join("\n");
}

function tailOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").slice(-8).join("\n") : "(no log)";
}

export function resolveDataDir(given: string | undefined): string {
  return resolve(given ?? process.env["INFRADEV_DATA_DIR"] ?? join(repositoryRoot, ".data"));
}
