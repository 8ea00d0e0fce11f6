import type { SubmissionDetail } from "@/lib/contract/api";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";
import { prepareRepeats } from "./entry-repeats";

/** Address of a suite's board under a submission's condition. */
export function boardHrefOf(submission: Pick<SubmissionDetail, "suite" | "candidate">): string {
  const query = new URLSearchParams({ suite: submission.suite.slug, version: submission.suite.version });
  if (submission.candidate.promptCondition !== "interface")
    query.set("condition", submission.candidate.promptCondition);
  if (submission.candidate.skill) query.set("skill", submission.candidate.skill.name);
  return `/?${query}`;
}

/** A submission's attempts by task. */
function attemptsByTask({ attempts }: SubmissionDetail): Map<string, SubmissionDetail["attempts"]> {
  const byTask = new Map<string, SubmissionDetail["attempts"]>();
  for (const attempt of attempts) byTask.set(attempt.task, [...(byTask.get(attempt.task) ?? []), attempt]);
  return byTask;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Bootstrap interval over tasks of `% passed`, in per cent; null without per-task data. */
export function passedInterval(submission: SubmissionDetail): [number, number] | null {
  const byTask = attemptsByTask(submission);
  const shares = submission.row.tasks?.map(({ task }) => {
    const passed = (byTask.get(task) ?? []).map(({ grading }) =>
      grading && grading.summary.requiredTotal > 0
        ? (100 * grading.summary.requiredPassed) / grading.summary.requiredTotal
        : 0,
    );
    return passed.length > 0 ? mean(passed) : 0;
  });
  if (!shares || shares.length < 2) return null;
  return bootstrapInterval(shares, mean, seededRandom(boardSeed));
}

/**
 * Means of pass@k and pass^k over the suite's tasks, in per cent, for the largest k that every attempted task allows;
 * null where a task has a single attempt.
 */
export function severalAttempts(submission: SubmissionDetail): { k: number; passAt: number; passHat: number } | null {
  const tasks = [...attemptsByTask(submission).values()].map((attempts) => ({
    attempts: attempts.length,
    resolved: attempts.filter(({ grading }) => grading?.summary.resolved).length,
  }));
  const last = prepareRepeats(tasks, submission.row.resolved.total)?.byK.at(-1);
  return last ? { k: last.k, passAt: last.passAt.pct, passHat: last.passHat.pct } : null;
}
