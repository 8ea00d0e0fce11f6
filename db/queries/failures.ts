import type { PendingQuery, Row } from "postgres";
import type { FailureCount, FailureOverviewFacts } from "../../lib/contract/failure-facts";
import type { FailureFilter, FailureGrouping, FailureRow } from "../../lib/contract/failures-api";
import type { EntryKind } from "../../lib/contract/vocabulary";
import { effectiveLabelId } from "./effective-labels";
import type { SqlRunner } from "./queue";

/** Which submissions a question about failures is about. */
export interface FailureScope {
  filter: FailureFilter;
  entryKind: EntryKind;
  suites: { id: number; slug: string; version: string; title: string }[];
}

/** Gradings that judge the candidate; everything else is no failure of the taxonomy's table. */
const judging = ["completed", "candidate-timeout"];

/**
 * The suite versions that a filter names. Where it names no version, they are the newest of each suite, and of the suite
 * of a submission that it names the submission's own. Null where it names a suite or version that there is not.
 */
export async function findFailureScope(sql: SqlRunner, filter: FailureFilter): Promise<FailureScope | null> {
  const suites = await sql<FailureScope["suites"]>`
    select distinct on (suite.position, suite.slug) suite.id, suite.slug, suite.version, suite.title
    from suite
    where ${filter.suite ? sql`suite.slug = ${filter.suite}` : sql`exists (select 1 from task where suite_id = suite.id)`}
      and ${filter.version ? sql`suite.version = ${filter.version}` : sql`true`}
    order by suite.position, suite.slug,
             suite.id = (select suite_id from submission where id = ${filter.submission ?? null}::uuid) desc,
             string_to_array(suite.version, '.')::int[] desc`;
  if (suites.length === 0 && (filter.suite || filter.version)) return null;
  if (filter.entryKind) return { filter, entryKind: filter.entryKind, suites: [...suites] };
  const [found] = await sql<{ models: boolean; references: boolean }[]>`
    select coalesce(bool_or(entry.kind = 'model'), false) as models,
           coalesce(bool_or(entry.kind = 'reference'), false) as references
    from submission join entry on entry.id = submission.entry_id
    where submission.suite_id = any(${suites.map(({ id }) => id)}::int[]) and submission.published_at is not null
      and submission.withdrawn_at is null and exists (
        select 1 from attempt_summary
        where attempt_summary.submission_id = submission.id and attempt_summary.status = any(${judging}))`;
  return { filter, entryKind: found?.references && !found.models ? "reference" : "model", suites: [...suites] };
}

/** Filters that name something, in the order in which an unknown one is told. */
const naming = ["task", "repository", "entry", "model", "submission"] as const;

/**
 * The first filter that names nothing that there is in the suite and version of the filter, in every one where it names
 * none; null where each names something.
 */
export async function findUnknownName(sql: SqlRunner, filter: FailureFilter): Promise<(typeof naming)[number] | null> {
  const { task = null, repository = null, entry = null, model = null, submission = null } = filter;
  const suites = sql`
    select id from suite
    where ${filter.suite ? sql`slug = ${filter.suite}` : sql`true`}
      and ${filter.version ? sql`version = ${filter.version}` : sql`true`}`;
  const shown = sql`
    select 1 from submission join entry on entry.id = submission.entry_id
    where submission.suite_id in (${suites}) and submission.withdrawn_at is null
      and (submission.published_at is not null or submission.id = ${submission}::uuid)`;
  const [known] = await sql<Record<(typeof naming)[number], boolean>[]>`
    select exists (select 1 from task where suite_id in (${suites}) and slug = ${task}) as task,
           exists (select 1 from task where suite_id in (${suites}) and repo = ${repository}) as repository,
           exists (${shown} and entry.slug = ${entry}) as entry,
           exists (${shown} and entry.model = ${model}) as model,
           exists (${shown} and submission.id = ${submission}::uuid) as submission`;
  return naming.find((name) => filter[name] !== undefined && !known?.[name]) ?? null;
}

/**
 * Each entry's newest published submission of its highest tier, as boards show them, with their attempts; or the one
 * submission that the filter names, whether a board shows it or not.
 */
