import { InfraDevError, type Problem } from "@/lib/contract/errors";

/** What a command's end means; the same for every command. */
export const exitCodes = {
  /** Everything asked for holds. */
  ok: 0,
  /** The command ran, and what it checked does not hold: unresolved task, refused bundle, failed lint. */
  failed: 1,
  /** Wrong use, a malformed file, or an environment that cannot do it. */
  misuse: 2,
  /** What was made holds, and something is left to make: the same command again goes on. */
  incomplete: 3,
  /** Ended by Ctrl-C or SIGTERM after cleaning up. */
  interrupted: 130,
  /** Ended after cleaning up since the reader of stdout went away, as in `| head`; what SIGPIPE ends others with. */
  readerGone: 141,
} as const;

export type Cell = string | number | null;

/**
 * A table in plain text: columns padded to their widest cell, numbers to the right, an em dash for what is missing.
 * Colours count as no width.
 */
export function formatTable(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const text = (cell: Cell | undefined): string => (cell === null || cell === undefined ? "—" : String(cell));
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => text(row[column]))].map((each) => visibleLength(each))),
  );
  const line = (cells: readonly (Cell | undefined)[]): string =>
    header
      .map((_, column) => {
        const cell = text(cells[column]);
        const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - visibleLength(cell)));
        return typeof cells[column] === "number" ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [line(header), rule, ...rows.map(line)].join("\n");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
const escapes = /\u001b\[[0-9;]*m/g;
const visibleLength = (text: string): number => [...text.replace(escapes, "")].length;

/**
 * Text that somebody else wrote, for a screen: control characters and those that turn text around are spelled out, so
 * that none of it moves a cursor, sets a colour or reads as what it is not.
 */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);

