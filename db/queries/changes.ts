import type { SqlRunner } from "./queue";

export interface Change {
  /** `published`, `graded`, or a log record's type. */
  kind: "published" | "graded" | "regrade" | "invalidation";
  /** RFC 3339. */
  at: string;
  submissionId: string;
  model: string;
  agent: string | null;
  suite: string;
  suiteVersion: string;
  suiteTitle: string;
  /** Gradings that `graded` sums up, else 1. */
  count: number;
  /** Log index of a regrade or invalidation. */
  position: number | null;
  reason: string | null;
  resolvedPct: number | null;
  taskCount: number | null;
}

/**
 * What changed of published submissions, newest first: each one's publication, the gradings that the log recorded of it
 * summed up at the time of the last, and every regrade and invalidation. Withdrawn submissions are left out.
 */
export async function listChanges(sql: SqlRunner, limit: number): Promise<Change[]> {
  const rows = await sql<(Omit<Change, "at" | "position"> & { at: Date; position: string | null })[]>`
    with shown as (
      select submission.id, submission.published_at, entry.model, entry.agent, suite.slug, suite.version, suite.title
      from submission
      join entry on entry.id = submission.entry_id
      join suite on suite.id = submission.suite_id
      where submission.published_at is not null and submission.withdrawn_at is null
    ),
    event as (
      select kind, created_at, position, grading_id,
             convert_from(record, 'UTF8')::jsonb as record
      from log_record where kind in ('regrade', 'invalidation')
    ),
    change as (
      select 'published' as kind, published_at as at, id as submission_id, 1 as count, null::bigint as position,
             null as reason
      from shown
      union all
      select 'graded', max(log_record.created_at), attempt.submission_id, count(*)::int, null, null
      from log_record
      join grading on grading.id = log_record.grading_id
      join attempt on attempt.id = grading.attempt_id
      where log_record.kind = 'bundle' and not grading.late
      group by attempt.submission_id
      union all
      select 'regrade', created_at, (record ->> 'subject')::uuid, 1, position, record ->> 'reason'
      from event where kind = 'regrade'
      union all
      select 'invalidation', event.created_at, attempt.submission_id, 1, event.position, event.record ->> 'reason'
      from event
      join grading on grading.id = (event.record ->> 'subject')::uuid
      join attempt on attempt.id = grading.attempt_id
      where event.kind = 'invalidation'
    )
    select change.kind, change.at, change.submission_id as "submissionId", change.count, change.position, change.reason,
           shown.model, shown.agent, shown.slug as suite, shown.version as "suiteVersion", shown.title as "suiteTitle",
           summary.resolved_pct as "resolvedPct", summary.task_count as "taskCount"
    from change
    join shown on shown.id = change.submission_id
    left join submission_summary summary on summary.submission_id = shown.id
    order by change.at desc, change.position desc nulls last, change.submission_id, change.kind
    limit ${limit}`;
  return rows.map((row) => ({
    ...row,
    at: row.at.toISOString(),
    position: row.position === null ? null : Number(row.position),
  }));
}

/** The newest published submission of an entry, on whichever suite. Null where there is none. */
export async function findEntrySubmission(sql: SqlRunner, entrySlug: string): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select submission.id
    from submission join entry on entry.id = submission.entry_id
    where entry.slug = ${entrySlug} and submission.published_at is not null and submission.withdrawn_at is null
    order by submission.published_at desc, submission.id
    limit 1`;
  return row?.id ?? null;
}