export const attemptsOf = (sql: SqlRunner, { filter, entryKind, suites }: FailureScope) => sql`
  shown as (
    select distinct on (submission.suite_id, submission.entry_id)
           submission.id as submission_id, submission.suite_id, submission.entry_id
    from submission
    join entry on entry.id = submission.entry_id
    join submission_summary summary on summary.submission_id = submission.id
    where submission.suite_id = any(${suites.map(({ id }) => id)}::int[]) and submission.withdrawn_at is null
      and ${filter.submission ? sql`submission.id = ${filter.submission}` : sql`submission.published_at is not null`}
      and entry.kind = ${entryKind}
      ${filter.entry ? sql`and entry.slug = ${filter.entry}` : sql``}
      ${filter.model ? sql`and entry.model = ${filter.model}` : sql``}
      ${filter.condition ? sql`and entry.prompt_condition = ${filter.condition}` : sql``}
    order by submission.suite_id, submission.entry_id,
             array_position(array['reported', 'signed', 'verified', 'reproduced'], summary.tier) desc,
             submission.published_at desc, submission.id desc
  ),
  tried as (
    select shown.submission_id, shown.suite_id, shown.entry_id, attempt_summary.attempt_id, attempt_summary.grading_id,
           attempt_summary.status, task.id as task_id, task.repo, task.category, task.type as task_type
    from shown
    join attempt_summary on attempt_summary.submission_id = shown.submission_id
    join task on task.id = attempt_summary.task_id
    where true
      ${filter.repository ? sql`and task.repo = ${filter.repository}` : sql``}
      ${filter.category ? sql`and task.category = ${filter.category}` : sql``}
      ${filter.taskType ? sql`and task.type = ${filter.taskType}` : sql``}
      ${filter.task ? sql`and task.slug = ${filter.task}` : sql``}
  )`;

/** Cases of these attempts that the filter lets through: required tests that did not pass. */
export const casesOf = (sql: SqlRunner, scope: FailureScope) => {
  const { filter } = scope;
  return sql`
  ${attemptsOf(sql, scope)},
  failing as (
    select tried.*, failure.test_id, failure.status as test_status, failure.root_rank, failure.exception_type,
           failure.line, failure.signature, failure.class, failure.type, failure.tags, failure.label_source,
           task_test.name, task_test.position as test_position, task_test.kind, task_test.property,
           (task_test.kind = 'probe' and suite.probes = 'hidden') as hidden
    from tried
    join suite on suite.id = tried.suite_id
    join failure on failure.grading_id = tried.grading_id
    join task_test on task_test.id = failure.test_id
    where tried.status = any(${judging})
      ${filter.class ? sql`and failure.class = ${filter.class}` : sql``}
      ${filter.type ? sql`and failure.type = ${filter.type}` : sql``}
      ${filter.status ? sql`and failure.status = ${filter.status}` : sql``}
      ${filter.tag ? sql`and failure.tags @> ${JSON.stringify([filter.tag])}::text::jsonb` : sql``}
      ${filter.reviewed ? sql`and failure.label_source = ${filter.reviewed === "yes" ? "person" : "rule"}` : sql``}
      ${filter.property ? sql`and task_test.property = ${filter.property}` : sql``}
      ${filter.kind ? sql`and task_test.kind = ${filter.kind}` : sql``}
      ${
        filter.signature
          ? sql`and failure.signature = ${filter.signature} and not (task_test.kind = 'probe' and suite.probes = 'hidden')`
          : sql``
      }
  )`;
};

/** A grouping, and where its value stands in the rows that are counted. */
const dimensions: readonly { by: FailureGrouping; column: string }[] = [
  { by: "suite", column: "suite_id" },
  { by: "repository", column: "repo" },
  { by: "category", column: "category" },
  { by: "taskType", column: "task_type" },
  { by: "entry", column: "entry_id" },
  { by: "model", column: "model" },
  { by: "condition", column: "prompt_condition" },
];
const columns = dimensions.map(({ column }) => column).join(", ");
/** Everything together, then one grouping at a time. */
const groupingSets = (inner: string) =>
  `grouping sets ((${inner}), ${dimensions.map(({ column }) => `(${[inner, column].filter(Boolean).join(", ")})`).join(", ")})`;
/** The value by which a row is grouped, as text; null for everything. */
const keyColumn = `case grouping(${columns}) ${dimensions
  .map(
    ({ column }, index) =>
      `when ${2 ** dimensions.length - 1 - 2 ** (dimensions.length - 1 - index)} then ${column}::text`,
  )
  .join(" ")} end`;
const byColumn = `case grouping(${columns}) ${dimensions
  .map(({ by }, index) => `when ${2 ** dimensions.length - 1 - 2 ** (dimensions.length - 1 - index)} then '${by}'`)
  .join(" ")} end`;

