import type { Random } from "./random";

/** A pair's p-value at or below which two rows are told apart, before adjustment over the board's pairs. */
export const significanceLevel = 0.05;
/** Up to this many tasks with a difference the sign-flip test enumerates every assignment; beyond, it draws. */
export const signFlipExactLimit = 18;
/** Assignments drawn where enumeration is out of reach. */
export const signFlipDraws = 20_000;

/** P(X <= k) for X ~ Binomial(n, 1/2): exact products while 2^-n is a normal number, in logarithms beyond. */
function halfBinomialLowerTail(n: number, k: number): number {
  if (n <= 1000) {
    let term = 2 ** -n;
    let sum = term;
    for (let i = 0; i < k; i += 1) {
      term = (term * (n - i)) / (i + 1);
      sum += term;
    }
    return sum;
  }
  let logTerm = -n * Math.LN2;
  let sum = Math.exp(logTerm);
  for (let i = 0; i < k; i += 1) {
    logTerm += Math.log((n - i) / (i + 1));
    sum += Math.exp(logTerm);
  }
  return sum;
}

/**
 * Exact two-sided McNemar test: p-value of `onlyA` tasks won by one side alone against `onlyB` won by the other alone.
 * Under the null each discordant task goes either way with probability 1/2; p doubles the smaller tail, at most 1.
 *
 * Source: Q. McNemar, Psychometrika 12 (1947), 153-157; exact form: A. Agresti, Categorical Data Analysis, 3rd ed., 11.1.
 *
 * @throws RangeError on negative or fractional counts.
 */
export function mcnemarExact(onlyA: number, onlyB: number): number {
  if (!Number.isInteger(onlyA) || !Number.isInteger(onlyB) || onlyA < 0 || onlyB < 0) {
    throw new RangeError(`mcnemarExact: expected counts, got ${onlyA} and ${onlyB}`);
  }
  const discordant = onlyA + onlyB;
  if (discordant === 0) return 1;
  return Math.min(1, 2 * halfBinomialLowerTail(discordant, Math.min(onlyA, onlyB)));
}

/**
 * Two-sided paired sign-flip (permutation) test of the mean of `differences`, one number per task.
 * Exact while at most `signFlipExactLimit` differences are not zero; otherwise `draws` random assignments from `random`,
 * the observed one counted in, so that p is never 0.
 *
 * Source: R. A. Fisher, The Design of Experiments (1935), section 21; B. Phipson and G. Smyth, "Permutation p-values
 * should never be zero", Stat. Appl. Genet. Mol. Biol. 9 (2010), 39.
 */
export function signFlipTest(differences: readonly number[], random: Random, draws = signFlipDraws): number {
  const effective = differences.filter((difference) => difference !== 0);
  if (effective.length === 0) return 1;
  const observed = Math.abs(effective.reduce((sum, value) => sum + value, 0));
  const threshold = observed - 1e-9 * effective.reduce((sum, value) => sum + Math.abs(value), 0);
  if (effective.length <= signFlipExactLimit) {
    const assignments = 2 ** effective.length;
    let extreme = 0;
    for (let bits = 0; bits < assignments; bits += 1) {
      let sum = 0;
      for (let i = 0; i < effective.length; i += 1) {
        const value = effective[i] ?? 0;
        sum += (bits >> i) & 1 ? value : -value;
      }
      if (Math.abs(sum) >= threshold) extreme += 1;
    }
    return extreme / assignments;
  }
  let extreme = 1;
  for (let draw = 0; draw < draws; draw += 1) {
    let sum = 0;
    for (const value of effective) sum += random() < 0.5 ? value : -value;
    if (Math.abs(sum) >= threshold) extreme += 1;
  }
  return extreme / (draws + 1);
}

/** Counts of one stratum (a category) for two rows without per-task data on at least one side. */
export interface CountStratum {
  a: number;
  b: number;
  total: number;
}

/**
 * Smallest and largest McNemar p-value that published counts allow. Within each stratum the tasks that both sides
 * resolve number between `max(0, a + b - total)` (least favourable: most discordant tasks, largest p) and `min(a, b)`
 * (nested, most favourable: smallest p); p grows with the number shared out of reach, so the ends bound every pairing.
 *
 * @throws RangeError on counts outside their totals.
 */
export function mcnemarBounds(strata: readonly CountStratum[]): { smallest: number; largest: number } {
  let nestedA = 0;
  let nestedB = 0;
  let apartA = 0;
  let apartB = 0;
  for (const { a, b, total } of strata) {
    if (a < 0 || b < 0 || a > total || b > total) {
      throw new RangeError(`mcnemarBounds: counts ${a} and ${b} do not fit a stratum of ${total}`);
    }
    const most = Math.min(a, b);
    const fewest = Math.max(0, a + b - total);
    nestedA += a - most;
    nestedB += b - most;
    apartA += a - fewest;
    apartB += b - fewest;
  }
  return { smallest: mcnemarExact(nestedA, nestedB), largest: mcnemarExact(apartA, apartB) };
}

/**
 * Tasks that one side must win, none lost, for exact McNemar to reach `level` after Holm's first step over `pairs`
 * pairs: the smallest d with 2 * 2^-d <= level / pairs.
 */
export function winsNeeded(pairs: number, level = significanceLevel): number {
  let wins = 1;
  while (2 ** (1 - wins) > level / Math.max(1, pairs)) wins += 1;
  return wins;
}
