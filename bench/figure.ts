import { performance } from "node:perf_hooks";

/** One line of the table: a number with its budget. */
export interface Figure {
  name: string;
  /** What the number is, in a few words. */
  what: string;
  /** Null where this machine cannot measure it; `detail` says why. */
  value: number | null;
  /** `x`: a ratio within one run. `kB`: 1000 bytes. */
  unit: "x" | "kB" | "ms" | "points";
  /** First and third quartile of the repeats; null for what does not vary. */
  quartiles: [number, number] | null;
  repeats: number;
  budget: string;
  /** Null where nothing was measured. */
  met: boolean | null;
  /** Medians that the number comes from, for a reader; they compare with nothing outside of this run. */
  detail: string;
}

/** Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996). `share` lies within 0 to 1. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const low = sorted[Math.floor(position)];
  const high = sorted[Math.ceil(position)];
  if (low === undefined || high === undefined) throw new RangeError("a quantile needs at least one value");
  return low + (high - low) * (position - Math.floor(position));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Ratios of what was measured side by side, so that a load on the machine stands in both. */
export function ratiosOf(values: readonly number[], against: readonly number[]): number[] {
  return values.map((value, index) => value / (against[index] ?? Number.NaN));
}

export const quartilesOf = (values: readonly number[]): [number, number] => [
  quantile(values, 0.25),
  quantile(values, 0.75),
];

/** Runs the work and gives its milliseconds with its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const startedMs = performance.now();
  const result = await work();
  return { ms: performance.now() - startedMs, result };
}

/** Runs every side once per round, one after the other; the first `warmups` rounds do not count. */
export async function interleave<Side extends string>(
  sides: Record<Side, () => Promise<number>>,
  rounds: { repeats: number; warmups: number },
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[];
  const seen = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Side, number[]>;
  for (let round = -rounds.warmups; round < rounds.repeats; round++) {
    for (const name of names) {
      const value = await sides[name]();
      if (round >= 0) seen[name].push(value);
    }
  }
  return seen;
}

const number = (value: number): string => value.toFixed(value < 10 ? 2 : 1);

/** The figures as an aligned table, one line each. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = [
    ["figure", "measured", "quartiles", "n", "budget", "verdict", "what"],
    ...figures.map(({ name, what, value, unit, quartiles, repeats, budget, met, detail }) => [
      name,
      value === null ? "—" : `${number(value)} ${unit}`,
      quartiles ? `${number(quartiles[0])} – ${number(quartiles[1])}` : "",
      String(repeats),
      budget,
      met === null ? "not measured" : met ? "met" : "MISSED",
      `${what}: ${detail}`,
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
