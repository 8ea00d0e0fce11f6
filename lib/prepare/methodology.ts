import { bootstrapDraws } from "@/lib/stats/bootstrap";
import { discriminationEntries } from "@/lib/stats/discrimination";
import { confidenceLevel, normalQuantile } from "@/lib/stats/intervals";
import { signFlipDraws, signFlipExactLimit, significanceLevel, winsNeeded } from "@/lib/stats/paired-tests";
import { boardSeed } from "./board";

/** Every constant of the statistics, from the modules that use them. */
export const constants: readonly { name: string; value: string; use: string }[] = [
  {
    name: "Confidence level",
    value: String(confidenceLevel),
    use: "Wilson and bootstrap intervals",
  },
  { name: "Normal quantile", value: normalQuantile.toFixed(6), use: "Wilson intervals" },
  {
    name: "Significance level",
    value: String(significanceLevel),
    use: "pairs, after Holm’s adjustment over the board",
  },
  {
    name: "Sign flips enumerated up to",
    value: `${signFlipExactLimit} tasks with a difference`,
    use: "paired test where tasks have several attempts",
  },
  { name: "Sign flips drawn beyond", value: String(signFlipDraws), use: "the same test, seeded" },
  { name: "Bootstrap draws", value: String(bootstrapDraws), use: "means and pooled shares, over tasks" },
  {
    name: "Entries at least",
    value: String(discriminationEntries),
    use: "discrimination of a task: item-rest correlation over ranked entries",
  },
  { name: "Seed", value: String(boardSeed), use: "whatever is drawn: the same data give the same digits" },
];

/** Tasks to be won with none lost, for boards of some sizes. */
export const powerTable: readonly { entries: number; pairs: number; wins: number }[] = [2, 3, 4, 6, 10, 20].map(
  (entries) => {
    const pairs = (entries * (entries - 1)) / 2;
    return { entries, pairs, wins: winsNeeded(pairs) };
  },
);
