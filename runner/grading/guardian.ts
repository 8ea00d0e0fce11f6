import { type ChildProcess, spawn } from "node:child_process";
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, processOwner } from "../processes/owner";

/** Where control groups of launches stand: version 2, and the two hierarchies of version 1. */
const controlGroupRoots = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"];

/**
 * Waits for a word or for the end of its input. On a word it goes; on the end, which is the runner's death, it ends
 * what is left in the runner's control groups and removes them and the folders named, trying again for five seconds.
 */
const program = `trap '' INT TERM HUP
IFS= read -r word && exit 0
owner=$1; shift; tries=0; left=1
while [ $left = 1 ] && [ $tries -lt 50 ]; do
  left=0; tries=$((tries + 1))
  for group in ${controlGroupRoots.map((root) => `${root}/infradev-"$owner"-*`).join(" ")}; do
    [ -d "$group" ] || continue
    while read -r pid; do [ "$pid" -gt 1 ] && kill -9 "$pid"; done < "$group/cgroup.procs"
    rmdir "$group" || left=1
  done
  for folder in "$@"; do
    rm -rf -- "$folder"; [ -e "$folder" ] && left=1
  done
  [ $left = 1 ] && sleep 0.1
done`;

/** `release` lets it go, with nothing to clear away, and resolves when it is gone. */
export type Guardian = { release(): Promise<void> };

/**
 * Starts a process that outlives this one and clears away after it where it is killed: control groups of its launches,
 * and `folders`, which must be of this run alone. Processes of launches end by themselves with the runner.
 */
export function startGuardian(folders: readonly string[]): Guardian {
  let child: ChildProcess;
  try {
    child = spawn("/bin/sh", ["-c", program, "infradev-guardian", processOwner, ...folders], {
      cwd: "/",
      detached: true,
      env: { PATH: "/usr/bin:/bin" } as unknown as NodeJS.ProcessEnv,
      stdio: ["pipe", "ignore", "ignore"],
    });
  } catch {
    return { release: async () => undefined };
  }
  // Without it the next start clears away.
  child.on("error", () => undefined);
  child.stdin?.on("error", () => undefined);
  child.unref();
  (child.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  return {
    release: async () => {
      child.stdin?.end("done\n");
      child.ref();
      await gone;
    },
  };
}

/** Nothing younger is touched: its maker may not have entered it yet. */
const oldEnoughMs = 60_000;

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > oldEnoughMs;
}

/**
 * Removes control groups and temporary folders of runners that are gone. A control group with a process in it stays:
 * the kernel refuses its removal. Gives the number of what was removed.
 */
export async function sweepLeftovers(): Promise<number> {
  let removed = 0;
  for (const root of controlGroupRoots) {
    for (const name of await readdir(root).catch((): string[] => [])) {
      if (!name.startsWith("infradev-") || isAbandoned(name) === false) continue;
      const path = join(root, name);
      if (!(await isOld(path))) continue;
      removed += await rmdir(path).then(
        () => 1,
        () => 0,
      );
    }
  }
  for (const name of await readdir(tmpdir()).catch((): string[] => [])) {
    if (isAbandoned(name) !== true || !(await isOld(join(tmpdir(), name)))) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
    removed += 1;
  }
  return removed;
}
