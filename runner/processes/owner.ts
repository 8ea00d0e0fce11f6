import { readFileSync, readlinkSync } from "node:fs";

/** When a process started, in the kernel's ticks since boot; null where there is no such process, or no /proc. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, may hold spaces; the start is field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/** Number of this process's pid namespace; "0" where the system does not tell. */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

const namespace = pidNamespace();

/**
 * Marks what this process makes outside of folders of its own: `<pid>-<start>-<pid namespace>`. Another process tells by
 * it whether the maker still lives, also where its pid was given away again.
 */
export const processOwner: string = `${process.pid}-${startOf(process.pid) ?? "0"}-${namespace}`;

const ownedName = /^infradev-(?:[a-z]+-)?(\d+)-(\d+)-(\d+)-/;

/**
 * Whether a name was made with the mark of a process that is gone; null where it carries no mark, or that of a process
 * of another pid namespace (a container that shares this folder), which cannot be looked up from here.
 */
export function isAbandoned(name: string): boolean | null {
  const match = ownedName.exec(name);
  if (match === null) return null;
  const [, pid, start, space] = match;
  if (space !== namespace) return null;
  return start !== "0" && startOf(Number(pid)) !== start;
}
