/** Share of intervals that cover the truth in the long run, and the two-sided normal quantile that belongs to it. */
export const confidenceLevel = 0.95;
export const normalQuantile = 1.959963984540054;

/**
 * Wilson score interval of a proportion, as fractions `[low, high]` of 1.
 *
 * Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212;
 * recommended for small n by Brown, Cai and DasGupta, Statistical Science 16 (2001), 101-133.
 *
 * @throws RangeError unless 0 <= successes <= total and total >= 1 are integers.
 */
export function wilsonInterval(successes: number, total: number, z = normalQuantile): [number, number] {
  if (!Number.isInteger(successes) || !Number.isInteger(total) || total < 1 || successes < 0 || successes > total) {
    throw new RangeError(
      `wilsonInterval: expected integers 0 <= successes <= total, total >= 1; got ${successes}/${total}`,
    );
  }
  const p = successes / total;
  const z2 = z * z;
  const denominator = 1 + z2 / total;
  const centre = (p + z2 / (2 * total)) / denominator;
  const half = (z / denominator) * Math.sqrt((p * (1 - p)) / total + z2 / (4 * total * total));
  return [successes === 0 ? 0 : Math.max(0, centre - half), successes === total ? 1 : Math.min(1, centre + half)];
}
