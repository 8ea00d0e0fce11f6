import type { AgreementCount, Disagreement, GivenLabel, QueuePlace } from "../../lib/contract/label-facts";
import type { ExportedLabel, FailureAddress } from "../../lib/contract/labels-api";
import type { EvidenceSpan } from "../../lib/contract/result";
import { type CaseKey, effectiveLabelId, ownLabels } from "./effective-labels";
import { casesOf, type FailureScope } from "./failures";
import type { SqlRunner } from "./queue";
import { storableText } from "./storable";

/**
 * The queue that a filter gives: first what no rule decides, then by suite, task, test and entry, so that it keeps its
 * order while people label. Hidden probes are not in it: there is nothing to read. `at`: the failure asked for; the
 * first that the person has not labelled where it is null.
 */
export async function findQueuePlace(
  sql: SqlRunner,
  scope: FailureScope,
  params: { personId: string; at: FailureAddress | null },
): Promise<QueuePlace> {
  const at = params.at;
  const [row] = await sql<(Omit<QueuePlace, "current"> & { current: QueuePlace["current"] })[]>`
    with ${casesOf(sql, scope)},
    own as materialized (select grading_id, test_id from (${ownLabels(sql)}) mine where person_id = ${params.personId}),
    queue as materialized (
      select failing.grading_id, failing.test_position + 1 as number, own.test_id is not null as mine,
             row_number() over (order by coalesce(ruled.type, 'unclassified') <> 'unclassified', suite.position,
               suite.slug, task.position, failing.test_position, entry.slug, failing.attempt_id)::int as place
      from failing
      join suite on suite.id = failing.suite_id
      join task on task.id = failing.task_id
      join entry on entry.id = failing.entry_id
      left join own using (grading_id, test_id)
      left join lateral (
        select type from label
        where label.grading_id = failing.grading_id and label.test_id = failing.test_id and label.source = 'rule'
        order by id desc limit 1
      ) ruled on true
      where not failing.hidden
    ),
    here as (
      select * from queue where ${
        at
          ? sql`grading_id = ${at.grading} and number = ${at.test}`
          : sql`place = (select min(place) from queue where not mine)`
      }
    ),
    -- Of a failure that the filter does not let through, and where none is left, the next one is the first.
    stand as (select coalesce((select place from here), 0) as place)
    select count(*)::int as total, count(*) filter (where mine)::int as labelled,
           (select jsonb_build_object('grading', grading_id, 'test', number, 'place', place) from here) as current,
           (select jsonb_build_object('grading', grading_id, 'test', number) from queue
            where place = (select place - 1 from stand)) as previous,
           (select jsonb_build_object('grading', grading_id, 'test', number) from queue
            where place = (select place + 1 from stand)) as next,
           (select jsonb_build_object('grading', grading_id, 'test', number) from queue, stand
            where not mine and queue.place <> stand.place
            order by queue.place < stand.place, queue.place limit 1) as "nextOpen"
    from queue`;
  return row ?? { total: 0, labelled: 0, current: null, previous: null, next: null, nextOpen: null };
}

/** A failure that may be labelled: of a submission that stands, judged, and no hidden probe. */
export interface LabelTarget extends CaseKey {
  signature: string;
  submissionId: string;
  suite: string;
  /** What the root rank said; empty where it said nothing. */
  message: string;
}

export async function findLabelTarget(tx: SqlRunner, address: FailureAddress): Promise<LabelTarget | null> {
  const [row] = await tx<LabelTarget[]>`
    select failure.grading_id as "gradingId", failure.test_id as "testId", failure.signature,
           submission.id as "submissionId", suite.slug as suite, failure.message
    from failure
    join grading on grading.id = failure.grading_id
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id and submission.withdrawn_at is null
    join task_test on task_test.id = failure.test_id and task_test.position = ${address.test - 1}
    join task on task.id = task_test.task_id
    join suite on suite.id = task.suite_id and not (suite.probes = 'hidden' and task_test.kind = 'probe')
    where failure.grading_id = ${address.grading}`;
  return row ?? null;
}

/** Failures of a cluster that boards show and that the person has not labelled, without the named one. */
export async function listClusterRest(
  tx: SqlRunner,
  scope: FailureScope,
  params: { personId: string; except: CaseKey; limit: number },
): Promise<(CaseKey & { submissionId: string })[]> {
  return tx<(CaseKey & { submissionId: string })[]>`
    with ${casesOf(tx, scope)}
    select failing.grading_id as "gradingId", failing.test_id as "testId", failing.submission_id as "submissionId"
    from failing
    where not failing.hidden
      and not (failing.grading_id = ${params.except.gradingId} and failing.test_id = ${params.except.testId})
      and not exists (
        select 1 from (${ownLabels(tx)}) mine
        where mine.person_id = ${params.personId} and mine.grading_id = failing.grading_id
          and mine.test_id = failing.test_id)
    order by failing.grading_id, failing.test_id limit ${params.limit}`;
}

