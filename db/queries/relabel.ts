import type { FailureDetail, RuleLabel } from "../../lib/contract/result";
import type { GradingStatus, OutcomeStatus, Property } from "../../lib/contract/vocabulary";
import { recordRuleLabels } from "./ingest";
import type { SqlRunner } from "./queue";
import { storableText } from "./storable";

/** A kept failure with what the rules read of it and what they said of it last. */
export interface LabelledFailure {
  gradingId: string;
  testId: number;
  status: OutcomeStatus;
  gradingStatus: GradingStatus;
  property: Property;
  failure: FailureDetail | null;
  line: string;
  signature: string;
  /** The newest label by rule; null where there is none. */
  label:
    | (Omit<RuleLabel, "confidence" | "evidence"> & Required<Nullable<Pick<RuleLabel, "confidence" | "evidence">>>)
    | null;
}
type Nullable<T> = { [K in keyof T]: T[K] | null };

/** One new version of the rules at a time; held until the transaction ends. */
export async function lockRelabelling(tx: SqlRunner): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('infradev relabel'))`;
}

/** The next failures in the order of grading and test, after the given one. */
export async function listLabelledFailures(
  tx: SqlRunner,
  params: { after: Pick<LabelledFailure, "gradingId" | "testId"> | null; limit: number },
): Promise<LabelledFailure[]> {
  const { after, limit } = params;
  return tx<LabelledFailure[]>`
    select failure.grading_id as "gradingId", failure.test_id as "testId", failure.status,
           grading.status as "gradingStatus", task_test.property, failure.line, failure.signature, root.failure,
           newest.label
    from failure
    join grading on grading.id = failure.grading_id
    join task_test on task_test.id = failure.test_id
    left join lateral (
      select rank_outcome.failure from rank_outcome
      where rank_outcome.grading_id = failure.grading_id and rank_outcome.test_id = failure.test_id
        and (rank_outcome.rank = failure.root_rank or rank_outcome.failure is not null)
      order by rank_outcome.rank is distinct from failure.root_rank, rank_outcome.rank limit 1
    ) root on true
    left join lateral (
      select jsonb_build_object('class', class, 'type', type, 'rule', rule, 'rulesVersion', rules_version,
                                'tags', tags, 'confidence', confidence, 'evidence', evidence) as label
      from label
      where label.grading_id = failure.grading_id and label.test_id = failure.test_id and label.source = 'rule'
      order by id desc limit 1
    ) newest on true
    ${after ? tx`where (failure.grading_id, failure.test_id) > (${after.gradingId}::uuid, ${after.testId}::int)` : tx``}
    order by failure.grading_id, failure.test_id limit ${limit}`;
}

export interface Relabelled {
  gradingId: string;
  testId: number;
  line: string;
  signature: string;
  label: RuleLabel;
}

/** Adds the labels; what counts follows them, but where a person has labelled the failure. */
export async function recordRelabelled(
  tx: SqlRunner,
  rows: { labels: readonly Relabelled[]; failures: readonly Relabelled[] },
): Promise<void> {
  if (rows.labels.length > 0) await recordRuleLabels(tx, rows.labels);
  const { failures } = rows;
  if (failures.length === 0) return;
  await tx`
    update failure
    set line = row.line, signature = row.signature,
        class = case when label_source = 'rule' then row.class else failure.class end,
        type = case when label_source = 'rule' then row.type else failure.type end,
        tags = case when label_source = 'rule' then row.tags::jsonb else failure.tags end
    from unnest(
      ${failures.map((row) => row.gradingId)}::uuid[], ${failures.map((row) => row.testId)}::int[],
      ${failures.map((row) => storableText(row.line))}::text[], ${failures.map((row) => row.signature)}::text[],
      ${failures.map(({ label }) => label.class)}::text[], ${failures.map(({ label }) => label.type)}::text[],
      ${failures.map(({ label }) => JSON.stringify(label.tags))}::text[]
    ) as row (grading_id, test_id, line, signature, class, type, tags)
    where failure.grading_id = row.grading_id and failure.test_id = row.test_id`;
}
