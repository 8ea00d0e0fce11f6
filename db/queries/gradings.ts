import type { GradingPlace } from "../../lib/contract/log-lines";
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
