/** Entries below which a correlation says nothing: two points always lie on a line. */
export const discriminationEntries = 3;

/**
 * Item-rest correlation of one task: Pearson's correlation over entries of the task's score (0 to 1) with the entry's
 * mean over all other tasks. Near 1: strong entries resolve it and weak ones do not. Near 0: it tells them not apart.
 * Null with fewer than three entries, or where one of the two does not vary.
 *
 * Source: S. Henrysson, "Correction of item-total correlations in item analysis", Psychometrika 28 (1963), 211-218.
 */
export function itemRestCorrelation(item: readonly number[], rest: readonly number[]): number | null {
  const count = item.length;
  if (count !== rest.length) throw new RangeError(`itemRestCorrelation: ${count} scores, ${rest.length} rests`);
  if (count < discriminationEntries) return null;
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / count;
  const itemMean = mean(item);
  const restMean = mean(rest);
  let both = 0;
  let itemSquares = 0;
  let restSquares = 0;
  for (const [index, score] of item.entries()) {
    const a = score - itemMean;
    const b = (rest[index] ?? 0) - restMean;
    both += a * b;
    itemSquares += a * a;
    restSquares += b * b;
  }
  // sums of equal fractions may differ in their last digits
  if (itemSquares < 1e-12 || restSquares < 1e-12) return null;
  return Math.max(-1, Math.min(1, both / Math.sqrt(itemSquares * restSquares)));
}
