import type { BoardRow, Share } from "@/lib/contract/api";
import type { EntryFigure } from "@/lib/contract/entry-api";
import type { EntryAttemptFacts, EntryRunFacts } from "@/lib/contract/entry-facts";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { wilsonInterval } from "@/lib/stats/intervals";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

type Sampled = Pick<EntryFigure, "interval" | "method" | "tasks">;
const unsampled: Sampled = { interval: null, method: null, tasks: null };

/** Interval over tasks; a single task has no spread to draw from. */
function sampled<T>(units: readonly T[], statistic: (sample: readonly T[]) => number): Sampled {
  const interval = units.length > 1 ? bootstrapInterval(units, statistic, seededRandom(boardSeed)) : null;
  return { interval, method: interval && "bootstrap", tasks: units.length };
}

/** Interval of counts of yes and no: one attempt at each task. */
function counted(successes: number, of: number): Sampled {
  const [low, high] = wilsonInterval(successes, of);
  return { interval: [100 * low, 100 * high], method: "wilson", tasks: of };
}

/** A share's own Wilson interval; over tasks where it is a mean over attempts. */
function shareFigure(key: "resolved" | "official", share: Share, scores: readonly number[] | undefined): EntryFigure {
  if (share.interval) {
    return { key, value: share.pct, interval: share.interval, method: "wilson", tasks: share.total };
  }
  return { key, value: share.pct, ...(scores ? sampled(scores, (sample) => 100 * mean(sample)) : unsampled) };
}

/** A task's attempts: those that pass every official test, those of them that a probe rejects, and the share passed. */
function perTask(attempts: readonly EntryAttemptFacts[]) {
  const gradings = attempts.map(({ grading }) => grading);
  return {
    official: gradings.filter((grading) => grading?.officialResolved).length,
    rejected: gradings.filter((grading) => grading?.officialResolved && !grading.resolved).length,
    passed:
      attempts.length > 0
        ? mean(gradings.map((one) => (one && one.requiredTotal > 0 ? one.requiredPassed / one.requiredTotal : 0)))
        : 0,
  };
}

/** Per-task means of what the agent's runs took, for the tasks of which some attempt states it. */
function runMeans(
  groups: readonly (readonly EntryAttemptFacts[])[],
  of: (attempt: EntryAttemptFacts) => number | null,
): number[] {
  return groups.flatMap((attempts) => {
    const stated = attempts.flatMap((attempt) => of(attempt) ?? []);
    return stated.length > 0 ? [mean(stated)] : [];
  });
}

/**
 * The figures of a row that its source states, each with a 95 % interval: Wilson for counts of yes and no; a seeded
 * bootstrap over tasks for means and pooled shares, where `run` has per-task data.
 */
export function prepareFigures(row: BoardRow, run: EntryRunFacts | null): EntryFigure[] {
  const groups = run?.tasks.map(({ slug }) => run.attempts.filter(({ task }) => task === slug)) ?? null;
  const tasks = groups?.map(perTask) ?? null;
  const cells = row.tasks;
  const figures: EntryFigure[] = [
    shareFigure(
      "resolved",
      row.resolved,
      cells?.map(({ score }) => score),
    ),
  ];
  if (row.officialResolved) {
    figures.push(
      shareFigure(
        "official",
        row.officialResolved,
        cells?.map(({ officialScore }) => officialScore),
      ),
    );
  }
  if (row.probeRejected && row.probeRejected.officialResolved > 0) {
    const { rejected, officialResolved } = row.probeRejected;
    const pooled = (sample: NonNullable<typeof tasks>) =>
      (100 * total(sample.map((task) => task.rejected))) / total(sample.map((task) => task.official));
    const isCounted = groups?.every((attempts) => attempts.length < 2) ?? true;
    figures.push({
      key: "rejected",
      value: (100 * rejected) / officialResolved,
      ...(isCounted || !tasks ? counted(rejected, officialResolved) : sampled(tasks, (sample) => pooled([...sample]))),
    });
  }
  if (row.passedPct !== null) {
    figures.push({
      key: "passed",
      value: row.passedPct,
      ...(tasks ? sampled(tasks, (sample) => 100 * mean(sample.map(({ passed }) => passed))) : unsampled),
    });
  }
  const runs = [
    ["time", row.timeMin, (attempt: EntryAttemptFacts) => attempt.timeMin],
    ["cost", row.costUsd, (attempt: EntryAttemptFacts) => attempt.costUsd],
    ["tokens", row.tokensM, (attempt: EntryAttemptFacts) => attempt.tokensM],
    ["steps", row.steps, (attempt: EntryAttemptFacts) => attempt.steps],
  ] as const;
  for (const [key, value, of] of runs) {
    if (value === null) continue;
    figures.push({ key, value, ...(groups ? sampled(runMeans(groups, of), mean) : unsampled) });
  }
  return figures;
}