/** A printed text with no control characters but line breaks, tabs and this program's own colours. */
const printable = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for
    .split(/(\u001b\[(?:0|1|2|31|32|33)m|[\n\t])/u)
    .map((part, index) => (index % 2 === 1 ? part : visible(part)))
    .join("");

const paints = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;
type Paint = keyof typeof paints;

export type Output = {
  readonly json: boolean;
  /** A line for a person; silent under --json. */
  line(text?: string): void;
  /** Whether a status line can be redrawn: stderr is a terminal, and not under --json. */
  readonly isLive: boolean;
  /** A state that replaces the one before on a terminal, and is printed when it changes elsewhere. Goes to stderr. */
  status(text: string): void;
  /** A state that changes all the time, such as elapsed seconds: shown on a terminal only. */
  live(text: string): void;
  /** Removes the status line. */
  clearStatus(): void;
  /** The command's result: printed as one JSON document under --json. */
  result(document: unknown): void;
  paint(paint: Paint, text: string): string;
};

export type OutputStreams = { stdout: NodeJS.WriteStream; stderr: NodeJS.WriteStream; noColor: boolean };

/** How a command speaks: people get lines and a status, `--json` gets one document on stdout and nothing else. */
export function createOutput(json: boolean, { stdout, stderr, noColor }: OutputStreams): Output {
  const live = stderr.isTTY === true;
  const colored = stdout.isTTY === true && !noColor;
  let shown = "";
  const clearStatus = (): void => {
    if (live && shown !== "") stderr.write("\r\u001b[2K");
    shown = "";
  };
  const draw = (text: string): void => {
    const width = Math.max(20, stderr.columns ?? 80) - 1;
    stderr.write(`\r\u001b[2K${[...printable(text)].slice(0, width).join("")}`);
    shown = text;
  };
  return {
    json,
    isLive: live && !json,
    line(text = "") {
      if (json) return;
      clearStatus();
      stdout.write(`${printable(text)}\n`);
    },
    status(text) {
      if (json || text === shown) return;
      if (!live) {
        stderr.write(`${printable(text)}\n`);
        shown = text;
        return;
      }
      draw(text);
    },
    live(text) {
      if (live && !json) draw(text);
    },
    clearStatus,
    result(document) {
      if (json) stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    },
    paint: (paint, text) => (colored ? `\u001b[${paints[paint]}m${text}\u001b[0m` : text),
  };
}

/** What the system refuses, by its code: the project's code, what is wrong, the rule and the remedy. */
const systemProblems: Record<string, readonly [code: string, message: string, rule: string, remedy: string]> = {
  ENOENT: [
    "environment.missing",
    "there is no such file or folder",
    "what is read stands there already",
    "check the path",
  ],
  ENOTDIR: [
    "environment.not-a-folder",
    "the path leads through a file",
    "every part of a path but its last is a folder",
    "check the path, or name another one",
  ],
  EEXIST: [
    "environment.exists",
    "something else stands there already",
    "nothing that stands there is replaced, and a file is no folder",
    "remove or rename what stands there, or name another path",
  ],
  EISDIR: [
    "environment.not-a-file",
    "a folder stands there, and a file is needed",
    "a file is read and written, a folder is not",
    "name a file",
  ],
  ENAMETOOLONG: [
    "environment.path-too-long",
    "the path or a name in it is too long",
    "the file system bounds names (mostly to 255 bytes) and paths (to 4096)",
    "name a shorter path",
  ],
  ELOOP: [
    "environment.link-loop",
    "links lead in a circle, or too many follow each other",
    "a link leads to a file or folder in the end",
    "name what the links should lead to, or mend them",
  ],
  EROFS: [
    "environment.read-only",
    "the file system is mounted read-only",
    "results and state go where this user may write",
    "name a folder that can be written",
  ],
  ENOSPC: [
    "environment.disk-full",
    "there is no space left",
    "what is written is written whole",
    "free disk space, or name another folder",
  ],
  EDQUOT: [
    "environment.disk-full",
    "this user's quota of space is used up",
    "what is written is written whole",
    "free space, or name another folder",
  ],
  EACCES: [
    "environment.permission",
    "this user may not do that",
    "the runner works with the rights of the user who starts it",
    "check the permissions of the path named and of the folders above it",
  ],
  EPERM: [
    "environment.permission",
    "the system does not allow that",
    "the runner works with the rights of the user who starts it",
    "check owner and attributes of the path named, and whether its file system allows it",
  ],
  EMFILE: [
    "environment.open-files",
    "this process has as many files open as it may",
    "the system bounds the files that a process has open",
    "raise the limit (ulimit -n 4096), or do less at a time",
  ],
  ENFILE: [
    "environment.open-files",
    "this machine has as many files open as it may",
    "the system bounds the files that are open (fs.file-max)",
    "end what holds many files open, or raise the limit",
  ],
};

/** Of a call with two paths that is both: which of them is meant, only "exists" says. */
const placeOf = ({ code, path, dest }: NodeJS.ErrnoException & { dest?: string }): string | undefined =>
  dest === undefined || path === undefined ? path : code === "EEXIST" ? dest : `${path} -> ${dest}`;

const problemOf = (error: unknown): Problem => {
  if (error instanceof InfraDevError) return error.problem;
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  const known = systemProblems[code];
  if (known) {
    const [ours, message, rule, remedy] = known;
    const told = `${message} (${syscall === undefined ? code : `${code}, ${syscall}`})`;
    const where = placeOf(error as NodeJS.ErrnoException);
    return { code: ours, message: told, ...(where === undefined ? {} : { where }), rule, remedy };
  }
  return { code: "internal.defect", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
};

/** Prints why a command ended, and gives its exit code. */
export function reportError(error: unknown, json: boolean, { stdout, stderr }: OutputStreams): number {
  if (error instanceof Interrupted) {
    stderr.write("interrupted; everything that was started has ended\n");
    return exitCodes.interrupted;
  }
  if (error instanceof ReaderGone) return exitCodes.readerGone;
  const problem = problemOf(error);
  if (json) stdout.write(`${JSON.stringify({ error: problem }, null, 2)}\n`);
  else stderr.write(`${printable(new InfraDevError("invalid", problem).describe())}\n`);
  return exitCodes.misuse;
}

/** The command was ended by a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Nobody reads the command's stdout any more. */
export class ReaderGone extends Error {
  override readonly name = "ReaderGone";
}

/** Milliseconds for people: `0.4 s`, `12.3 s`, `2 min 05 s`. */
export function formatElapsed(durationMs: number): string {
  if (durationMs < 60_000) return `${(durationMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Bytes for people, in binary units. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
