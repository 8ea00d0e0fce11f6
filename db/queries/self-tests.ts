import type { EntrySelfTestFacts } from "../../lib/contract/self-tests-api";
import type { Property } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";

export interface AttemptSelfTests {
  attemptId: string;
  rulesVersion: string;
  /** Null where the patch was not read. */
  found: { tests: number; assertions: number; checks: readonly Property[] } | null;
}

/** Keeps what was found, in the place of what was kept before; of a patch that was not read nothing is kept. */
export async function recordSelfTests(tx: SqlRunner, row: AttemptSelfTests): Promise<void> {
  const { attemptId, rulesVersion, found } = row;
  if (!found) {
    await tx`delete from attempt_self_test where attempt_id = ${attemptId}`;
    return;
  }
  await tx`
    insert into attempt_self_test (attempt_id, rules_version, tests, assertions, checks)
    values (${attemptId}, ${rulesVersion}, ${found.tests}, ${found.assertions}, ${[...found.checks]}::text[])
    on conflict (attempt_id) do update
    set rules_version = excluded.rules_version, tests = excluded.tests, assertions = excluded.assertions,
        checks = excluded.checks`;
}

/** The next attempts in the order of their ids, after the given one. */
export async function listAttemptPatches(
  sql: SqlRunner,
  params: { after: string | null; limit: number },
): Promise<{ id: string; patchSha256: string }[]> {
  return sql<{ id: string; patchSha256: string }[]>`
    select id, patch_sha256 as "patchSha256" from attempt
    ${params.after === null ? sql`` : sql`where id > ${params.after}`}
    order by id limit ${params.limit}`;
}

/**
 * Counts by entry, over each entry's newest published submission of its highest tier on every suite version: what
 * boards show. Models first, by name.
 */
export async function listSelfTestFacts(sql: SqlRunner): Promise<EntrySelfTestFacts[]> {
  return sql<EntrySelfTestFacts[]>`
    with shown as (
      select distinct on (submission.suite_id, submission.entry_id) submission.id, submission.entry_id
      from submission join submission_summary summary on summary.submission_id = submission.id
      where submission.published_at is not null and submission.withdrawn_at is null
      order by submission.suite_id, submission.entry_id,
               array_position(array['reported', 'signed', 'verified', 'reproduced'], summary.tier) desc,
               submission.published_at desc, submission.id desc
    ), tried as (
      select shown.entry_id, own.attempt_id, own.tests, own.assertions, own.checks
      from shown
      join attempt on attempt.submission_id = shown.id
      left join attempt_self_test own on own.attempt_id = attempt.id
    ), checked as (
      select entry_id, jsonb_object_agg(property, attempts) as checks
      from (
        select entry_id, property, count(*) as attempts
        from tried cross join unnest(tried.checks) as property
        group by entry_id, property
      ) each_property
      group by entry_id
    ), counted as (
      select entry_id, count(*)::int as attempts, count(attempt_id)::int as read, coalesce(sum(tests), 0)::int as tests,
             (count(*) filter (where tests > 0 or assertions > 0))::int as with_tests
      from tried group by entry_id
    )
    select jsonb_build_object('slug', entry.slug, 'kind', entry.kind, 'model', entry.model, 'agent', entry.agent,
                              'agentVersion', entry.agent_version, 'reasoningEffort', entry.reasoning_effort,
                              'networkPolicy', entry.network_policy, 'promptCondition', entry.prompt_condition,
                              'skill', entry.skill_name) as entry,
           counted.attempts, counted.read, counted.tests, counted.with_tests as "withTests",
           coalesce(checked.checks, '{}') as checks
    from counted
    join entry on entry.id = counted.entry_id
    left join checked on checked.entry_id = counted.entry_id
    order by entry.kind, entry.model, entry.slug`;
}
