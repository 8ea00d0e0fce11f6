import type { Board, BoardRow } from "@/lib/contract/api";
import { capitalize, countWord, formatInterval, formatNumber, formatPctUnit, plural } from "@/lib/format/numbers";

/** A board in one sentence with its uncertainty, and one that carries the figures. */
export interface Finding {
  headline: string;
  lead: string;
}

const isolate = (name: string) => `\u2068${name}\u2069`;
const nameOf = (row: BoardRow) => isolate(row.entry.model);
const ranked = (board: Board) => board.rows.filter((row) => row.rankSet !== null);

function countText(row: BoardRow): string {
  return row.resolved.resolved === null
    ? `${formatPctUnit(row.resolved.pct)} of ${row.resolved.total}`
    : `${row.resolved.resolved} of ${row.resolved.total} (${formatPctUnit(row.resolved.pct)})`;
}

function powerText(board: Board, noun: string, count: number): string {
  const { winsNeeded, pairs } = board.power;
  if (winsNeeded === null) return `with ${board.suite.taskCount} tasks no difference could tell two of them apart`;
  const among = pairs === 1 ? "" : `among ${countWord(count)} ${noun}, `;
  return `${among}telling two apart takes ${countWord(winsNeeded)} tasks won and none lost`;
}

function leaderText(rows: readonly BoardRow[]): string {
  const [top] = rows;
  if (!top) return "";
  const level = rows.filter((row) => row.resolved.pct === top.resolved.pct);
  if (level.length === rows.length) return `${level.length === 2 ? "Both resolve" : "Each resolves"} ${countText(top)}`;
  if (level.length > 1) return `${capitalize(countWord(level.length))} resolve most, ${countText(top)}`;
  return `${nameOf(top)} resolves most, ${countText(top)}`;
}

function gapText(rows: readonly BoardRow[]): string | null {
  const counts = rows.map((row) => row.resolved.resolved);
  const known = counts.filter((count): count is number => count !== null);
  if (known.length !== counts.length) return null;
  const gap = Math.max(...known) - Math.min(...known);
  return gap === 0 ? null : `the largest gap is ${countWord(gap)} ${plural(gap, "task")}`;
}

const referenceText = (row: BoardRow) =>
  `${row.entry.model.replace(/^reference:\s*/, "")} resolves ${row.resolved.resolved ?? formatPctUnit(row.resolved.pct)}`;

/** What the probes take away from the rows that are ranked by official tests alone, and whose places they change. */
function probesText(all: Board, official: readonly BoardRow[]): string {
  const rejected = official.reduce((sum, row) => sum + (row.probeRejected?.rejected ?? 0), 0);
  const passing = official.reduce((sum, row) => sum + (row.probeRejected?.officialResolved ?? 0), 0);
  const setOf = new Map(all.rows.map((row) => [row.entry.slug, row.rankSet]));
  const moved = official.filter((row) => setOf.get(row.entry.slug)?.join() !== row.rankSet?.join()).length;
  const share =
    passing > 0
      ? ` The probes reject ${formatNumber(rejected)} of ${formatNumber(passing)} (${formatPctUnit((100 * rejected) / passing)}) of what passes them`
      : "";
  const places =
    moved === 0 ? "no rank set changes" : `${countWord(moved)} rank ${plural(moved, "set changes", "sets change")}`;
  return share ? `${share}; with probes ${places}.` : "";
}

/** What a board shows when official tests alone rank it, with what the probes change. */
export function prepareOfficialFinding(all: Board, official: Board): Finding {
  const rows = ranked(official);
  if (official.rows.length === 0 && all.rows.length > 0) {
    return {
      headline: `No row of ${isolate(all.suite.title)} states what it resolves by official tests alone.`,
      lead: "Such a ranking needs each test's outcome, or counts that a publication gives for the whole suite.",
    };
  }
  const { headline, lead } = prepareFinding(official, " by official tests alone");
  return { headline, lead: `${lead}${probesText(all, rows)}` };
}

/**
 * Computes what a board shows. `by` names what ranks it where that is not every required test. Says `models` where every
 * row is another model, `entries` otherwise.
 */
export function prepareFinding(board: Board, by = ""): Finding {
  const rows = ranked(board);
  const count = `${formatNumber(board.suite.taskCount)} ${plural(board.suite.taskCount, "task")}`;
  const tasks = `${count}${by}`;
  const [top] = rows;
  if (!top) {
    const waiting = board.rows.length;
    return {
      headline: `No entry is ranked on ${isolate(board.suite.title)} yet.`,
      lead:
        waiting > 0
          ? `${capitalize(countWord(waiting))} provisional ${plural(waiting, "entry waits", "entries wait")} for gradings that a host's fault interrupted.`
          : board.references.length > 0
            ? `Graded so far are reference patch sets: ${board.references.slice(0, 4).map(referenceText).join(", ")} of ${tasks}${board.references.length > 4 ? ", and others" : ""}.`
            : `The suite has ${count}; a row appears here when its first submission has been graded.`,
    };
  }
  if (rows.length === 1) {
    return {
      headline: `One entry so far: ${nameOf(top)} resolves ${countText(top)}${by}.`,
      lead: `${top.resolved.interval ? `Its 95\u202f% interval runs from ${formatInterval(top.resolved.interval)}; a` : "A"} ranking needs a second entry.`,
    };
  }
  const distinct = new Set(rows.map((row) => row.entry.model)).size === rows.length;
  const noun = distinct ? "models" : "entries";
  const { all, separated, cannotTell: open } = board.pairCounts;
  const openText = open > 0 ? ` The published counts leave ${countWord(open)} ${plural(open, "pair")} open.` : "";
  const gap = gapText(rows);
  if (separated === 0) {
    const pairText = rows.length === 2 ? "the two cannot be told apart" : "no pair can be told apart";
    const certain = open === 0;
    return {
      headline: certain
        ? `${capitalize(countWord(rows.length))} ${noun}, one tie: ${pairText} on ${tasks}.`
        : `${capitalize(countWord(rows.length))} ${noun}, no order shown: ${open === all ? "the published counts cannot tell any pair apart" : "no pair is certain to differ"} on ${tasks}.`,
      lead: `${leaderText(rows)}${gap ? `, yet ${gap}` : ""}; ${powerText(board, noun, rows.length)}.${openText}`,
    };
  }
  const first = rows.filter((row) => row.rankSet?.[0] === 1);
  const alone = top.rankSet?.[1] === 1;
  const second = rows[1];
  return {
    headline: alone
      ? `${nameOf(top)} leads: it resolves more of the ${tasks} than ${rows.length === 2 && second ? nameOf(second) : `each of the other ${countWord(rows.length - 1)} ${noun}`}.`
      : first.length === rows.length
        ? `${capitalize(countWord(rows.length))} ${noun}, none shut out of first place on ${tasks}.`
        : `${capitalize(countWord(first.length))} of ${countWord(rows.length)} ${noun} share first place on ${tasks}.`,
    lead: `${leaderText(rows)}; ${countWord(separated)} of ${countWord(all)} ${plural(all, "pair")} ${plural(separated, "differs", "differ")} beyond chance, and ${powerText(board, noun, rows.length)}.${openText}`,
  };
}
