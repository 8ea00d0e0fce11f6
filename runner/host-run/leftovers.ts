import { readdir, readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture } from "../processes/capture";

/** What gradings could leave on a host: processes, folders, and memory of GPUs in MiB by UUID, null where not read. */
export type Stock = {
  processes: ReadonlyMap<string, string>;
  paths: ReadonlySet<string>;
  gpuMemoryMb: ReadonlyMap<string, number> | null;
};
/**
 * What was left. Null for processes and paths that nobody looked at, since other gradings ran meanwhile, and for memory
 * of GPUs that could not be read.
 */
export type Leftovers = { processes: string[] | null; paths: string[] | null; gpuMemoryMb: number | null };

/** How long the system may take to end what was killed. */
const settleMs = 5000;
const ownPrefix = /^infradev-/;

/** Processes of a foreign process namespace, those that run the launcher, and those that work in a grading's folder. */
async function suspectProcesses(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const own = await readlink("/proc/self/ns/pid").catch(() => null);
  for (const pid of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const at = `/proc/${pid}`;
    const [namespace, folder, line, stat] = await Promise.all([
      readlink(`${at}/ns/pid`).catch(() => null),
      readlink(`${at}/cwd`).catch(() => ""),
      readFile(`${at}/cmdline`, "utf8").catch(() => ""),
      readFile(`${at}/stat`, "utf8").catch(() => ""),
    ]);
    const suspect =
      (namespace !== null && own !== null && namespace !== own) ||
      folder.startsWith(join(tmpdir(), "infradev-")) ||
      line.includes("infradev_launch.py");
    // A process is its number and the time it started: numbers come again.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent = "", startedAt = ""] = [fields[0], fields[1], fields[19]];
    // A process that has ended and was not waited for has no command line any more.
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    const told = line.replaceAll("\0", " ").trim().slice(0, 200);
    if (suspect) found.set(`${pid}@${startedAt}`, told || `${name} (${pid}, state ${state}, child of ${parent})`);
  }
  return found;
}

async function ownPaths(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const folder of [tmpdir(), "/dev/shm"]) {
    for (const name of await readdir(folder).catch(() => [])) if (ownPrefix.test(name)) found.add(join(folder, name));
  }
  for (const name of await readdir("/dev/shm").catch(() => [])) found.add(join("/dev/shm", name));
  const groups = await readdir("/sys/fs/cgroup", { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of groups) {
    if (entry.isDirectory() && ownPrefix.test(entry.name)) found.add(join(entry.parentPath, entry.name));
  }
  return found;
}

/** Memory in use of each of these GPUs, null where nvidia-smi does not give it of every one. */
async function gpuMemory(uuids: readonly string[]): Promise<Map<string, number> | null> {
  if (uuids.length === 0) return new Map();
  const query = ["--query-gpu=uuid,memory.used", "--format=csv,noheader,nounits", `--id=${uuids.join(",")}`];
  const said = await capture("nvidia-smi", query, { timeoutMs: 20_000 }).catch(() => null);
  if (said?.code !== 0) return null;
  const rows = said.stdout.matchAll(/^(\S+), *(\d+)\s*$/gm);
  const used = new Map([...rows].map(([, uuid = "", mb]) => [uuid, Number(mb)]));
  return uuids.every((uuid) => used.has(uuid)) ? used : null;
}

/** Memory of these GPUs now, and a function that gives what more of it is used later, once that has settled. */
export async function watchGpus(uuids: readonly string[]): Promise<() => Promise<Leftovers>> {
  const before: Stock = { processes: new Map(), paths: new Set(), gpuMemoryMb: await gpuMemory(uuids) };
  return async () => {
    const deadline = performance.now() + settleMs;
    for (;;) {
      const left = moreMemory(before, await gpuMemory(uuids));
      if (left === 0 || performance.now() > deadline) return { processes: null, paths: null, gpuMemoryMb: left };
      await sleep(200);
    }
  };
}

function moreMemory({ gpuMemoryMb: before }: Stock, now: Stock["gpuMemoryMb"]): number | null {
  if (before === null || now === null) return null;
  return [...now].reduce((sum, [uuid, used]) => sum + Math.max(0, used - (before.get(uuid) ?? 0)), 0);
}

/** Looks at the host, and at the memory of these GPUs. */
export async function takeStock(gpuUuids: readonly string[]): Promise<Stock> {
  const [processes, paths, gpuMemoryMb] = await Promise.all([suspectProcesses(), ownPaths(), gpuMemory(gpuUuids)]);
  return { processes, paths, gpuMemoryMb };
}

/**
 * What is there now and was not there before, after at most `waitMs` for the system to end what was killed. True
 * only on a host where nothing else grades meanwhile.
 */
export async function leftoversSince(
  before: Stock,
  gpuUuids: readonly string[],
  waitMs: number = settleMs,
): Promise<Leftovers> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const now = await takeStock(gpuUuids);
    const left: Leftovers = {
      processes: [...now.processes].filter(([key]) => !before.processes.has(key)).map(([, line]) => line),
      paths: [...now.paths].filter((path) => !before.paths.has(path)),
      gpuMemoryMb: moreMemory(before, now.gpuMemoryMb),
    };
    if (isNothing(left) || performance.now() > deadline) return left;
    await sleep(200);
  }
}

/** Whether anything was looked at. */
export const wasLooked = ({ processes, paths, gpuMemoryMb }: Leftovers): boolean =>
  processes !== null || paths !== null || gpuMemoryMb !== null;

/** Whether all that was looked at is as before. Where GPU memory could not be read, nobody knows: that is not nothing. */
export const isNothing = (left: Leftovers): boolean =>
  (left.processes ?? []).length === 0 && (left.paths ?? []).length === 0 && left.gpuMemoryMb === 0;

/** What was left, by name, for a line of a report. */
export function inWords({ processes, paths, gpuMemoryMb }: Leftovers): string {
  const ofGpus = gpuMemoryMb === null ? "GPU memory could not be read" : `${gpuMemoryMb} MiB of GPU memory`;
  const memory = gpuMemoryMb === 0 ? [] : [ofGpus];
  const named = (kind: string, names: readonly string[] | null): string[] =>
    names === null || names.length === 0 ? [] : [`${kind} ${names.slice(0, 3).join("; ")}${more(names.length - 3)}`];
  return [...memory, ...named("process", processes), ...named("path", paths)].join(", ");
}

const more = (count: number): string => (count > 0 ? ` and ${count} more` : "");
