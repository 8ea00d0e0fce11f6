import type { Resource } from "@/lib/contract/result";
import { defaultRepeats, inUnit, type MeasuredTest, meterUnits, type OutsideMeter, ratioUnit } from "./limits";

/** One measurement of a test, in its meter's unit, with the rank that it is of. */
export type Measurement = { value: number; rank: number };

/** Measurements in the order in which they were taken; `reference` interleaved with them, null where not relative. */
export type Taken = { candidate: readonly Measurement[]; reference: readonly Measurement[] | null };

/** The middle value, or the mean of the two in the middle; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  const lower = sorted[Math.ceil(middle) - 1];
  return upper === undefined || lower === undefined ? Number.NaN : (upper + lower) / 2;
}

/** The rank of the measurement nearest to the median from above, the lowest of equal ones. */
function rankOf(taken: readonly Measurement[], middle: number): number {
  const above = taken.filter(({ value }) => value >= middle).sort((a, b) => a.value - b.value || a.rank - b.rank)[0];
  return above?.rank ?? taken[0]?.rank ?? 0;
}

/**
 * Decides a limit from what was measured outside of the candidate: the median of the measurements, or the ratio of
 * both sides' medians, is at most the limit's value. Null where there are fewer measurements than the limit asks for,
 * or they say nothing (not finite, or a reference of zero): never a pass.
 * @param meter who measured in fact, which may be another one than the limit names
 */
export function decideLimit(
  test: MeasuredTest,
  { candidate, reference }: Taken,
  { meter, accuracy }: { meter: OutsideMeter; accuracy: string },
): Resource | null {
  const { limit } = test;
  const wanted = defaultRepeats(limit);
  const sides = reference === null ? [candidate] : [candidate, reference];
  if (sides.some((side) => side.length < wanted || side.some(({ value }) => !Number.isFinite(value) || value < 0))) {
    return null;
  }
  if ((limit.relativeTo === null) !== (reference === null)) return null;
  const measured = median(candidate.map(({ value }) => value));
  const shared = {
    name: limit.resource,
    rank: rankOf(candidate, measured),
    property: test.property,
    limit: limit.value,
    repeats: candidate.length,
    meter,
    accuracy,
  };
  if (reference === null) {
    const values = candidate.map(({ value }) => inUnit(value, meter, limit.unit));
    const value = median(values);
    if (!Number.isFinite(value)) return null;
    return { ...shared, value, unit: limit.unit, met: value <= limit.value, spread: spreadOf(values) };
  }
  const baseline = median(reference.map(({ value }) => value));
  if (!(baseline > 0)) return null;
  const ratios = candidate.map(({ value }, at) => value / (reference[at]?.value ?? baseline));
  const value = measured / baseline;
  return {
    ...shared,
    value,
    unit: ratioUnit,
    met: value <= limit.value,
    spread: spreadOf(ratios.every(Number.isFinite) ? ratios : [value]),
    relative: {
      to: limit.relativeTo ?? "base",
      reference: baseline,
      measured,
      sideUnit: meterUnits[meter],
    },
  };
}

const spreadOf = (values: readonly number[]) => ({ min: Math.min(...values), max: Math.max(...values) });
