/** Height of a strip, and the gap between two categories of it, in units of its view box. */
export const stripHeight = 14;
export const categoryGap = 7;

/** Cell width and gap by the number of tasks, so that a strip keeps to a column. */
export function cellSize(tasks: number): { width: number; gap: number } {
  if (tasks <= 16) return { width: 9, gap: 2 };
  if (tasks <= 45) return { width: 5, gap: 1 };
  return { width: 2, gap: 1 };
}

/** Where the cells of a strip stand: left edges in the groups' order, the width of one, and of the whole strip. */
interface StripPlaces {
  lefts: number[];
  width: number;
  total: number;
}

/** Places the cells of groups of these sizes. Lengths are in units of the strip's own view box. */
export function stripPlaces(groupSizes: readonly number[]): StripPlaces {
  const { width, gap } = cellSize(groupSizes.reduce((sum, size) => sum + size, 0));
  const lefts: number[] = [];
  let x = 0;
  for (const size of groupSizes) {
    for (let index = 0; index < size; index += 1) {
      lefts.push(x);
      x += width + gap;
    }
    x += categoryGap;
  }
  return { lefts, width, total: Math.max(1, x - categoryGap - gap) };
}