/** A person's labels of one act, one for each failure; evidence belongs to the first, whose message was read. */
export async function recordPersonLabels(
  tx: SqlRunner,
  act: {
    personId: string;
    batch: string;
    class: string;
    type: string;
    note: string | null;
    evidence: EvidenceSpan | null;
    adjudicates: boolean;
    cases: readonly CaseKey[];
  },
): Promise<void> {
  const evidence = act.evidence ? JSON.stringify(act.evidence) : null;
  await tx`
    insert into label (grading_id, test_id, class, type, source, evidence, person_id, note, batch, adjudicates)
    select grading_id, test_id, ${act.class}, ${act.type}, 'person',
           case when place = 1 then ${evidence}::text::jsonb end, ${act.personId}, ${storableText(act.note)},
           ${act.batch}, ${act.adjudicates}
    from unnest(
      ${act.cases.map(({ gradingId }) => gradingId)}::uuid[], ${act.cases.map(({ testId }) => testId)}::int[]
    ) with ordinality as row (grading_id, test_id, place)`;
}

/**
 * Failures of the person's newest act of which something still stands, the one that the act began with first; empty
 * where nothing is left to take back. The person's row is locked, so that two takings-back at once take two acts.
 */
export async function listNewestAct(
  tx: SqlRunner,
  personId: string,
): Promise<(CaseKey & { labelId: number; grading: string; test: number; submissionId: string; suite: string })[]> {
  await tx`select 1 from person where id = ${personId} for update`;
  return tx`
    select label.grading_id as "gradingId", label.test_id as "testId", label.id::int as "labelId",
           label.grading_id as grading, task_test.position + 1 as test, attempt.submission_id as "submissionId",
           suite.slug as suite
    from label
    join task_test on task_test.id = label.test_id
    join task on task.id = task_test.task_id
    join suite on suite.id = task.suite_id
    join grading on grading.id = label.grading_id
    join attempt on attempt.id = grading.attempt_id
    where label.person_id = ${personId} and label.batch = (
      select batch from label newest
      where newest.person_id = ${personId}
        and not exists (select 1 from label_withdrawal where label_id = newest.id)
      order by newest.id desc limit 1)
    order by label.id`;
}

export async function recordWithdrawal(tx: SqlRunner, personId: string, labelIds: readonly number[]): Promise<void> {
  await tx`
    insert into label_withdrawal (label_id, person_id)
    select id, ${personId} from unnest(${[...labelIds]}::bigint[]) as row (id) on conflict do nothing`;
}

/** Labels that people gave a failure, newest first. */
export function listPersonLabels(sql: SqlRunner, of: CaseKey, personId: string): Promise<GivenLabel[]> {
  return sql<GivenLabel[]>`
    select person.pseudonym as by, person.id = ${personId} as mine, label.class, label.type, label.note,
           label.adjudicates, label_withdrawal.label_id is not null as withdrawn, label.created_at as at
    from label
    join person on person.id = label.person_id
    left join label_withdrawal on label_withdrawal.label_id = label.id
    where label.grading_id = ${of.gradingId} and label.test_id = ${of.testId} and label.source = 'person'
    order by label.id desc`;
}

/** What people said, one row for each of them and failure, of submissions that were not withdrawn. */
const countedLabels = (sql: SqlRunner) => sql`
  select mine.* from (${ownLabels(sql)}) mine
  join grading on grading.id = mine.grading_id
  join attempt on attempt.id = grading.attempt_id
  join submission on submission.id = attempt.submission_id and submission.withdrawn_at is null`;

/** Pairs of ratings of one failure: of two people, and of a person and the newest rule's label. */
export function listAgreementCounts(sql: SqlRunner): Promise<AgreementCount[]> {
  return sql<AgreementCount[]>`
    with own as materialized (
      select mine.*, person.pseudonym from (${countedLabels(sql)}) mine join person on person.id = mine.person_id
    )
    select one.pseudonym as first, other.pseudonym as second, one.class as "firstClass", one.type as "firstType",
           other.class as "secondClass", other.type as "secondType", count(*)::int as count
    from own one join own other using (grading_id, test_id)
    where one.pseudonym < other.pseudonym
    group by 1, 2, 3, 4, 5, 6
    union all
    select own.pseudonym, null, own.class, own.type, ruled.class, ruled.type, count(*)::int
    from own
    join lateral (
      select class, type from label
      where label.grading_id = own.grading_id and label.test_id = own.test_id and label.source = 'rule'
      order by id desc limit 1
    ) ruled on true
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2 nulls last`;
}

