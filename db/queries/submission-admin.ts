import type { SqlRunner } from "./queue";

export interface SubmissionListRow {
  id: string;
  suite: string;
  version: string;
  entry: string;
  organization: string;
  tier: string | null;
  attempts: number;
  openJobs: number;
  createdAt: Date;
  publishedAt: Date | null;
  withdrawnAt: Date | null;
}

export async function listSubmissions(sql: SqlRunner): Promise<SubmissionListRow[]> {
  return sql<SubmissionListRow[]>`
    select submission.id, suite.slug as suite, suite.version, entry.slug as entry, organization.slug as organization,
           submission_summary.tier,
           (select count(*)::int from attempt where attempt.submission_id = submission.id) as attempts,
           (select count(*)::int from job join attempt on attempt.id = job.attempt_id
            where attempt.submission_id = submission.id and job.state not in ('finished', 'lost')) as "openJobs",
           submission.created_at as "createdAt", submission.published_at as "publishedAt",
           submission.withdrawn_at as "withdrawnAt"
    from submission
    join suite on suite.id = submission.suite_id
    join entry on entry.id = submission.entry_id
    join organization on organization.id = submission.organization_id
    left join submission_summary on submission_summary.submission_id = submission.id
    order by submission.created_at desc
    limit 500`;
}

export interface KnownSubmission {
  id: string;
  attempts: { id: string; task: string; patchSha256: string; jobs: number }[];
}

/** The newest submission of an entry to a suite that was not withdrawn, with its attempts. */
export async function findNewestSubmission(
  sql: SqlRunner,
  params: { suiteId: number; entryId: number },
): Promise<KnownSubmission | null> {
  const [submission] = await sql<{ id: string }[]>`
    select id from submission
    where suite_id = ${params.suiteId} and entry_id = ${params.entryId} and withdrawn_at is null
    order by created_at desc limit 1`;
  if (!submission) return null;
  const attempts = await sql<KnownSubmission["attempts"]>`
    select attempt.id, task.slug as task, attempt.patch_sha256 as "patchSha256",
           (select count(*)::int from job where job.attempt_id = attempt.id) as jobs
    from attempt join task on task.id = attempt.task_id
    where attempt.submission_id = ${submission.id}`;
  return { id: submission.id, attempts: [...attempts] };
}

/** Attempts of a submission, of one task where it is named. Null where there is no such submission. */
export async function listAttemptIds(
  sql: SqlRunner,
  params: { submissionId: string; task: string | null },
): Promise<string[] | null> {
  const [submission] = await sql`select id from submission where id = ${params.submissionId}`;
  if (!submission) return null;
  const rows = await sql<{ id: string }[]>`
    select attempt.id from attempt join task on task.id = attempt.task_id
    where attempt.submission_id = ${params.submissionId}
      and (${params.task}::text is null or task.slug = ${params.task})`;
  return rows.map((row) => row.id);
}

/** Publishes a submission. Answers how many of its suite's tasks it attempts; null where there is no such submission. */
export async function publishSubmission(
  tx: SqlRunner,
  id: string,
): Promise<{ attempted: number; tasks: number } | null> {
  const [row] = await tx<{ attempted: number; tasks: number }[]>`
    update submission set published_at = coalesce(published_at, now()) where id = ${id} and withdrawn_at is null
    returning (select count(distinct task_id)::int from attempt where submission_id = submission.id) as attempted,
              (select count(*)::int from task where task.suite_id = submission.suite_id) as tasks`;
  return row ?? null;
}

export async function withdrawSubmission(tx: SqlRunner, id: string): Promise<boolean> {
  const rows = await tx`
    update submission set withdrawn_at = coalesce(withdrawn_at, now()) where id = ${id} returning id`;
  return rows.length > 0;
}

/** Takes a grading out of the scoring. Answers its submission, or null where there is no such grading. */
export async function invalidateGrading(tx: SqlRunner, id: string): Promise<string | null> {
  const [row] = await tx<{ submissionId: string }[]>`
    update grading set invalidated_at = coalesce(invalidated_at, now())
    from attempt where attempt.id = grading.attempt_id and grading.id = ${id}
    returning attempt.submission_id as "submissionId"`;
  return row?.submissionId ?? null;
}

/** Takes every grading that a compromised key signed since a time out of the scoring. */
export async function invalidateGradingsOfKey(
  tx: SqlRunner,
  params: { keyid: string; since: Date },
): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update grading set invalidated_at = now()
    where keyid = ${params.keyid} and received_at >= ${params.since} and invalidated_at is null
    returning id`;
  return rows.map((row) => row.id);
}