const entryColumns = (sql: SqlRunner) => sql`
  entry.slug, entry.kind, entry.model, entry.agent, entry.agent_version as "agentVersion",
  entry.reasoning_effort as "reasoningEffort", entry.network_policy as "networkPolicy",
  entry.prompt_condition as "promptCondition", entry.skill_name as skill`;

/** Counts for the overview. Outcomes are never read: cases are counted once per attempt and type, and these added up. */
export async function findFailureOverview(sql: SqlRunner, scope: FailureScope): Promise<FailureOverviewFacts> {
  const [counts, graded, leftOut, entries, types] = await Promise.all([
    sql<FailureCount[]>`
      with ${casesOf(sql, scope)},
      by_type as materialized (
        select attempt_id, suite_id, repo, category, task_type, entry_id, entry.model, entry.prompt_condition, class,
               failing.type, count(*)::int as cases
        from failing join entry on entry.id = failing.entry_id
        group by attempt_id, suite_id, repo, category, task_type, entry_id, entry.model, entry.prompt_condition, class,
                 failing.type
      ),
      by_class as (
        select attempt_id, ${sql.unsafe(columns)}, class, sum(cases)::int as cases from by_type
        group by attempt_id, ${sql.unsafe(columns)}, class
      ),
      by_attempt as (
        select attempt_id, ${sql.unsafe(columns)}, sum(cases)::int as cases from by_type
        group by attempt_id, ${sql.unsafe(columns)}
      )
      select ${sql.unsafe(byColumn)} as by, ${sql.unsafe(keyColumn)} as key, class, type, count(*)::int as attempts,
             sum(cases)::int as cases
      from by_type group by ${sql.unsafe(groupingSets("class, type"))}
      union all
      select ${sql.unsafe(byColumn)}, ${sql.unsafe(keyColumn)}, class, null, count(*)::int, sum(cases)::int
      from by_class group by ${sql.unsafe(groupingSets("class"))}
      union all
      select ${sql.unsafe(byColumn)}, ${sql.unsafe(keyColumn)}, null, null, count(*)::int, coalesce(sum(cases), 0)::int
      from by_attempt group by ${sql.unsafe(groupingSets(""))}`,
    sql<FailureOverviewFacts["graded"]>`
      with ${attemptsOf(sql, scope)},
      judged as (
        select tried.*, entry.model, entry.prompt_condition
        from tried join entry on entry.id = tried.entry_id where tried.status = any(${judging})
      )
      select ${sql.unsafe(byColumn)} as by, ${sql.unsafe(keyColumn)} as key, count(*)::int as attempts
      from judged group by ${sql.unsafe(groupingSets(""))}`,
    sql<FailureOverviewFacts["leftOut"]>`
      with ${attemptsOf(sql, scope)}
      select status, count(*)::int as attempts from tried where not status = any(${judging})
      group by status order by status`,
    sql<(FailureOverviewFacts["entries"][number] & { id: number })[]>`
      with ${attemptsOf(sql, scope)}
      select entry.id, ${entryColumns(sql)} from entry where entry.id in (select entry_id from tried)`,
    listTaxonomy(sql),
  ]);
  const slugOf = new Map(entries.map(({ id, slug }) => [String(id), slug]));
  const suiteOf = new Map(scope.suites.map(({ id, slug }) => [String(id), slug]));
  const named = <T extends { by: FailureGrouping | null; key: string | null }>(row: T): T => ({
    ...row,
    key:
      row.by === "entry"
        ? (slugOf.get(row.key ?? "") ?? null)
        : row.by === "suite"
          ? (suiteOf.get(row.key ?? "") ?? null)
          : row.key,
  });
  return {
    filter: scope.filter,
    entryKind: scope.entryKind,
    suites: scope.suites.map(({ slug, version, title }) => ({ slug, version, title })),
    taxonomy: types,
    counts: counts.map(named),
    graded: graded.map(named),
    leftOut: [...leftOut],
    entries: entries.map(({ id: _id, ...entry }) => entry),
  };
}

/** Classes and types of the newest version of the taxonomy, in its order. */
export async function listTaxonomy(sql: SqlRunner): Promise<FailureOverviewFacts["taxonomy"]> {
  const rows = await sql<(FailureOverviewFacts["taxonomy"]["types"][number] & { version: string })[]>`
    select version, class, type, title, meaning from taxonomy_type
    where version = (select version from taxonomy_type order by created_at desc, version desc limit 1)
    order by position`;
  return { version: rows[0]?.version ?? "", types: rows.map(({ version: _version, ...type }) => type) };
}

