import { and, asc, desc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { BoardFacts } from "../../lib/contract/board-facts";
import type { RanEntry } from "../../lib/contract/compare-api";
import type { ComparisonFacts, FailureCount, RunFigures } from "../../lib/contract/compare-facts";
import type { Queryable } from "../client";
import {
  attemptSummaries,
  attempts,
  entries,
  failures,
  submissionSummaries,
  submissions,
  suites,
  tasks,
  taxonomyTypes,
} from "../schema";
import { findBoardFacts } from "./board";
import { entryColumns } from "./entries";
import { byVersion } from "./suites";

/** An entry with the suite versions on which it has a published row, in the order of pickers; null without any. */
export async function findRanEntry(db: Queryable, entrySlug: string): Promise<RanEntry | null> {
  const rows = await db
    .selectDistinctOn([suites.position, suites.slug, byVersion], {
      entry: {
        ...entryColumns,
        promptCondition: entries.promptCondition,
        skill: entries.skillName,
      },
      suite: { slug: suites.slug, version: suites.version, title: suites.title },
    })
    .from(submissions)
    .innerJoin(entries, eq(entries.id, submissions.entryId))
    .innerJoin(suites, eq(suites.id, submissions.suiteId))
    .innerJoin(submissionSummaries, eq(submissionSummaries.submissionId, submissions.id))
    .where(and(eq(entries.slug, entrySlug), isNotNull(submissions.publishedAt), isNull(submissions.withdrawnAt)))
    .orderBy(asc(suites.position), asc(suites.slug), desc(byVersion));
  const [first] = rows;
  return first ? { entry: first.entry, suites: rows.map(({ suite }) => suite) } : null;
}

/** Every board of a suite version that has a published row; null where there is no such suite version. */
export async function listBoardFacts(
  db: Queryable,
  params: { suite: string; version: string },
): Promise<BoardFacts[] | null> {
  const known = await db
    .selectDistinct({ promptCondition: entries.promptCondition, skill: entries.skillName })
    .from(submissions)
    .innerJoin(entries, eq(entries.id, submissions.entryId))
    .innerJoin(suites, eq(suites.id, submissions.suiteId))
    .where(
      and(
        eq(suites.slug, params.suite),
        eq(suites.version, params.version),
        isNotNull(submissions.publishedAt),
        isNull(submissions.withdrawnAt),
      ),
    )
    .orderBy(sql`${entries.skillName} nulls first`, asc(entries.promptCondition));
  const choices = known.length > 0 ? known : [{ promptCondition: "interface" as const, skill: null }];
  const found = await Promise.all(choices.map((choice) => findBoardFacts(db, { ...params, ...choice })));
  const boards = found.filter((facts) => facts !== null);
  return boards.length > 0 ? boards : null;
}

/** What two submissions are compared by beside their verdicts: the agent's runs, and what they fail by. */
export async function findComparedRuns(
  db: Queryable,
  submissionIds: string[],
): Promise<Pick<ComparisonFacts, "runs" | "failures">> {
  const [runs, failures] = await Promise.all([listRuns(db, submissionIds), countFailures(db, submissionIds)]);
  return { runs, failures };
}

/** Tokens of an attempt as the sum of its disjoint components, in millions; null where none is stated. */
const tokensM = sql<number | null>`
  case when coalesce(${attempts.inputTokens}, ${attempts.cacheReadTokens}, ${attempts.cacheWriteTokens},
                     ${attempts.outputTokens}, ${attempts.reasoningTokens}) is null then null
       else (coalesce(${attempts.inputTokens}, 0) + coalesce(${attempts.cacheReadTokens}, 0)
             + coalesce(${attempts.cacheWriteTokens}, 0) + coalesce(${attempts.outputTokens}, 0)
             + coalesce(${attempts.reasoningTokens}, 0)) end`;

async function listRuns(db: Queryable, ids: string[]): Promise<Map<string, Map<string, RunFigures>>> {
  const runs = new Map<string, Map<string, RunFigures>>();
  if (ids.length === 0) return runs;
  const rows = await db
    .select({
      submissionId: attempts.submissionId,
      task: tasks.slug,
      timeMin: sql<number | null>`avg(${attempts.timeMin})::float8`,
      costUsd: sql<number | null>`avg(${attempts.costUsd})::float8`,
      tokensM: sql<number | null>`avg(${tokensM})::float8 / 1e6`,
      steps: sql<number | null>`avg(${attempts.steps})::float8`,
    })
    .from(attempts)
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .where(inArray(attempts.submissionId, ids))
    .groupBy(attempts.submissionId, tasks.slug);
  for (const { submissionId, task, ...figures } of rows) {
    const run = runs.get(submissionId) ?? new Map<string, RunFigures>();
    runs.set(submissionId, run.set(task, figures));
  }
  return runs;
}

/** By the label that counts of each failure, which its row carries. */
async function countFailures(db: Queryable, ids: string[]): Promise<FailureCount[]> {
  if (ids.length === 0) return [];
  const [counted, types] = await Promise.all([
    db
      .select({
        submissionId: attemptSummaries.submissionId,
        class: failures.class,
        type: failures.type,
        attempts: sql<number>`count(distinct ${attemptSummaries.attemptId})::int`,
      })
      .from(attemptSummaries)
      .innerJoin(failures, eq(failures.gradingId, attemptSummaries.gradingId))
      .where(inArray(attemptSummaries.submissionId, ids))
      .groupBy(attemptSummaries.submissionId, failures.class, failures.type),
    db.select().from(taxonomyTypes).orderBy(desc(taxonomyTypes.createdAt), asc(taxonomyTypes.position)),
  ]);
  const place = (type: string) => {
    const at = types.findIndex((one) => one.type === type);
    return at < 0 ? types.length : at;
  };
  return counted
    .map((one) => ({ ...one, title: types.find(({ type }) => type === one.type)?.title ?? one.type }))
    .sort((a, b) => place(a.type) - place(b.type) || (a.type < b.type ? -1 : 1));
}
