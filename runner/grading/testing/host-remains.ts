import { readdirSync, readFileSync } from "node:fs";

/** One process of this host. */
type HostProcess = { pid: number; parent: number; command: string };

/** Every process that is not a zombie. */
function listProcesses(): HostProcess[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      const [state = "Z", parent = "0"] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = readFileSync(`/proc/${entry}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return state === "Z" ? [] : [{ pid: Number(entry), parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

/** Processes below one, however deep. */
function descendantsOf(root: number): HostProcess[] {
  const all = listProcesses();
  const found: HostProcess[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const child of all.filter(({ parent }) => parent === pid)) {
      found.push(child);
      open.push(child.pid);
    }
  }
  return found;
}

/** The launcher and the ranks of what runs below a process, and the sandbox around them where there is one. */
export function launchBelow(root: number): { sandbox: number[]; launcher: number[]; ranks: number[] } {
  const below = descendantsOf(root);
  const forks = below.filter(({ command }) => / \S*infradev_launch\.py$/.test(command) && !/bwrap/.test(command));
  const isFork = (pid: number) => forks.some((fork) => fork.pid === pid);
  return {
    sandbox: below.filter(({ command }) => /^\S*bwrap /.test(command)).map(({ pid }) => pid),
    launcher: forks.filter(({ parent }) => !isFork(parent)).map(({ pid }) => pid),
    ranks: forks.filter(({ parent }) => isFork(parent)).map(({ pid }) => pid),
  };
}

/**
 * What a run left on this host: processes and mounts that name `folder`, control groups with the mark of a process,
 * entries of `folder` that a runner makes for itself, and ports that are still held.
 */
export function remainsOf(folder: string, owner: string): string[] {
  const named = listProcesses()
    .filter(({ command, pid }) => command.includes(folder) && pid !== process.pid)
    .map(({ pid, command }) => `process ${pid}: ${command.slice(0, 120)}`);
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .filter((line) => line.includes(folder))
    .map((line) => `mount ${line}`);
  const groups = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"].flatMap((root) =>
    entriesOf(root)
      .filter((name) => name.startsWith(`infradev-${owner}-`))
      .map((name) => `control group ${root}/${name}`),
  );
  const temporary = entriesOf(folder)
    .filter((name) => name.startsWith("infradev-"))
    .map((name) => `folder ${name}`);
  return [...named, ...mounts, ...groups, ...temporary, ...heldPorts()];
}

/** Names in the abstract namespace by which launches hold ports, where no launch of anybody runs here. */
function heldPorts(): string[] {
  if (listProcesses().some(({ command }) => command.includes("infradev_launch.py"))) return [];
  return readFileSync("/proc/net/unix", "latin1")
    .split("\n")
    .flatMap((line) => line.split(" ").filter((word) => word.startsWith("@infradev-port-")))
    .map((name) => `port ${name}`);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
