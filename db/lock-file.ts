import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/** A process as a file remembers it. A pid alone is not enough: after a while it is another process's. */
export interface ProcessMark {
  pid: number;
  /** When it started, as the kernel counts; null where the system does not tell (no /proc). */
  started: string | null;
}

/** How to recognise a process later: its pid and, on Linux, when it started (ticks since boot, and the boot's id). */
export function markProcess(pid: number): ProcessMark {
  return { pid, started: startOf(pid) };
}

/** True while the very process that was marked runs. A zombie, which waits to be reaped, does not run. */
export function runsStill({ pid, started }: ProcessMark): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const stat = statOf(pid);
  if (stat?.[0] === "Z") return false;
  return !started || startOf(pid) === started;
}

/** Fields of /proc/<pid>/stat from the state on; the name before them may hold anything. */
function statOf(pid: number): string[] | null {
  const text = readOr(`/proc/${pid}/stat`);
  return text === null ? null : text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function startOf(pid: number): string | null {
  const ticks = statOf(pid)?.[19];
  const boot = readOr("/proc/sys/kernel/random/boot_id");
  return ticks === undefined || boot === null ? null : `${boot.trim()}:${ticks}`;
}

export interface LockFile<Note extends object> {
  /** Replaces what the lock file says about its holder. */
  note(note: Note): void;
  release(): void;
}

/** Who holds a lock file; null while its holder is writing it. */
export type LockHolder<Note extends object> = (ProcessMark & Note) | null;

const unreadableForMs = 5_000;

/**
 * Takes a lock file for this process, or tells who holds it. A file whose process is gone, or that was left torn, is
 * taken over. Throws the system's error where the file cannot be written, and leaves none behind then.
 */
export function takeLockFile<Note extends object>(
  path: string,
  note: Note,
): { lock: LockFile<Note> } | { holder: LockHolder<Note> } {
  const mine = markProcess(process.pid);
  for (;;) {
    try {
      writeFileSync(path, JSON.stringify({ ...mine, ...note }), { flag: "wx", mode: 0o600 });
      return { lock: lockOf(path, mine) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A disk that is full lets the file be made and not be filled.
      if (code === "ENOSPC" || code === "EDQUOT") rmSync(path, { force: true });
      if (code !== "EEXIST") throw error;
    }
    const text = readLock(path);
    if (text === null) continue;
    const holder = parseHolder<Note>(text);
    if (holder === null ? ageMs(path) < unreadableForMs : runsStill(holder)) return { holder };
    removeStale(path, text);
  }
}

function lockOf<Note extends object>(path: string, mine: ProcessMark): LockFile<Note> {
  return {
    note: (note) => writeAtomically(path, JSON.stringify({ ...mine, ...note })),
    release: () => {
      const holder = parseHolder(readOr(path) ?? "");
      if (holder?.pid === mine.pid && holder.started === mine.started) rmSync(path, { force: true });
    },
  };
}

/** Removes a lock file that was judged stale, unless another process has taken it over in between. */
function removeStale(path: string, judged: string): void {
  const aside = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (readOr(aside) === judged) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

/** Null where the file has gone meanwhile. */
function readLock(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function parseHolder<Note extends object>(text: string): LockHolder<Note> {
  try {
    const holder = JSON.parse(text) as LockHolder<Note>;
    return Number.isInteger(holder?.pid) ? holder : null;
  } catch {
    return null;
  }
}

function ageMs(path: string): number {
  const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return made === undefined ? 0 : Date.now() - made;
}

/** Writes a file so that a reader sees the old or the new one whole; only its owner may read it. */
export function writeAtomically(path: string, text: string): void {
  const staging = `${path}.${process.pid}`;
  try {
    writeFileSync(staging, text, { mode: 0o600 });
    renameSync(staging, path);
  } catch (error) {
    rmSync(staging, { force: true });
    throw error;
  }
}

function readOr(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
