import { holmAdjust } from "./holm";
import { significanceLevel } from "./paired-tests";

/** One pair of rows, by index, with the p-values that the data allow; equal where the data determine p. */
export interface PairEvidence {
  a: number;
  b: number;
  /** Positive where `a` resolves more. */
  difference: number;
  smallest: number;
  largest: number;
}

export type PairVerdict = "separated" | "not-separated" | "cannot-tell";

/**
 * Decides every pair of a board. Holm's adjustment is monotone in each p-value, so adjusting the largest p-values gives
 * the separations that hold under every pairing, and adjusting the smallest gives the pairs that hold under none;
 * between the two the counts do not tell.
 *
 * @returns per pair, in the order given: verdict, and the adjusted ends.
 */
export function decidePairs(
  pairs: readonly PairEvidence[],
  level = significanceLevel,
): { verdict: PairVerdict; adjustedSmallest: number; adjustedLargest: number }[] {
  const lower = holmAdjust(pairs.map((pair) => pair.smallest));
  const exact = pairs.every((pair) => pair.smallest === pair.largest);
  const upper = exact ? lower : holmAdjust(pairs.map((pair) => pair.largest));
  return pairs.map((pair, index) => {
    const adjustedSmallest = lower[index] ?? 1;
    const adjustedLargest = upper[index] ?? 1;
    const separated = pair.difference !== 0 && adjustedLargest <= level;
    const open = pair.difference !== 0 && adjustedSmallest <= level;
    return {
      verdict: separated ? "separated" : open ? "cannot-tell" : "not-separated",
      adjustedSmallest,
      adjustedLargest,
    };
  });
}

/**
 * Rank set of each of `count` rows: `[1 + rows significantly better, count - rows significantly worse]`.
 *
 * Source: confidence sets for ranks from pairwise tests, M. Mogstad et al., Review of Economic Studies 91 (2024), 476-518.
 */
export function rankSets(count: number, separations: readonly { better: number; worse: number }[]): [number, number][] {
  const better = new Array<number>(count).fill(0);
  const worse = new Array<number>(count).fill(0);
  for (const separation of separations) {
    better[separation.worse] = (better[separation.worse] ?? 0) + 1;
    worse[separation.better] = (worse[separation.better] ?? 0) + 1;
  }
  return Array.from({ length: count }, (_, row) => [1 + (better[row] ?? 0), count - (worse[row] ?? 0)]);
}