export interface CaseRow extends Omit<FailureRow, "address" | "entry" | "suite" | "task" | "test" | "label"> {
  grading: string;
  testNumber: number;
  entry: FailureRow["entry"];
  suite: string;
  suiteVersion: string;
  slug: string;
  title: string;
  repository: string;
  category: FailureRow["task"]["category"];
  taskType: FailureRow["task"]["type"];
  testName: string;
  kind: FailureRow["test"]["kind"];
  property: FailureRow["test"]["property"];
  hidden: boolean;
  label: FailureRow["label"];
}

/** A case with its entry, task and label, out of rows of `failing`. */
export const caseColumns = (sql: SqlRunner) => sql`
  one.grading_id as grading, one.test_position + 1 as "testNumber", one.submission_id as "submissionId",
  one.attempt_id as "attemptId", one.test_status as status, one.root_rank as "rootRank", one.hidden,
  case when one.hidden then null else one.exception_type end as "exceptionType",
  case when one.hidden then null else one.line end as line,
  case when one.hidden then null else one.signature end as signature,
  jsonb_build_object('slug', entry.slug, 'kind', entry.kind, 'model', entry.model, 'agent', entry.agent,
    'agentVersion', entry.agent_version, 'reasoningEffort', entry.reasoning_effort,
    'networkPolicy', entry.network_policy, 'promptCondition', entry.prompt_condition, 'skill', entry.skill_name) as entry,
  suite.slug as suite, suite.version as "suiteVersion", task.slug, task.title, task.repo as repository, task.category,
  task.type as "taskType", one.name as "testName", one.kind, one.property,
  jsonb_build_object('class', one.class, 'type', one.type, 'tags', one.tags, 'source', one.label_source,
    'rule', given.rule, 'rulesVersion', given.rules_version, 'confidence', given.confidence,
    'evidence', case when one.hidden then null else given.evidence end) as label
  from one
  join entry on entry.id = one.entry_id
  join suite on suite.id = one.suite_id
  join task on task.id = one.task_id
  left join lateral (
    select rule, rules_version, confidence, evidence from label
    where label.grading_id = one.grading_id and label.test_id = one.test_id and label.source = one.label_source
      and (label.source = 'rule' or label.id = ${effectiveLabelId(sql, sql`one`)})
    order by id desc limit 1
  ) given on true`;

/** Failures that are named one by one, in the columns of `failing`, whatever a board shows. */
export const keptCases = (sql: SqlRunner, wanted: PendingQuery<Row[]>) => sql`
  one as (
    select grading.id as grading_id, attempt.submission_id, attempt.id as attempt_id, submission.entry_id,
           submission.suite_id, attempt.task_id, failure.test_id, failure.status as test_status, failure.root_rank,
           failure.exception_type, failure.line, failure.signature, failure.class, failure.type, failure.tags,
           failure.label_source, task_test.name, task_test.position as test_position, task_test.kind,
           task_test.property, (task_test.kind = 'probe' and suite.probes = 'hidden') as hidden
    from failure
    join grading on grading.id = failure.grading_id
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id
    join suite on suite.id = submission.suite_id
    join task_test on task_test.id = failure.test_id
    where ${wanted}
  )`;

export function caseOf(row: CaseRow): FailureRow {
  const { grading, testNumber, suite, suiteVersion, slug, title, repository, category, taskType, testName, ...rest } =
    row;
  const { kind, property, hidden, ...facts } = rest;
  return {
    ...facts,
    address: { grading, test: testNumber },
    suite: { slug: suite, version: suiteVersion },
    task: { slug, title, repository, category, type: taskType },
    test: { id: testName, kind, property, hidden },
  };
}

/** Cases in the order of suite, task, test and entry. */
export async function listFailures(
  sql: SqlRunner,
  scope: FailureScope,
  page: { offset: number; limit: number },
): Promise<FailureRow[]> {
  const rows = await sql<CaseRow[]>`
    with ${casesOf(sql, scope)},
    one as (
      select failing.* from failing
      join suite on suite.id = failing.suite_id
      join task on task.id = failing.task_id
      join entry on entry.id = failing.entry_id
      order by suite.position, suite.slug, task.position, failing.test_position, entry.slug, failing.attempt_id
      offset ${page.offset} limit ${page.limit}
    )
    select ${caseColumns(sql)}
    order by suite.position, suite.slug, task.position, one.test_position, entry.slug, one.attempt_id`;
  return rows.map(caseOf);
}

export async function countFailures(sql: SqlRunner, scope: FailureScope): Promise<number> {
  const [row] = await sql<{ total: number }[]>`
    with ${casesOf(sql, scope)} select count(*)::int as total from failing`;
  return row?.total ?? 0;
}
