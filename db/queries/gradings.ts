import type { GradingPlace } from "../../lib/contract/log-lines";
import type { ProbesVisibility, TestKind } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";

/** What a grading belongs to; null where there is none, or its submission was withdrawn. */
export async function findGradingPlace(sql: SqlRunner, gradingId: string): Promise<GradingPlace | null> {
  const [row] = await sql<
    {
      gradingId: string;
      submissionId: string;
      suite: string;
      version: string;
      suiteTitle: string;
      task: string;
      taskTitle: string;
      model: string;
    }[]
  >`
    select grading.id as "gradingId", submission.id as "submissionId", suite.slug as suite, suite.version,
           suite.title as "suiteTitle", task.slug as task, task.title as "taskTitle", entry.model
    from grading
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id
    join entry on entry.id = submission.entry_id
    join task on task.id = attempt.task_id
    join suite on suite.id = task.suite_id
    where grading.id = ${gradingId} and submission.withdrawn_at is null`;
  return row
    ? {
        gradingId: row.gradingId,
        submissionId: row.submissionId,
        suite: { slug: row.suite, version: row.version, title: row.suiteTitle },
        task: { slug: row.task, title: row.taskTitle },
        model: row.model,
      }
    : null;
}

/** Where to look for what stands behind a failing test: the patch, and the log of the rank that failed first. */
export interface FailureSource {
  submissionId: string;
  probes: ProbesVisibility;
  testId: string;
  kind: TestKind;
  message: string;
  patchSha256: string;
  patchBytes: number;
  launch: number | null;
  rank: number | null;
  logLine: number | null;
}

/**
 * The failure of a grading's test, by the test's number in the manifest, from 1. Null where the grading has no such
 * failure, or its submission was withdrawn.
 */
export async function findFailureSource(
  sql: SqlRunner,
  { gradingId, test }: { gradingId: string; test: number },
): Promise<FailureSource | null> {
  const [row] = await sql<FailureSource[]>`
    select submission.id as "submissionId", suite.probes, task_test.name as "testId", task_test.kind, failure.message,
           attempt.patch_sha256 as "patchSha256", attempt.patch_bytes as "patchBytes", rank_outcome.launch,
           rank_outcome.rank, rank_outcome.log_line as "logLine"
    from grading
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id
    join task on task.id = attempt.task_id
    join suite on suite.id = task.suite_id
    join task_test on task_test.task_id = task.id and task_test.position = ${test - 1}
    join failure on failure.grading_id = grading.id and failure.test_id = task_test.id
    left join rank_outcome on rank_outcome.grading_id = grading.id and rank_outcome.test_id = task_test.id
                              and rank_outcome.rank = failure.root_rank
    where grading.id = ${gradingId} and submission.withdrawn_at is null`;
  return row ?? null;
}
