import type { FailureClusterList, FailureRow } from "../../lib/contract/failures-api";
import type { FailureDetail } from "../../lib/contract/result";
import type { OutcomeStatus } from "../../lib/contract/vocabulary";
import { type CaseRow, caseColumns, caseOf, casesOf, type FailureScope, keptCases } from "./failures";
import type { SqlRunner } from "./queue";

/** A rank's failure as it is kept, for what followed the root. */
export interface RankFailure {
  gradingId: string;
  testId: number;
  rank: number;
  status: OutcomeStatus;
  failure: FailureDetail | null;
}

/** A cluster without the words of what followed, which are read from the ranks' failures. */
export type ClusterFacts = Omit<FailureClusterList["clusters"][number], "followed"> & { followers: RankFailure[] };

const sizes = (sql: SqlRunner) => sql`
  count(*)::int as cases, count(distinct attempt_id)::int as attempts, count(distinct submission_id)::int as submissions,
  count(distinct entry_id)::int as entries, count(distinct task_id)::int as tasks`;

/** Clusters of the cases, most attempts first; hidden probes are counted and in no cluster. */
export async function listFailureClusters(
  sql: SqlRunner,
  scope: FailureScope,
  page: { offset: number; limit: number },
): Promise<{ total: number; hiddenCases: number; clusters: ClusterFacts[] }> {
  const [[sums], found] = await Promise.all([
    sql<{ total: number; hiddenCases: number }[]>`
      with ${casesOf(sql, scope)}
      select count(distinct signature) filter (where not hidden)::int as total,
             count(*) filter (where hidden)::int as "hiddenCases"
      from failing`,
    sql<(Omit<ClusterFacts, "example" | "followers"> & { gradingId: string; testId: number })[]>`
      with ${casesOf(sql, scope)},
      visible as (select * from failing where not hidden),
      largest as (
        select signature, ${sizes(sql)} from visible group by signature
        order by attempts desc, cases desc, signature offset ${page.offset} limit ${page.limit}
      ),
      by_type as (
        select signature, class, type, count(distinct attempt_id)::int as attempts, count(*)::int as cases
        from visible where signature in (select signature from largest) group by signature, class, type
      ),
      newest as (
        select distinct on (visible.signature) visible.signature, visible.grading_id, visible.test_id,
               visible.test_status, visible.exception_type
        from visible join grading on grading.id = visible.grading_id
        where visible.signature in (select signature from largest)
        order by visible.signature, grading.received_at desc, visible.grading_id, visible.test_id
      )
      select largest.*, newest.test_status as status, newest.exception_type as "exceptionType",
             newest.grading_id as "gradingId", newest.test_id as "testId",
             (select jsonb_agg(jsonb_build_object('class', class, 'type', type, 'attempts', attempts, 'cases', cases)
                               order by attempts desc, type)
              from by_type where by_type.signature = largest.signature) as types
      from largest join newest using (signature)
      order by largest.attempts desc, largest.cases desc, largest.signature`,
  ]);
  const cases = found.map(({ gradingId, testId }) => ({ gradingId, testId }));
  const [examples, followers] = await Promise.all([listCases(sql, cases), listFollowers(sql, cases)]);
  const keyOf = (one: { gradingId: string; testId: number }) => `${one.gradingId} ${one.testId}`;
  return {
    total: sums?.total ?? 0,
    hiddenCases: sums?.hiddenCases ?? 0,
    clusters: found.flatMap(({ gradingId, testId, ...cluster }) => {
      const key = keyOf({ gradingId, testId });
      const example = examples.get(key);
      return example
        ? [{ ...cluster, example, followers: followers.filter((follower) => keyOf(follower) === key) }]
        : [];
    }),
  };
}

/** The named cases as rows, by grading and test. */
async function listCases(
  sql: SqlRunner,
  cases: readonly { gradingId: string; testId: number }[],
): Promise<Map<string, FailureRow>> {
  const wanted = sql`(failure.grading_id, failure.test_id) in (
    select * from unnest(${cases.map(({ gradingId }) => gradingId)}::uuid[], ${cases.map(({ testId }) => testId)}::int[]))`;
  const rows = await sql<(CaseRow & { testId: number })[]>`
    with ${keptCases(sql, wanted)} select one.test_id as "testId", ${caseColumns(sql)}`;
  return new Map(rows.map(({ testId, ...row }) => [`${row.grading} ${testId}`, caseOf(row)]));
}

/** What the other ranks reported of the same tests: everything but the root's own failure. */
async function listFollowers(
  sql: SqlRunner,
  cases: readonly { gradingId: string; testId: number }[],
): Promise<RankFailure[]> {
  return sql<RankFailure[]>`
    select rank_outcome.grading_id as "gradingId", rank_outcome.test_id as "testId", rank_outcome.rank,
           rank_outcome.status, rank_outcome.failure
    from unnest(${cases.map(({ gradingId }) => gradingId)}::uuid[], ${cases.map(({ testId }) => testId)}::int[])
         as wanted (grading_id, test_id)
    join failure using (grading_id, test_id)
    join rank_outcome using (grading_id, test_id)
    where rank_outcome.status <> 'passed' and rank_outcome.rank is distinct from failure.root_rank
    order by rank_outcome.rank`;
}

/** How large a cluster is, and its members in other submissions; null where the scope has none of it. */
export async function findFailureCluster(
  sql: SqlRunner,
  scope: FailureScope,
  params: { signature: string; submissionId: string; limit: number },
): Promise<
  | (Omit<ClusterFacts, "status" | "exceptionType" | "types" | "example" | "followers"> & { elsewhere: FailureRow[] })
  | null
> {
  const within = { ...scope, filter: { ...scope.filter, signature: params.signature } };
  const [[size], rows] = await Promise.all([
    sql<{ signature: string; cases: number; attempts: number; submissions: number; entries: number; tasks: number }[]>`
      with ${casesOf(sql, within)} select signature, ${sizes(sql)} from failing group by signature`,
    sql<CaseRow[]>`
      with ${casesOf(sql, within)},
      one as (
        select * from failing where submission_id <> ${params.submissionId}
        order by task_id, test_position, entry_id, attempt_id limit ${params.limit}
      )
      select ${caseColumns(sql)} order by task.position, one.test_position, entry.slug, one.attempt_id`,
  ]);
  return size ? { ...size, elsewhere: rows.map(caseOf) } : null;
}
