import type { SubmissionDetail } from "@/lib/contract/api";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { passAtK, passHatK } from "@/lib/stats/pass-at-k";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";

/** Address of a suite's board under a submission's condition. */
export function boardHrefOf(submission: Pick<SubmissionDetail, "suite" | "candidate">): string {
  const query = new URLSearchParams({ suite: submission.suite.slug, version: submission.suite.version });
  if (submission.candidate.promptCondition !== "interface")
    query.set("condition", submission.candidate.promptCondition);
  if (submission.candidate.skill) query.set("skill", submission.candidate.skill.name);
  return `/?${query}`;
}

/** Bootstrap interval over tasks of `% passed`, in per cent; null without per-task data. */
export function passedInterval(submission: SubmissionDetail): [number, number] | null {
  const shares = submission.row.tasks?.map((task) =>
    task.requiredTotal ? (100 * (task.requiredPassed ?? 0)) / task.requiredTotal : 0,
  );
  if (!shares || shares.length < 2) return null;
  const mean = (sample: readonly number[]) => sample.reduce((sum, value) => sum + value, 0) / sample.length;
  return bootstrapInterval(shares, mean, seededRandom(boardSeed));
}

/**
 * Means of pass@k and pass^k over tasks, in per cent, for the largest k that every attempted task allows; null where a
 * task has a single attempt.
 */
export function severalAttempts(submission: SubmissionDetail): { k: number; passAt: number; passHat: number } | null {
  const byTask = new Map<string, { attempts: number; passed: number }>();
  for (const attempt of submission.attempts) {
    const counts = byTask.get(attempt.task) ?? { attempts: 0, passed: 0 };
    counts.attempts += 1;
    if (attempt.grading?.summary.resolved) counts.passed += 1;
    byTask.set(attempt.task, counts);
  }
  const tasks = [...byTask.values()];
  const k = Math.min(...tasks.map((task) => task.attempts));
  if (tasks.length === 0 || k < 2) return null;
  const mean = (of: (attempts: number, passed: number, k: number) => number) =>
    (100 * tasks.reduce((sum, task) => sum + of(task.attempts, task.passed, k), 0)) / tasks.length;
  return { k, passAt: mean(passAtK), passHat: mean(passHatK) };
}