export async function findLabelSums(sql: SqlRunner): Promise<{
  rulesVersion: string | null;
  labelled: number;
  open: number;
  decided: number;
}> {
  const [row] = await sql<{ rulesVersion: string | null; labelled: number; open: number; decided: number }[]>`
    with own as materialized (${countedLabels(sql)}),
    by_failure as (
      select grading_id, test_id, count(distinct (class, type)) > 1 as differ,
             ${decided(sql, sql`own`)} as decided
      from own group by grading_id, test_id
    )
    select (select rules_version from label join by_failure using (grading_id, test_id)
            where label.source = 'rule' order by label.id desc limit 1) as "rulesVersion",
           count(*)::int as labelled, count(*) filter (where differ and not decided)::int as open,
           count(*) filter (where differ and decided)::int as decided
    from by_failure`;
  return row ?? { rulesVersion: null, labelled: 0, open: 0, decided: 0 };
}

const decided = (sql: SqlRunner, of: ReturnType<SqlRunner>) => sql`exists (
  select 1 from label
  where label.grading_id = ${of}.grading_id and label.test_id = ${of}.test_id and label.adjudicates
    and not exists (select 1 from label_withdrawal where label_id = label.id))`;

/** Failures that people label differently, open ones first; of an annotator those alone that he has labelled. */
export async function listDisagreements(
  sql: SqlRunner,
  viewer: { personId: string; all: boolean },
  limit: number,
): Promise<Disagreement[]> {
  return sql<Disagreement[]>`
    with own as materialized (
      select mine.*, person.pseudonym from (${countedLabels(sql)}) mine join person on person.id = mine.person_id
    ),
    differing as (
      select grading_id, test_id, jsonb_agg(jsonb_build_object('by', pseudonym, 'type', type) order by pseudonym) as labels,
             ${decided(sql, sql`own`)} as decided
      from own group by grading_id, test_id
      having count(distinct (class, type)) > 1 ${viewer.all ? sql`` : sql`and bool_or(person_id = ${viewer.personId})`}
    )
    select failure.grading_id as grading, task_test.position + 1 as test, task_test.name, task.title as task,
           failure.line, differing.labels, case when differing.decided then failure.type end as decision
    from differing
    join failure using (grading_id, test_id)
    join task_test on task_test.id = failure.test_id
    join task on task.id = task_test.task_id
    order by differing.decided, task.position, task_test.position, failure.grading_id limit ${limit}`;
}

/** Every label of the failures that people have labelled, oldest first; one more than `limit` says that there are more. */
export async function listLabelHistory(sql: SqlRunner, limit: number): Promise<ExportedLabel[]> {
  const rows = await sql<(Omit<ExportedLabel, "at" | "withdrawnAt"> & { at: Date; withdrawnAt: Date | null })[]>`
    with labelled as (select distinct grading_id, test_id from label where source = 'person'),
    counting as materialized (
      select grading_id, test_id, ${effectiveLabelId(sql, sql`labelled`)} as label_id from labelled
    )
    select label.id::int, label.created_at as at, label.grading_id as grading, task_test.position + 1 as "testNumber",
           task_test.name as test, suite.slug as suite, suite.version as "suiteVersion", task.slug as task,
           submission.id as submission, entry.slug as entry, label.class, label.type, label.tags, label.source,
           coalesce(person.pseudonym, label.rule, 'unknown') as by, label.rules_version as "rulesVersion",
           label.confidence, label.evidence, label.note, label.batch, label.adjudicates,
           label_withdrawal.created_at as "withdrawnAt", coalesce(counting.label_id = label.id, false) as counts
    from counting
    join label using (grading_id, test_id)
    join task_test on task_test.id = label.test_id
    join task on task.id = task_test.task_id
    join suite on suite.id = task.suite_id
    join grading on grading.id = label.grading_id
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id and submission.withdrawn_at is null
    join entry on entry.id = submission.entry_id
    left join person on person.id = label.person_id
    left join label_withdrawal on label_withdrawal.label_id = label.id
    where not (suite.probes = 'hidden' and task_test.kind = 'probe')
    order by label.id limit ${limit + 1}`;
  return rows.map((row) => ({
    ...row,
    at: row.at.toISOString(),
    withdrawnAt: row.withdrawnAt?.toISOString() ?? null,
  }));
}
