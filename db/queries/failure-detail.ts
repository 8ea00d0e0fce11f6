import type { FailureDetailAnswer, FailureEntry, FailureRow } from "../../lib/contract/failures-api";
import type { FailureDetail, Launch, RankOutcome, Resource, Usage } from "../../lib/contract/result";
import type { EntryKind, Property } from "../../lib/contract/vocabulary";
import { effectiveLabelId } from "./effective-labels";
import { findFailureCluster } from "./failure-clusters";
import { attemptsOf, type CaseRow, caseColumns, caseOf, type FailureScope, keptCases } from "./failures";
import type { SqlRunner } from "./queue";

/** Members of a cluster, and entries, that the page of a failure lists. */
const listed = { members: 50, entries: 500 };

/** Everything behind one failure as the database keeps it; nothing is redacted. */
export interface FailureFacts {
  failure: FailureRow;
  grading: Omit<FailureDetailAnswer["grading"], "startedAt"> & { startedAt: Date };
  requirement: string | null;
  property: Property;
  /** Of the root rank, or of the first rank that has one. */
  detail: FailureDetail | null;
  ranks: RankOutcome[];
  resources: Resource[];
  usage: Usage | null;
  launches: Launch[];
  labels: (Omit<FailureDetailAnswer["labels"][number], "at" | "withdrawnAt"> & {
    at: Date;
    withdrawnAt: Date | null;
  })[];
  cluster: FailureDetailAnswer["cluster"];
  sameTest: FailureDetailAnswer["sameTest"];
}

interface Head {
  gradingId: string;
  testId: number;
  taskId: number;
  submissionId: string;
  suiteId: number;
  suite: string;
  version: string;
  title: string;
  entryKind: EntryKind;
  signature: string;
  grading: FailureFacts["grading"];
  startedAt: Date;
  requirement: string | null;
  property: Property;
  usage: Usage | null;
  launches: Launch[];
}

/**
 * One failing case by its grading and the number of its test in the manifest, from 1. Null where there is none, where
 * the grading does not judge the candidate, and where the submission was withdrawn.
 */
export async function findFailure(
  sql: SqlRunner,
  params: { gradingId: string; testNumber: number },
): Promise<FailureFacts | null> {
  const [head] = await sql<Head[]>`
    select grading.id as "gradingId", failure.test_id as "testId", task.id as "taskId",
           attempt.submission_id as "submissionId", suite.id as "suiteId", suite.slug as suite, suite.version,
           suite.title, entry.kind as "entryKind", failure.signature,
           jsonb_build_object('id', grading.id, 'status', grading.status, 'tier', grading.tier,
             'counts', coalesce(attempt_summary.grading_id = grading.id, false), 'late', grading.late,
             'durationMs', grading.duration_ms) as grading,
           grading.started_at as "startedAt", task_test.definition ->> 'requirement' as requirement,
           task_test.property, outcome.usage, grading.launches
    from grading
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id and submission.withdrawn_at is null
    join entry on entry.id = submission.entry_id
    join task on task.id = attempt.task_id
    join suite on suite.id = task.suite_id
    join task_test on task_test.task_id = task.id and task_test.position = ${params.testNumber - 1}
    join failure on failure.grading_id = grading.id and failure.test_id = task_test.id
    join outcome on outcome.grading_id = grading.id and outcome.test_id = task_test.id
    left join attempt_summary on attempt_summary.attempt_id = attempt.id
    where grading.id = ${params.gradingId}`;
  if (!head) return null;
  const scope: FailureScope = {
    filter: {},
    entryKind: head.entryKind,
    suites: [{ id: head.suiteId, slug: head.suite, version: head.version, title: head.title }],
  };
  const [[row], ranks, resources, labels, cluster, sameTest] = await Promise.all([
    sql<CaseRow[]>`
      with ${keptCases(sql, sql`failure.grading_id = ${head.gradingId} and failure.test_id = ${head.testId}`)}
      select ${caseColumns(sql)}`,
    listRanks(sql, head),
    listResources(sql, head),
    sql<FailureFacts["labels"]>`
      select class, label.type, tags, source, rule, rules_version as "rulesVersion", confidence, evidence,
             created_at as at, (select pseudonym from person where person.id = label.person_id) as person,
             (select created_at from label_withdrawal where label_id = label.id) as "withdrawnAt", id = (
               select ${effectiveLabelId(sql, sql`failure`)} from failure
               where failure.grading_id = ${head.gradingId} and failure.test_id = ${head.testId}
             ) as effective
      from label where grading_id = ${head.gradingId} and test_id = ${head.testId} order by id desc`,
    findFailureCluster(sql, scope, {
      signature: head.signature,
      submissionId: head.submissionId,
      limit: listed.members,
    }),
    listSameTest(sql, scope, head),
  ]);
  if (!row) return null;
  const failure = caseOf(row);
  const root = ranks.find(({ rank }) => rank === failure.rootRank) ?? ranks.find((one) => one.failure !== null);
  return {
    failure,
    grading: { ...head.grading, startedAt: head.startedAt },
    requirement: head.requirement,
    property: head.property,
    detail: root?.failure ?? null,
    ranks,
    resources,
    usage: head.usage,
    launches: head.launches,
    labels: [...labels],
    cluster,
    sameTest,
  };
}

