import type { KeptTrajectory, TrajectoryFacts } from "../../lib/contract/trajectory";
import type { SqlRunner } from "./queue";

export interface NewTrajectory {
  attemptId: string;
  sha256: string;
  bytes: number;
  stepsSha256: string;
  stepsBytes: number;
  facts: TrajectoryFacts;
}

/**
 * Keeps the trajectory of an attempt and fills in the figures of its run that nothing else has stated. Answers the
 * digest of the trajectory that the attempt has then: an earlier one stays.
 */
export async function recordTrajectory(tx: SqlRunner, row: NewTrajectory): Promise<string> {
  const { attemptId, facts } = row;
  const made = await tx`
    insert into attempt_trajectory (attempt_id, sha256, bytes, steps_sha256, steps_bytes, version, agent, agent_version,
                                    model, steps, agent_steps, tool_calls, subagents, started_at, ended_at,
                                    prompt_tokens, completion_tokens, cached_tokens, cost_usd, differing)
    values (${attemptId}, ${row.sha256}, ${row.bytes}, ${row.stepsSha256}, ${row.stepsBytes}, ${facts.version},
            ${facts.agent}, ${facts.agentVersion}, ${facts.model}, ${facts.steps}, ${facts.agentSteps},
            ${facts.toolCalls}, ${facts.subagents}, ${facts.startedAt}, ${facts.endedAt}, ${facts.promptTokens},
            ${facts.completionTokens}, ${facts.cachedTokens}, ${facts.costUsd}, ${[...facts.differing]}::text[])
    on conflict (attempt_id) do nothing
    returning attempt_id`;
  if (made.length === 0) {
    const [kept] = await tx<{ sha256: string }[]>`
      select sha256 from attempt_trajectory where attempt_id = ${attemptId}`;
    if (!kept) throw new Error(`the trajectory of attempt ${attemptId} vanished`);
    return kept.sha256;
  }
  const { promptTokens, cachedTokens } = facts;
  // Input is kept without what came out of a cache; ATIF counts it inside.
  const cached = promptTokens === null ? null : cachedTokens;
  const fresh = promptTokens === null ? null : Math.max(0, promptTokens - (cachedTokens ?? 0));
  const minutes =
    facts.startedAt === null || facts.endedAt === null
      ? null
      : (Date.parse(facts.endedAt) - Date.parse(facts.startedAt)) / 60_000;
  await tx`
    update attempt
    set time_min = coalesce(time_min, ${minutes}), steps = coalesce(steps, ${facts.agentSteps}::int),
        cost_usd = coalesce(cost_usd, ${facts.costUsd}),
        input_tokens = coalesce(input_tokens, ${fresh}), cache_read_tokens = coalesce(cache_read_tokens, ${cached}),
        output_tokens = coalesce(output_tokens, ${facts.completionTokens})
    where id = ${attemptId}`;
  return row.sha256;
}

export interface TrajectoryPlace {
  attemptId: string;
  submissionId: string;
  suite: { slug: string; version: string; title: string };
  task: { slug: string; title: string };
  model: string;
  trajectory: KeptTrajectory;
  /** The blob of its steps. */
  steps: { sha256: string; bytes: number };
}

/** The trajectory of an attempt and what it belongs to; null where there is none, or its submission was withdrawn. */
export async function findTrajectory(sql: SqlRunner, attemptId: string): Promise<TrajectoryPlace | null> {
  const [row] = await sql<
    (Omit<TrajectoryPlace, "trajectory"> & {
      trajectory: Omit<KeptTrajectory, "startedAt" | "endedAt">;
      startedAt: Date | null;
      endedAt: Date | null;
    })[]
  >`
    select attempt.id as "attemptId", submission.id as "submissionId",
           jsonb_build_object('slug', suite.slug, 'version', suite.version, 'title', suite.title) as suite,
           jsonb_build_object('slug', task.slug, 'title', task.title) as task, entry.model,
           jsonb_build_object('sha256', kept.sha256, 'bytes', kept.bytes, 'version', kept.version, 'agent', kept.agent,
                              'agentVersion', kept.agent_version, 'model', kept.model, 'steps', kept.steps,
                              'agentSteps', kept.agent_steps, 'toolCalls', kept.tool_calls,
                              'subagents', kept.subagents, 'promptTokens', kept.prompt_tokens,
                              'completionTokens', kept.completion_tokens, 'cachedTokens', kept.cached_tokens,
                              'costUsd', kept.cost_usd, 'differing', kept.differing) as trajectory,
           kept.started_at as "startedAt", kept.ended_at as "endedAt",
           jsonb_build_object('sha256', kept.steps_sha256, 'bytes', kept.steps_bytes) as steps
    from attempt_trajectory kept
    join attempt on attempt.id = kept.attempt_id
    join task on task.id = attempt.task_id
    join submission on submission.id = attempt.submission_id
    join suite on suite.id = submission.suite_id
    join entry on entry.id = submission.entry_id
    where attempt.id = ${attemptId} and submission.withdrawn_at is null`;
  if (!row) return null;
  const { trajectory, startedAt, endedAt, ...place } = row;
  return {
    ...place,
    trajectory: {
      ...trajectory,
      startedAt: startedAt?.toISOString() ?? null,
      endedAt: endedAt?.toISOString() ?? null,
    },
  };
}
