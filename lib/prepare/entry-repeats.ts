import type { EntryStanding } from "@/lib/contract/entry-api";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { passAtK, passHatK } from "@/lib/stats/pass-at-k";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";

/** How many attempts at a task there are, and how many resolve it. */
export interface TaskTries {
  attempts: number;
  resolved: number;
}

/**
 * Means over the suite's tasks of pass@k and pass^k, in per cent with seeded bootstrap intervals over tasks, for each k up
 * to the fewest attempts that an attempted task has. A task that was not attempted is resolved by no draw, so pass@1 is
 * `% resolved`. Null where a task has a single attempt: then there is nothing but pass@1.
 */
export function prepareRepeats(tasks: readonly TaskTries[], taskCount: number): EntryStanding["repeats"] {
  const tried = tasks.filter(({ attempts }) => attempts > 0);
  const fewest = Math.min(...tried.map(({ attempts }) => attempts));
  if (tried.length === 0 || fewest < 2 || taskCount < 1) return null;
  const untried = new Array<number>(Math.max(0, taskCount - tried.length)).fill(0);
  const share = (of: (attempts: number, resolved: number, k: number) => number, k: number) => {
    const perTask = [...tried.map(({ attempts, resolved }) => 100 * of(attempts, resolved, k)), ...untried];
    const mean = (sample: readonly number[]) => sample.reduce((sum, value) => sum + value, 0) / sample.length;
    return { pct: mean(perTask), interval: bootstrapInterval(perTask, mean, seededRandom(boardSeed)) };
  };
  return {
    fewest,
    most: Math.max(...tried.map(({ attempts }) => attempts)),
    byK: Array.from({ length: fewest }, (_, index) => ({
      k: index + 1,
      passAt: share(passAtK, index + 1),
      passHat: share(passHatK, index + 1),
    })),
  };
}