async function listRanks(sql: SqlRunner, { gradingId, testId }: Head): Promise<RankOutcome[]> {
  const rows = await sql<(Omit<RankOutcome, "startedAt"> & { startedAt: Date | null })[]>`
    select rank, status, launch, started_at as "startedAt", duration_ms as "durationMs", failure, log_line as "logLine"
    from rank_outcome where grading_id = ${gradingId} and test_id = ${testId} order by rank`;
  return rows.map((row) => ({ ...row, startedAt: row.startedAt?.toISOString() ?? null }));
}

async function listResources(sql: SqlRunner, { gradingId, testId }: Head): Promise<Resource[]> {
  const rows = await sql<{ resource: Resource }[]>`
    select jsonb_strip_nulls(jsonb_build_object(
             'name', name, 'rank', rank, 'value', value, 'limit', limit_value, 'unit', unit, 'repeats', repeats,
             'met', met, 'meter', meter, 'accuracy', accuracy,
             'spread', case when spread_min is null or spread_max is null then null
                            else jsonb_build_object('min', spread_min, 'max', spread_max) end,
             'relative', case when relative_to is null then null
                              else jsonb_build_object('to', relative_to, 'reference', reference_value,
                                                      'measured', measured_value, 'sideUnit', side_unit) end
           )) || jsonb_build_object('property', property) as resource
    from resource_measure where grading_id = ${gradingId} and test_id = ${testId} order by rank, position`;
  return rows.map(({ resource }) => resource);
}

/** What the test did in the newest attempt of every entry that a board of the suite shows, of either kind. */
async function listSameTest(
  sql: SqlRunner,
  scope: FailureScope,
  { testId, taskId }: Head,
): Promise<FailureDetailAnswer["sameTest"]> {
  const of = (entryKind: EntryKind) => sql<
    {
      entry: FailureEntry;
      submissionId: string;
      status: RankOutcome["status"] | null;
      grading: string | null;
      number: number;
      type: string | null;
    }[]
  >`
    with ${attemptsOf(sql, { ...scope, entryKind })}
    select jsonb_build_object('slug', entry.slug, 'kind', entry.kind, 'model', entry.model, 'agent', entry.agent,
             'agentVersion', entry.agent_version, 'reasoningEffort', entry.reasoning_effort,
             'networkPolicy', entry.network_policy, 'promptCondition', entry.prompt_condition,
             'skill', entry.skill_name) as entry,
           shown.submission_id as "submissionId", outcome.status, failure.grading_id as grading,
           task_test.position + 1 as number, failure.type
    from shown
    join entry on entry.id = shown.entry_id
    join task_test on task_test.id = ${testId}
    left join lateral (
      select tried.grading_id from tried join attempt on attempt.id = tried.attempt_id
      where tried.submission_id = shown.submission_id and tried.task_id = ${taskId}
      order by attempt.ordinal desc limit 1
    ) newest on true
    left join outcome on outcome.grading_id = newest.grading_id and outcome.test_id = task_test.id
    left join failure on failure.grading_id = newest.grading_id and failure.test_id = task_test.id
    order by entry.slug limit ${listed.entries}`;
  const [models, references] = await Promise.all([of("model"), of("reference")]);
  return [...models, ...references].map(({ grading, number, ...row }) => ({
    ...row,
    address: grading === null ? null : { grading, test: number },
  }));
}
