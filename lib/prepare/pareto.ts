import type { Board, BoardRow } from "@/lib/contract/api";
import type { ParetoAxis } from "@/lib/contract/vocabulary";
import { capitalize, countWord, formatNumber, formatPctUnit, formatUsd, plural } from "@/lib/format/numbers";
import type { BoardView } from "./board-view";
import { categoryLabels } from "./labels";

/** What each axis measures, in the words of a chart, a table and a sentence. All are means per task, lower is better. */
interface AxisWords {
  /** In a choice: `Cost`. */
  label: string;
  /** In running text: `resolved against cost`. */
  noun: string;
  /** Of a column and of the chart's axis. */
  unit: string;
  value: (row: BoardRow) => number | null;
  /** A figure as it stands in running text: `$5.37`. */
  amount: (value: number) => string;
  /** A figure as it stands in a column under its unit. */
  figure: (value: number) => string;
  /** Said of a row that is no worse on this axis, and of one that is no better. */
  noMore: string;
  noLess: string;
}

export const paretoAxisWords: Record<ParetoAxis, AxisWords> = {
  cost: {
    label: "Cost",
    noun: "cost",
    unit: "$",
    value: (row) => row.costUsd,
    amount: (value) => `$${formatUsd(value)}`,
    figure: formatUsd,
    noMore: "costs no more",
    noLess: "costs no less",
  },
  time: {
    label: "Time",
    noun: "time",
    unit: "min",
    value: (row) => row.timeMin,
    amount: (value) => `${formatNumber(value)}\u202fmin`,
    figure: formatNumber,
    noMore: "takes no longer",
    noLess: "takes no less time",
  },
  tokens: {
    label: "Tokens",
    noun: "tokens",
    unit: "M",
    value: (row) => row.tokensM,
    amount: (value) => `${formatNumber(value, 1)}\u202fM tokens`,
    figure: (value) => formatNumber(value, 1),
    noMore: "uses no more tokens",
    noLess: "uses no fewer tokens",
  },
};

/** A ranked row with its two figures. */
export interface ParetoPoint {
  row: BoardRow;
  /** Cost in dollars, time in minutes or tokens in millions, mean per task. */
  x: number;
  /** Resolved, per cent: of the view's category where it has one. */
  y: number;
  /** Wilson 95 % interval of `y`, null without counts. */
  interval: readonly [number, number] | null;
  /** No other point is as good on both axes and better on one. */
  frontier: boolean;
  /** The point on the frontier that resolves most among those as good on both axes; null on the frontier. */
  dominatedBy: BoardRow | null;
}

/** An axis: its ends, where its labels stand, and how values are spread between. */
export interface ParetoScale {
  kind: "linear" | "log";
  domain: readonly [number, number];
  ticks: readonly number[];
}

/** % resolved of the ranked rows against what they took. */
export interface Pareto {
  axis: ParetoAxis;
  /** The lowest `x` first, the highest `y` first among equals. */
  points: ParetoPoint[];
  x: ParetoScale;
  y: ParetoScale;
  /** The points and their frontier in one sentence. */
  summary: string;
  /** Ranked rows whose source does not state the figure. */
  withoutFigure: BoardRow[];
}

/** From this factor between the smallest and the largest value on, an axis is logarithmic. */
const logFactor = 8;

/** `digits` times the powers of ten, from just below `low` to just above `high`. */
function logTicks(low: number, high: number, digits: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); ; power++) {
    for (const digit of digits) {
      // Written out, so that 5e-2 is 0.05 and not a product that is nearly so.
      const tick = Number(`${digit}e${power}`);
      if (tick <= low) ticks.length = 0;
      ticks.push(tick);
      if (tick >= high) return ticks;
    }
  }
}

