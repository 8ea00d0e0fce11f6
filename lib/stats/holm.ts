/**
 * Holm's step-down adjustment: adjusted p-values in the order given, each at most 1 and monotone in the raw ones.
 * A hypothesis is rejected at a level exactly if its adjusted p-value is at or below it.
 *
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979), 65-70.
 */
export function holmAdjust(pValues: readonly number[]): number[] {
  const order = pValues.map((p, index) => ({ p, index })).sort((x, y) => x.p - y.p);
  const adjusted = new Array<number>(pValues.length).fill(1);
  let running = 0;
  order.forEach(({ p, index }, step) => {
    running = Math.max(running, Math.min(1, (pValues.length - step) * p));
    adjusted[index] = running;
  });
  return adjusted;
}
