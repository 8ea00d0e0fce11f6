import type { ShownLine } from "@/lib/contract/log-lines";
import type { EvidenceSpan, Frame, RankOutcome } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";

/** The address of a failure: it names the grading and the test's number in the manifest, and never comes to mean another. */
export function failureHref({ grading, test }: { grading: string; test: number }): string {
  return `/failures/${grading}/${test}`;
}

/** Two values that an assertion compared, as its message prints them. */
export interface Comparison {
  sides: readonly [first: readonly [label: string, value: string], second: readonly [label: string, value: string]];
  /** What was asserted between them; null where the message names the two itself. */
  operator: string | null;
}

const operators = ["==", "!=", "<=", ">=", "<", ">", "not in", "in", "is not", "is"] as const;
const opening = "([{";
const closing = ")]}";

/** Where the first operator outside of brackets and quotes stands. */
function topOperator(text: string): { at: number; operator: string } | null {
  let depth = 0;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (quote !== "") {
      if (sign === "\\") at += 1;
      else if (sign === quote) quote = "";
    } else if (sign === "'" || sign === '"') quote = sign;
    else if (opening.includes(sign)) depth += 1;
    else if (closing.includes(sign)) depth -= 1;
    else if (sign === " " && depth === 0) {
      const operator = operators.find((one) => text.startsWith(`${one} `, at + 1));
      if (operator) return { at, operator };
    }
  }
  return null;
}

/**
 * The values behind an assertion's message: what pytest prints after `assert`, a limit that was exceeded, or the two
 * lines that say expected and actual. Null where the message compares nothing.
 */
export function comparisonOf(message: string): Comparison | null {
  const lines = message.split("\n");
  const assertion = lines.map((line) => line.trim()).find((line) => line.startsWith("assert "));
  if (assertion) {
    const text = assertion.slice("assert ".length);
    const found = topOperator(text);
    if (!found) return null;
    const { at, operator } = found;
    const right = text.slice(at + operator.length + 2).trim();
    return {
      operator,
      sides: [
        ["Left side", text.slice(0, at).trim()],
        ["Right side", right],
      ],
    };
  }
  const limit = /^(.{1,80}?): (\S+ \S+) exceeds the limit of (\S+ \S+)/.exec(lines[0] ?? "");
  if (limit)
    return {
      operator: null,
      sides: [
        [`${limit[1]}, measured`, limit[2] as string],
        ["Limit", limit[3] as string],
      ],
    };
  const named = (word: RegExp) => lines.map((line) => word.exec(line.trim())?.[1]).find((value) => value !== undefined);
  const expected = named(/^(?:expected|desired|want(?:ed)?)\s*[:=]\s*(.+)$/i);
  const actual = named(/^(?:actual|got|received|found)\s*[:=]\s*(.+)$/i);
  return expected !== undefined && actual !== undefined
    ? {
        operator: null,
        sides: [
          ["Expected", expected],
          ["Actual", actual],
        ],
      }
    : null;
}

/** A text in three parts, the middle one being what a label was read from; whole and unmarked where it is elsewhere. */
export function markedText(
  text: string,
  span: EvidenceSpan | null,
  field: EvidenceSpan["field"],
): { before: string; marked: string; after: string } {
  if (span?.field !== field || span.from >= span.to || span.to > text.length)
    return { before: text, marked: "", after: "" };
  return { before: text.slice(0, span.from), marked: text.slice(span.from, span.to), after: text.slice(span.to) };
}

/** One rank's run of the test as a bar: per cent of the time line. */
export interface TimeLineBar {
  rank: number;
  status: OutcomeStatus;
  root: boolean;
  /** Rank whose failure explains this one's. */
  follows: number | null;
  startPct: number;
  widthPct: number;
  /** After the first rank's start, in milliseconds. */
  startMs: number;
  endMs: number;
  failed: boolean;
}

/** A launch as a time line: its ranks, and those of which no time is known. */
export interface TimeLine {
  launch: number | null;
  spanMs: number;
  bars: TimeLineBar[];
  untimed: { rank: number; status: OutcomeStatus }[];
}

const failed = (status: OutcomeStatus) => status !== "passed" && status !== "skipped";

/** What each rank did when, one time line for each launch that the test ran in. */
export function timeLinesOf(ranks: readonly RankOutcome[], rootRank: number | null): TimeLine[] {
  const launches = [...new Set(ranks.map(({ launch }) => launch))].sort((a, b) => (a ?? -1) - (b ?? -1));
  return launches.map((launch) => {
    const own = ranks.filter((rank) => rank.launch === launch);
    const timed = own.flatMap((rank) => {
      const start = rank.startedAt === null ? Number.NaN : Date.parse(rank.startedAt);
      return Number.isFinite(start) && rank.durationMs !== null
        ? [{ ...rank, start, end: start + rank.durationMs }]
        : [];
    });
    const begin = Math.min(...timed.map(({ start }) => start));
    const spanMs = timed.length === 0 ? 0 : Math.max(...timed.map(({ end }) => end)) - begin;
    const pct = (ms: number) => (spanMs === 0 ? 0 : (100 * ms) / spanMs);
    return {
      launch,
      spanMs,
      bars: timed.map(({ rank, status, start, end, failure }) => ({
        rank,
        status,
        root: rank === rootRank,
        follows: failure?.secondaryOf ?? null,
        startPct: pct(start - begin),
        widthPct: spanMs === 0 ? 100 : pct(end - start),
        startMs: start - begin,
        endMs: end - begin,
        failed: failed(status),
      })),
      untimed: own
        .filter((rank) => !timed.some((one) => one.rank === rank.rank))
        .map(({ rank, status }) => ({ rank, status })),
    };
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what colours a terminal
const colours = /\u001b\[[\d;]*m/g;

/** `TestA.test_b[2]`, as pytest heads a failure. */
const headingOf = (testId: string) => testId.split("::").slice(1).join(".");

/**
 * Which of a log's lines says why a test failed: below the test's heading the line with the message; else the first
 * line with it; else the heading. Null where the lines say nothing of it.
 */
export function failingLineOf(
  texts: readonly string[],
  { testId, message }: { testId: string; message: string },
): number | null {
  const lines = texts.map((text) => text.replaceAll(colours, "").trim());
  const name = headingOf(testId);
  const heading =
    name === ""
      ? -1
      : lines.findIndex((line) => line.startsWith("__") && line.replace(/^_+ /, "").replace(/ _+$/, "") === name);
  const said = message
    .split("\n")
    .find((line) => line.trim() !== "")
    ?.trim()
    .slice(0, 400);
  if (said) {
    const below = lines.findIndex((line, index) => index > heading && line.includes(said));
    if (below >= 0) return below;
  }
  return heading >= 0 ? heading : null;
}

/** Lines of the patched files that a traceback passes through, innermost first, each once. */
export function touchedPlaces(frames: readonly Frame[]): { file: string; line: number }[] {
  const places = new Map<string, { file: string; line: number }>();
  for (const { file, line, origin } of [...frames].reverse())
    if (origin === "project") places.set(`${file}:${line}`, { file, line });
  return [...places.values()];
}

/** What stands behind a failure besides its record: the patch, and what its root rank printed. */
export interface FailureBackground {
  patch: { text: string; sha256: string; truncated: boolean };
  /** Lines around the one that says why; null where there is no log of the root rank, or the probe is hidden. */
  log: { path: string; lines: ShownLine[]; marked: number; lineCount: number } | null;
  /** Logs of the ranks' standard output, those that hold something. */
  logPaths: { launch: number; rank: number; path: string }[];
}
