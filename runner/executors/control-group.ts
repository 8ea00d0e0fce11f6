import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = "/sys/fs/cgroup";

export type ControlGroup = {
  /** Files that a process writes its pid to, to enter the group. */
  entries: string[];
  measure(): Promise<{ memoryPeakMb: number | null; outOfMemoryKills: number | null }>;
  remove(): Promise<void>;
};

const readNumber = async (path: string): Promise<number | null> => {
  const text = await readFile(path, "utf8").catch(() => null);
  const value = text === null ? Number.NaN : Number(text.trim());
  return Number.isFinite(value) ? value : null;
};

const readField = async (path: string, field: string): Promise<number | null> => {
  const text = await readFile(path, "utf8").catch(() => "");
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${field} `));
  return line === undefined ? null : Number(line.slice(field.length + 1));
};

async function removeFolder(path: string): Promise<void> {
  // A group counts as busy until the kernel has reaped its last process.
  for (let attempt = 0; attempt < 40; attempt += 1) {
    try {
      await rmdir(path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

async function unified(name: string, memoryBytes: number, processes: number): Promise<ControlGroup | null> {
  const folder = join(root, name);
  try {
    await mkdir(folder);
  } catch {
    return null;
  }
  try {
    await writeFile(join(folder, "memory.max"), String(memoryBytes));
    await writeFile(join(folder, "memory.swap.max"), "0").catch(() => undefined);
    await writeFile(join(folder, "pids.max"), String(processes));
  } catch {
    await removeFolder(folder);
    return null;
  }
  return {
    entries: [join(folder, "cgroup.procs")],
    measure: async () => {
      const peak = await readNumber(join(folder, "memory.peak"));
      return {
        memoryPeakMb: peak === null ? null : peak / 1024 / 1024,
        outOfMemoryKills: await readField(join(folder, "memory.events"), "oom_kill"),
      };
    },
    remove: () => removeFolder(folder),
  };
}

async function legacy(name: string, memoryBytes: number, processes: number): Promise<ControlGroup | null> {
  const memory = join(root, "memory", name);
  const pids = join(root, "pids", name);
  try {
    await mkdir(memory);
    await writeFile(join(memory, "memory.limit_in_bytes"), String(memoryBytes));
  } catch {
    await removeFolder(memory);
    return null;
  }
  const entries = [join(memory, "cgroup.procs")];
  try {
    await mkdir(pids);
    await writeFile(join(pids, "pids.max"), String(processes));
    entries.push(join(pids, "cgroup.procs"));
  } catch {
    await removeFolder(pids);
  }
  return {
    entries,
    measure: async () => {
      const peak = await readNumber(join(memory, "memory.max_usage_in_bytes"));
      return {
        memoryPeakMb: peak === null ? null : peak / 1024 / 1024,
        outOfMemoryKills: await readField(join(memory, "memory.oom_control"), "oom_kill"),
      };
    },
    remove: async () => {
      await removeFolder(memory);
      await removeFolder(pids);
    },
  };
}

/**
 * Makes a control group with limits of memory and processes (version 2, 1 or hybrid), or gives null where this user
 * may not.
 */
export async function createControlGroup(
  name: string,
  limits: { memoryMb: number; processes: number },
): Promise<ControlGroup | null> {
  const memoryBytes = Math.floor(limits.memoryMb * 1024 * 1024);
  if (existsSync(join(root, "cgroup.controllers"))) return await unified(name, memoryBytes, limits.processes);
  if (existsSync(join(root, "memory"))) return await legacy(name, memoryBytes, limits.processes);
  return null;
}
