/** Where the last `size` entries of `total` begin; entries count from 1. */
export const lastRange = (total: number, size: number): number => Math.max(1, total - size + 1);

/**
 * First entries of the ranges of `size` before and after one that begins at `from`, of the first and of the last; null
 * where there is none.
 */
export function rangesAround({ from, total, size }: { from: number; total: number; size: number }) {
  const more = from + size <= total;
  return {
    first: from > 1 ? 1 : null,
    previous: from > 1 ? Math.max(1, from - size) : null,
    next: more ? from + size : null,
    last: more ? lastRange(total, size) : null,
  };
}
