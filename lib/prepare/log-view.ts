import { uuidSchema } from "@/lib/contract/scalars";
import { lastRange, rangesAround } from "./ranges";

/** Lines that one page of a log shows. */
export const logPageLines = 300;

/** Lines shown above the one that a link names. */
const contextLines = 10;

/** Line numbers beyond this are no line's. */
const maxLine = 10 ** 11;

/** What the address of a log asks for. */
export interface LogView {
  gradingId: string;
  /** The file's path in the payload, such as `ranks/launch-0/rank-1.stdout.log`. */
  path: string;
  /** First line shown, from 1. */
  from: number;
  /** The line that is marked; null for none. */
  line: number | null;
}

const payload = "payload/";
const encoded = (path: string) => path.split("/").map(encodeURIComponent).join("/");

/** A file's path in the bundle as a log's address has it, and back. */
export const logPathOf = (payloadPath: string) =>
  payloadPath.startsWith(payload) ? payloadPath.slice(payload.length) : payloadPath;
export const payloadPathOf = (logPath: string) => `${payload}${logPath}`;

/** The address of a log, opened at a line where one is named. */
export function logHref(log: { gradingId: string; path: string; from?: number; line?: number | null }): string {
  const address = `/logs/${log.gradingId}/${encoded(logPathOf(log.path))}`;
  if (log.line) return `${address}?line=${log.line}#L${log.line}`;
  return log.from && log.from > 1 ? `${address}?from=${log.from}` : address;
}

function lineNumber(text: string | null | undefined): number | null {
  if (!text || !/^[1-9]\d{0,11}$/.test(text)) return null;
  return Math.min(Number(text), maxLine);
}

/** First line of the page on which a line stands with some lines above it. */
const firstFor = (line: number) => Math.max(1, line - contextLines);

/**
 * The internal path under which a view of a log is rendered (see `viewPath` of boards), from the address's path, as
 * the browser wrote it, and its query. Numbers that no line has ask for nothing.
 */
export function logViewPath(pathname: string, query: URLSearchParams): string {
  const line = lineNumber(query.get("line"));
  const from = lineNumber(query.get("from")) ?? (line === null ? 1 : firstFor(line));
  return `/log-view/${from}/${line ?? 0}${pathname.replace(/^\/logs/, "")}`;
}

/** Reads the segments after `/log-view`, or after `/logs` with 1 and 0 before them; null where they are none. */
export function parseLogView(segments: readonly string[]): LogView | null {
  const [first, marked, gradingId, ...rest] = segments;
  const from = lineNumber(first);
  const line = marked === "0" ? null : lineNumber(marked);
  const id = uuidSchema.safeParse(gradingId);
  if (from === null || (line === null && marked !== "0") || !id.success || rest.length === 0) return null;
  try {
    const path = rest.map((segment) => decodeURIComponent(segment)).join("/");
    return { gradingId: id.data.toLowerCase(), path, from, line };
  } catch {
    return null;
  }
}

/** First line of the last page of a log. */
export const lastPage = (lineCount: number) => lastRange(lineCount, logPageLines);

/** First lines of the pages before and after, of the first and of the last; null where there is none. */
export const logSteps = ({ from, lineCount }: { from: number; lineCount: number }) =>
  rangesAround({ from, total: lineCount, size: logPageLines });

/** `rank 1, stdout, launch 0` of a rank's log; other files by their path. */
export function logName(path: string): string {
  const match = /^ranks\/launch-(\d+)\/rank-(\d+)\.(stdout|stderr)\.log$/.exec(path);
  return match ? `Rank ${match[2]}, ${match[3]}, launch ${match[1]}` : path;
}
