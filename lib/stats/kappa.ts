import { normalQuantile } from "./intervals";

/** How often two raters gave one item this pair of categories. */
export type RatingCount = { first: string; second: string; count: number };

export type Agreement = {
  /** Items that both rated. */
  n: number;
  /** Share of the items on which they agree; null without items. */
  observed: number | null;
  /** Share that their own frequencies alone would give; null without items. */
  expected: number | null;
  /** Cohen's kappa; null without items, and where both gave everything one category, so that nothing is left to chance. */
  kappa: number | null;
  /** Large-sample 95 % interval, cut at -1 and 1; null where it says nothing (see `cohenKappa`). */
  interval: [number, number] | null;
};

/** Below so many items the large-sample error is not to be trusted. */
export const leastItemsForInterval = 10;

/**
 * Agreement of two raters over nominal categories, corrected for chance: (observed - expected) / (1 - expected).
 *
 * The standard error is the one for a kappa that need not be 0 (J. L. Fleiss, J. Cohen, B. S. Everitt, "Large sample
 * standard errors of kappa and weighted kappa", Psychological Bulletin 72 (1969), 323-327). It is 0 where the raters
 * agree, or differ, throughout, and where one of them gave everything one category; no interval is given there, nor below `leastItemsForInterval` items.
 * Kappa: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960),
 * 37-46.
 *
 * @throws RangeError where a count is no whole number from 0 on.
 */
export function cohenKappa(counts: readonly RatingCount[], z = normalQuantile): Agreement {
  for (const { count } of counts)
    if (!Number.isInteger(count) || count < 0)
      throw new RangeError(`cohenKappa: expected counts from 0 on; got ${count}`);
  const n = counts.reduce((sum, { count }) => sum + count, 0);
  if (n === 0) return { n, observed: null, expected: null, kappa: null, interval: null };
  const rows = new Map<string, number>();
  const columns = new Map<string, number>();
  for (const { first, second, count } of counts) {
    rows.set(first, (rows.get(first) ?? 0) + count / n);
    columns.set(second, (columns.get(second) ?? 0) + count / n);
  }
  const row = (category: string) => rows.get(category) ?? 0;
  const column = (category: string) => columns.get(category) ?? 0;
  const observed = counts.reduce((sum, { first, second, count }) => sum + (first === second ? count / n : 0), 0);
  const expected = [...rows].reduce((sum, [category, share]) => sum + share * column(category), 0);
  // Shares are sums of rounded quotients: what differs from 1 by rounding alone is 1.
  if (1 - expected < 1e-12) return { n, observed, expected, kappa: null, interval: null };
  const kappa = (observed - expected) / (1 - expected);
  const rest = 1 - kappa;
  let spread = 0;
  for (const { first, second, count } of counts) {
    const share = count / n;
    spread +=
      first === second
        ? share * (1 - (row(first) + column(first)) * rest) ** 2
        : share * rest ** 2 * (column(first) + row(second)) ** 2;
  }
  // A difference of numbers about 1: what is left of it by rounding alone is nothing.
  const varied = spread - (kappa - expected * rest) ** 2;
  const telling = n >= leastItemsForInterval && varied > 1e-12;
  const error = telling ? Math.sqrt(varied / n) / (1 - expected) : 0;
  return {
    n,
    observed,
    expected,
    kappa,
    interval: telling ? [Math.max(-1, kappa - z * error), Math.min(1, kappa + z * error)] : null,
  };
}
