import { confidenceLevel } from "./intervals";
import type { Random } from "./random";

export const bootstrapDraws = 2_000;

/**
 * Percentile bootstrap interval of `statistic` over resampled `units` (tasks). Deterministic for a seeded `random`.
 * Draws on which the statistic is not finite (a ratio with an empty denominator) are left out; null if none remains, and
 * where every draw gives the same value: units that all agree say nothing of how much others would vary.
 *
 * Source: B. Efron, "Bootstrap methods: another look at the jackknife", Ann. Statist. 7 (1979), 1-26.
 */
export function bootstrapInterval<T>(
  units: readonly T[],
  statistic: (sample: readonly T[]) => number,
  random: Random,
  draws = bootstrapDraws,
): [number, number] | null {
  if (units.length === 0) return null;
  const values: number[] = [];
  for (let draw = 0; draw < draws; draw += 1) {
    const sample = units.map(() => units[Math.floor(random() * units.length)] as T);
    const value = statistic(sample);
    if (Number.isFinite(value)) values.push(value);
  }
  if (values.length === 0) return null;
  values.sort((x, y) => x - y);
  if (values[0] === values.at(-1)) return null;
  const tail = (1 - confidenceLevel) / 2;
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(share * values.length))] as number;
  return [at(tail), at(1 - tail)];
}
