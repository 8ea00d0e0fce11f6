import type { EntrySelfTestFacts } from "../../lib/contract/self-tests-api";
import type { Property } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";

/** Keeps what the tests check that a patch adds, in the place of what was kept before; null where it was not read. */
export async function recordPatchChecks(
  tx: SqlRunner,
  row: {
    attemptId: string;
    rulesVersion: string;
    found: { tests: number; assertions: number; checks: readonly Property[] } | null;
  },
): Promise<void> {
  const { attemptId, rulesVersion, found } = row;
  const checks = found && [...found.checks];
  await tx`
    insert into attempt_self_test (attempt_id, rules_version, tests, assertions, checks)
    values (${attemptId}, ${rulesVersion}, ${found?.tests ?? null}, ${found?.assertions ?? null}, ${checks}::text[])
    on conflict (attempt_id) do update
    set rules_version = excluded.rules_version, tests = excluded.tests, assertions = excluded.assertions,
        checks = excluded.checks`;
  await dropUnread(tx, attemptId);
}

/** Keeps what the commands of a trajectory check, in the place of what was kept before; null where it was not read. */
export async function recordCommandChecks(
  tx: SqlRunner,
  row: {
    attemptId: string;
    rulesVersion: string;
    found: { commands: number; testRuns: number; checks: readonly Property[] } | null;
  },
): Promise<void> {
  const { attemptId, rulesVersion, found } = row;
  const checks = found && [...found.checks];
  await tx`
    insert into attempt_self_test (attempt_id, rules_version, commands, test_runs, command_checks)
    values (${attemptId}, ${rulesVersion}, ${found?.commands ?? null}, ${found?.testRuns ?? null}, ${checks}::text[])
    on conflict (attempt_id) do update
    set rules_version = excluded.rules_version, commands = excluded.commands, test_runs = excluded.test_runs,
        command_checks = excluded.command_checks`;
  await dropUnread(tx, attemptId);
}

async function dropUnread(tx: SqlRunner, attemptId: string): Promise<void> {
  await tx`delete from attempt_self_test where attempt_id = ${attemptId} and tests is null and commands is null`;
}

export interface AttemptSources {
  id: string;
  patchSha256: string;
  /** Null where none came with the attempt. */
  trajectorySha256: string | null;
}

/** The next attempts in the order of their ids, after the given one. */
export async function listAttemptSources(
  sql: SqlRunner,
  params: { after: string | null; limit: number },
): Promise<AttemptSources[]> {
  return sql<AttemptSources[]>`
    select attempt.id, patch_sha256 as "patchSha256", trajectory.sha256 as "trajectorySha256"
    from attempt left join attempt_trajectory trajectory on trajectory.attempt_id = attempt.id
    ${params.after === null ? sql`` : sql`where attempt.id > ${params.after}`}
    order by attempt.id limit ${params.limit}`;
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
      select shown.entry_id, own.tests, own.assertions, own.checks, own.commands, own.test_runs, own.command_checks
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
    ), commanded as (
      select entry_id, jsonb_object_agg(property, attempts) as checks
      from (
        select entry_id, property, count(*) as attempts
        from tried cross join unnest(tried.command_checks) as property
        group by entry_id, property
      ) each_property
      group by entry_id
    ), counted as (
      select entry_id, count(*)::int as attempts, count(tests)::int as read, coalesce(sum(tests), 0)::int as tests,
             (count(*) filter (where tests > 0 or assertions > 0))::int as with_tests,
             count(commands)::int as trajectories, coalesce(sum(commands), 0)::int as commands,
             (count(*) filter (where test_runs > 0))::int as with_test_runs
      from tried group by entry_id
    )
    select jsonb_build_object('slug', entry.slug, 'kind', entry.kind, 'model', entry.model, 'agent', entry.agent,
                              'agentVersion', entry.agent_version, 'reasoningEffort', entry.reasoning_effort,
                              'networkPolicy', entry.network_policy, 'promptCondition', entry.prompt_condition,
                              'skill', entry.skill_name) as entry,
           counted.attempts, counted.read, counted.tests, counted.with_tests as "withTests",
           coalesce(checked.checks, '{}') as checks,
           counted.trajectories, counted.commands, counted.with_test_runs as "withTestRuns",
           coalesce(commanded.checks, '{}') as "commandChecks"
    from counted
    join entry on entry.id = counted.entry_id
    left join checked on checked.entry_id = counted.entry_id
    left join commanded on commanded.entry_id = counted.entry_id
    order by entry.kind, entry.model, entry.slug`;
}
