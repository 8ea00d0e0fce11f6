import type { SqlRunner } from "./queue";

/**
 * Chooses the grading that counts of each of a submission's attempts and recomputes its rows of `attempt_summary`,
 * `submission_summary` and `submission_category_summary`. Call it in the transaction that touched a grading or a job;
 * calls for one submission queue on its row.
 *
 * What counts: neither late nor invalidated nor canceled; one that says something about the candidate before one that
 * ended in a fault of the host; then the highest tier, then the newest. Of self-made bundles of one patch the first one
 * counts, so that nobody grades again until a flaky test passes. Verified gradings by trusted hosts of two
 * operators that agree in every outcome make an attempt `reproduced`.
 */
export async function recomputeSubmission(tx: SqlRunner, submissionId: string): Promise<void> {
  const [submission] = await tx<{ suiteId: number; taskCount: number; reported: boolean }[]>`
    select submission.suite_id as "suiteId", suite.task_count as "taskCount",
           submission.source_id is not null as reported
    from submission join suite on suite.id = submission.suite_id
    where submission.id = ${submissionId}
    for update of submission`;
  if (!submission) throw new Error(`submission ${submissionId} does not exist`);
  if (submission.reported) return;

  await tx`delete from attempt_summary where submission_id = ${submissionId}`;
  await tx`
    with countable as (
      select grading.*, attempt.task_id, host.organization_id,
             (grading.status <> 'infra') as judged,
             array_position(array['reported', 'signed', 'verified', 'reproduced'], grading.tier) as strength
      from grading
      join attempt on attempt.id = grading.attempt_id
      left join host on host.id = grading.host_id
      where attempt.submission_id = ${submissionId}
        and not grading.late and grading.invalidated_at is null and grading.status <> 'canceled'
    ),
    chosen as (
      select distinct on (attempt_id) * from countable
      order by attempt_id, judged desc, strength desc, lease_id is null,
               case when lease_id is null then received_at end, received_at desc, id
    ),
    agreed as (
      select chosen.id
      from chosen
      where chosen.tier = 'verified' and chosen.judged and exists (
        select 1 from countable other
        where other.attempt_id = chosen.attempt_id and other.tier = 'verified'
          and other.organization_id <> chosen.organization_id and other.status = chosen.status
          and not exists (
            (select test_id, status from outcome where grading_id = chosen.id
             except select test_id, status from outcome where grading_id = other.id)
            union all
            (select test_id, status from outcome where grading_id = other.id
             except select test_id, status from outcome where grading_id = chosen.id)
          )
      )
    )
    insert into attempt_summary (attempt_id, submission_id, task_id, grading_id, tier, status, verdict, required_total,
                                 required_passed, official_total, official_passed, resolved, official_resolved)
    select attempt_id, ${submissionId}, task_id, id,
           case when id in (select id from agreed) then 'reproduced' else tier end,
           status,
           case when not judged then 'missing'
                when resolved then 'resolved'
                when official_resolved then 'probe-rejected'
                else 'failed' end,
           required_total, required_passed, official_total, official_passed, resolved, official_resolved
    from chosen`;

  await tx`delete from submission_category_summary where submission_id = ${submissionId}`;
  await tx`delete from submission_summary where submission_id = ${submissionId}`;
  await tx`
    with per_task as (
      select task.id, task.category,
             avg(coalesce(attempt_summary.resolved::int, 0))::float8 as resolved,
             avg(coalesce(attempt_summary.official_resolved::int, 0))::float8 as official_resolved,
             avg(case when attempt_summary.required_total > 0
                      then attempt_summary.required_passed::float8 / attempt_summary.required_total else 0 end) as passed,
             bool_or(coalesce(attempt_summary.verdict <> 'missing', false)) as judged
      from attempt
      join task on task.id = attempt.task_id
      left join attempt_summary on attempt_summary.attempt_id = attempt.id
      where attempt.submission_id = ${submissionId}
      group by task.id, task.category
    ),
    run_per_task as (
      select task_id, avg(time_min) as time_min, avg(cost_usd) as cost_usd, avg(steps)::float8 as steps,
             avg(case when input_tokens is null and cache_read_tokens is null and cache_write_tokens is null
                        and output_tokens is null and reasoning_tokens is null then null
                      else coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
                         + coalesce(output_tokens, 0) + coalesce(reasoning_tokens, 0) end)::float8 / 1e6 as tokens_m
      from attempt where submission_id = ${submissionId}
      group by task_id
    ),
    run as (
      select avg(time_min) as time_min, avg(cost_usd) as cost_usd, avg(steps) as steps, avg(tokens_m) as tokens_m
      from run_per_task
    ),
    probes as (
      select count(*) filter (where official_resolved and not resolved) as rejected,
             count(*) filter (where official_resolved) as official_resolved,
             min(array_position(array['reported', 'signed', 'verified', 'reproduced'], tier)) as weakest,
             bool_or(status = 'infra') as infra
      from attempt_summary where submission_id = ${submissionId}
    )
    insert into submission_summary (submission_id, tier, task_count, graded_count, resolved_count, resolved_pct,
                                    official_resolved_count, probe_rejected_count, official_resolved_attempts,
                                    passed_pct, time_min, cost_usd, tokens_m, steps, provisional, updated_at)
    select ${submissionId},
           (array['reported', 'signed', 'verified', 'reproduced'])[probes.weakest],
           ${submission.taskCount}::int,
           (select count(*) from per_task where judged),
           (select coalesce(sum(resolved), 0) from per_task),
           100 * (select coalesce(sum(resolved), 0) from per_task) / ${submission.taskCount}::int,
           (select coalesce(sum(official_resolved), 0) from per_task),
           probes.rejected, probes.official_resolved,
           100 * (select coalesce(sum(passed), 0) from per_task) / ${submission.taskCount}::int,
           run.time_min, run.cost_usd, run.tokens_m, run.steps,
           probes.infra or exists (
             select 1 from job join attempt on attempt.id = job.attempt_id
             where attempt.submission_id = ${submissionId} and job.state not in ('finished', 'lost')
           ) or exists (
             select 1
             from attempt
             join lateral (
               select state, finish_status from job where job.attempt_id = attempt.id
               order by created_at desc, id desc limit 1
             ) newest on newest.state = 'lost' or newest.finish_status = 'infra'
             where attempt.submission_id = ${submissionId} and not exists (
               select 1 from attempt_summary
               where attempt_summary.attempt_id = attempt.id and attempt_summary.verdict <> 'missing'
             )
           ),
           now()
    from probes cross join run
    where probes.weakest is not null`;
  await tx`
    insert into submission_category_summary (submission_id, category, task_count, resolved_count,
                                             official_resolved_count)
    select ${submissionId}, task.category, count(*), coalesce(sum(scores.resolved), 0),
           coalesce(sum(scores.official_resolved), 0)
    from task
    left join (
      select attempt.task_id, avg(coalesce(resolved::int, 0))::float8 as resolved,
             avg(coalesce(official_resolved::int, 0))::float8 as official_resolved
      from attempt left join attempt_summary on attempt_summary.attempt_id = attempt.id
      where attempt.submission_id = ${submissionId}
      group by attempt.task_id
    ) scores on scores.task_id = task.id
    where task.suite_id = ${submission.suiteId}
      and exists (select 1 from submission_summary where submission_id = ${submissionId})
    group by task.category`;
}

/** Submissions that hold a grading signed by the key, in the order in which they may be locked. */
export async function listSubmissionsOfKey(sql: SqlRunner, keyid: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select distinct attempt.submission_id as id
    from grading join attempt on attempt.id = grading.attempt_id
    where grading.keyid = ${keyid}
    order by id`;
  return rows.map((row) => row.id);
}
