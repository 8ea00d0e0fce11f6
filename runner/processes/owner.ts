import { readFileSync } from "node:fs";

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

/**
 * Marks what this process makes outside of folders of its own: `<pid>-<start>`. Another process tells by it whether
 * the maker still lives, also where its pid was given away again.
 */
export const processOwner: string = `${process.pid}-${startOf(process.pid) ?? "0"}`;

const ownedName = /^infradev-(?:[a-z]+-)?(\d+)-(\d+)-/;

/** Whether a name was made with the mark of a process that is gone; null where it carries no mark. */
export function isAbandoned(name: string): boolean | null {
  const match = ownedName.exec(name);
  if (match === null) return null;
  const [, pid, start] = match;
  return start !== "0" && startOf(Number(pid)) !== start;
}
