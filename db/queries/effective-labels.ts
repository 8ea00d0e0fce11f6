import type { SqlRunner } from "./queue";

/** A failing case, by its keys. */
export type CaseKey = { gradingId: string; testId: number };

/** The tables' aliases in the query around are the caller's: `of` is one that has `grading_id` and `test_id`. */
type Fragment = ReturnType<SqlRunner>;

const standing = (sql: SqlRunner) =>
  sql`not exists (select 1 from label_withdrawal where label_withdrawal.label_id = label.id)`;

/**
 * Id of the label that counts for a failure:
 * 1. the newest decision of a maintainer between labels;
 * 2. else, where everybody who labelled it gave it one class and type, the newest of these labels;
 * 3. else (nobody labelled it, or people disagree) the newest rule's.
 * What was taken back counts nowhere; of each person the newest label that stands.
 */
export const effectiveLabelId = (sql: SqlRunner, of: Fragment) => sql`coalesce(
  (select label.id from label
   where label.grading_id = ${of}.grading_id and label.test_id = ${of}.test_id and label.adjudicates and ${standing(sql)}
   order by label.id desc limit 1),
  (select case when count(distinct (own.class, own.type)) = 1 then max(own.id) end
   from (
     select distinct on (label.person_id) label.id, label.class, label.type from label
     where label.grading_id = ${of}.grading_id and label.test_id = ${of}.test_id and label.source = 'person'
       and not label.adjudicates and ${standing(sql)}
     order by label.person_id, label.id desc
   ) own),
  (select label.id from label
   where label.grading_id = ${of}.grading_id and label.test_id = ${of}.test_id and label.source = 'rule'
   order by label.id desc limit 1))`;

/** The newest label of a person that stands, one row for each person and failure: what agreement is counted over. */
export const ownLabels = (sql: SqlRunner) => sql`
  select distinct on (label.grading_id, label.test_id, label.person_id)
         label.id, label.grading_id, label.test_id, label.person_id, label.class, label.type
  from label
  where label.source = 'person' and not label.adjudicates and ${standing(sql)}
  order by label.grading_id, label.test_id, label.person_id, label.id desc`;

/** Locks these failures, in one order, so that whoever writes labels of one of them at the same time waits. */
export async function lockFailures(tx: SqlRunner, cases: readonly CaseKey[]): Promise<void> {
  await tx`
    select 1 from failure
    where (grading_id, test_id) in (select * from ${keys(tx, cases)})
    order by grading_id, test_id for update`;
}

const keys = (tx: SqlRunner, cases: readonly CaseKey[]) =>
  tx`unnest(${cases.map(({ gradingId }) => gradingId)}::uuid[], ${cases.map(({ testId }) => testId)}::int[])`;

/** Writes the label that counts beside each of these failures, all of them where none are named; how many it changed. */
export async function applyEffectiveLabels(tx: SqlRunner, cases?: readonly CaseKey[]): Promise<number> {
  const changed = await tx`
    update failure set class = label.class, type = label.type, tags = label.tags, label_source = label.source
    from label
    where label.id = ${effectiveLabelId(tx, tx`failure`)}
      and (failure.class, failure.type, failure.tags, failure.label_source)
          is distinct from (label.class, label.type, label.tags, label.source)
      ${cases ? tx`and (failure.grading_id, failure.test_id) in (select * from ${keys(tx, cases)})` : tx``}`;
  return changed.count;
}