/** Round steps from 0 to just above `high`, four of them at most. */
function linearTicks(high: number): number[] {
  const power = Math.floor(Math.log10(high / 4));
  const step =
    [1, 2, 2.5, 5, 10].map((digit) => Number(`${digit}e${power}`)).find((one) => one * 4 >= high) ?? high / 4;
  const count = Math.ceil(high / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function scaleOf(kind: ParetoScale["kind"], ticks: readonly number[]): ParetoScale {
  return { kind, ticks, domain: [ticks[0] ?? 0, ticks.at(-1) ?? 1] };
}

/** A scale for values that are never negative: logarithmic where they are positive and far apart, else linear from 0. */
export function scaleFor(values: readonly number[]): ParetoScale {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (values.length > 1 && low > 0 && high / low >= logFactor) {
    const ticks = logTicks(low, high, [1, 2, 5]);
    return scaleOf("log", ticks.length > 8 ? logTicks(low, high, [1]) : ticks);
  }
  return scaleOf("linear", linearTicks(high > 0 ? high : 1));
}

type Figures = Pick<ParetoPoint, "x" | "y">;

/** Whether `a` is at least as good as `b` on both axes and better on one. */
const dominates = (a: Figures, b: Figures) => a.x <= b.x && a.y >= b.y && (a.x < b.x || a.y > b.y);

function pointOf(row: BoardRow, axis: ParetoAxis, category: BoardView["category"]) {
  const x = paretoAxisWords[axis].value(row);
  const share = category ? row.byCategory.find((one) => one.category === category)?.share : row.resolved;
  return x === null || !share ? null : { row, x, y: share.pct, interval: share.interval };
}

const isolate = (row: BoardRow) => `\u2068${row.entry.model}\u2069`;

function summaryOf(points: readonly ParetoPoint[], axis: ParetoAxis, category: BoardView["category"]): string {
  const words = paretoAxisWords[axis];
  const figures = (point: ParetoPoint) =>
    `${isolate(point.row)} (${formatPctUnit(point.y)} at ${words.amount(point.x)})`;
  const noun = new Set(points.map(({ row }) => row.entry.model)).size === points.length ? "model" : "entry";
  const nouns = noun === "model" ? "models" : "entries";
  const frontier = points.filter((point) => point.frontier);
  const [first] = frontier;
  const last = frontier.at(-1);
  const others = points.length - frontier.length;
  const of = category
    ? `resolved ${categoryLabels[category]} tasks against ${words.noun}`
    : `resolved against ${words.noun}`;
  if (!first || !last) return "";
  if (points.length === 1) return `${figures(first)} is the only ${noun} here that states its ${words.noun}.`;
  if (frontier.length === 1) {
    return `${figures(first)} alone is the frontier of ${of}: ${others === 1 ? `the other ${noun}` : `each of the other ${countWord(others)} ${nouns}`} resolves no more and ${words.noLess}.`;
  }
  const span = `from ${figures(first)} to ${figures(last)}`;
  if (others === 0) {
    return `${frontier.length === 2 ? `Both ${nouns} are` : `All ${countWord(points.length)} ${nouns} are`} on the frontier of ${of}, ${span}.`;
  }
  return `${capitalize(countWord(frontier.length))} of ${countWord(points.length)} ${nouns} are on the frontier of ${of}, ${span}; for ${others === 1 ? "the other" : `each of the other ${countWord(others)}`}, one on it resolves as much or more and ${words.noMore}.`;
}

/**
 * Sets % resolved of a board's ranked rows against their cost, time or tokens, and finds the frontier: the rows that no
 * other matches on both axes and beats on one. It follows the figures as they are, whatever their intervals. Rows that
 * are provisional, and reference sets, are no part of it.
 */
export function preparePareto(board: Board, axis: ParetoAxis, category: BoardView["category"]): Pareto {
  const ranked = board.rows.filter((row) => row.rankSet !== null);
  const placed = ranked.flatMap((row) => pointOf(row, axis, category) ?? []).sort((a, b) => a.x - b.x || b.y - a.y);
  const frontier = placed.filter((point) => !placed.some((other) => dominates(other, point)));
  const points = placed.map((point): ParetoPoint => {
    const onIt = frontier.includes(point);
    const better = frontier.filter((other) => dominates(other, point));
    const [best] = better.sort((a, b) => b.y - a.y || a.x - b.x);
    return { ...point, frontier: onIt, dominatedBy: onIt ? null : (best?.row ?? null) };
  });
  const highest = Math.max(10, ...points.map(({ y, interval }) => Math.max(y, interval?.[1] ?? 0)));
  return {
    axis,
    points,
    x: scaleFor(points.length > 0 ? points.map(({ x }) => x) : [1]),
    y: scaleOf("linear", linearTicks(Math.min(100, highest))),
    summary: summaryOf(points, axis, category),
    withoutFigure: ranked.filter((row) => !placed.some((point) => point.row === row)),
  };
}

/** `3 rows do not state their cost, so they are not drawn.`; null where every ranked row does. */
export function withoutFigureText({ axis, withoutFigure }: Pareto): string | null {
  const count = withoutFigure.length;
  if (count === 0) return null;
  return `${capitalize(countWord(count))} ranked ${plural(count, "row does", "rows do")} not state ${plural(count, "its", "their")} ${paretoAxisWords[axis].noun}, so ${plural(count, "it is", "they are")} not drawn.`;
}
