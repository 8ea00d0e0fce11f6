import { and, desc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { BoardFacts, BoardRowFacts, TaskFacts } from "../../lib/contract/board-facts";
import { categories, type PromptCondition } from "../../lib/contract/vocabulary";
import type { Queryable } from "../client";
import {
  attemptSummaries,
  attempts,
  entries,
  organizations,
  submissionCategorySummaries,
  submissionSummaries,
  submissions,
  tasks,
} from "../schema";
import { budgetColumns, entryColumns } from "./entries";
import { findSource, findSuite, listTasks, type SuiteRow } from "./suites";

export interface BoardParams {
  suite: string;
  /** The newest where left out. */
  version?: string | undefined;
  promptCondition: PromptCondition;
  /** Name of the skill, null for the board without one. */
  skill: string | null;
  /** Only this submission, whether its board shows it or not. */
  submissionId?: string | undefined;
}

/** Weakest to strongest, so that the highest tier sorts first in descending order. */
export const tierRank = sql`array_position(array['reported','signed','verified','reproduced'], ${submissionSummaries.tier})`;

/**
 * Everything that a board is computed from: each entry's newest published submission of its highest tier, and the
 * summaries that ingest keeps. Outcomes are never read. Null where the suite does not exist.
 */
export async function findBoardFacts(db: Queryable, params: BoardParams): Promise<BoardFacts | null> {
  const suite = await findSuite(db, { slug: params.suite, version: params.version });
  if (!suite) return null;
  const suiteTasks = await listTasks(db, suite.id);
  const source = suite.sourceId === null ? null : await findSource(db, suite.sourceId);
  const rows = await selectShownSubmissions(db, suite.id, params);
  const ids = rows.map((row) => row.submissionId);
  const [graded, reported] = await Promise.all([selectTaskFacts(db, ids), selectCategoryShares(db, ids)]);
  const notes: Record<string, string> = {};
  for (const row of rows) for (const note of row.footnotes) notes[note.key] = note.text;
  return {
    suite: {
      slug: suite.slug,
      version: suite.version,
      title: suite.title,
      summary: suite.summary,
      probes: suite.probes,
      taskCount: suite.taskCount,
      categoryCounts: categories.map((category) => ({
        category,
        count: suite[`${category}Count` satisfies keyof SuiteRow],
      })),
      tasks: suiteTasks.map(({ slug, title, category, type }) => ({ slug, title, category, type })),
      citation: source && { title: source.title, url: source.url, published: source.published, extent: source.extent },
      ...(suite.standard ? { standard: suite.standard } : {}),
    },
    promptCondition: params.promptCondition,
    skill: params.skill,
    notes,
    rows: rows.map(
      (row): BoardRowFacts => ({
        entry: row.entry,
        submissionId: row.submissionId,
        organization: row.organization,
        tier: row.tier,
        provisional: row.provisional,
        evidence:
          row.tier === "reported"
            ? {
                kind: "reported",
                resolved: { resolved: row.resolvedCount, total: row.taskCount, pct: row.resolvedPct },
                officialResolved:
                  row.officialResolvedCount === null
                    ? null
                    : {
                        resolved: row.officialResolvedCount,
                        total: row.taskCount,
                        pct: (100 * row.officialResolvedCount) / row.taskCount,
                      },
                passedPct: row.passedPct,
                byCategory: reported.get(row.submissionId) ?? [],
              }
            : { kind: "graded", tasks: graded.get(row.submissionId) ?? [] },
        timeMin: row.timeMin,
        costUsd: row.costUsd,
        tokensM: row.tokensM,
        steps: row.steps,
        footnotes: row.footnotes.map((note) => note.key),
        date: (row.publishedAt ?? row.createdAt).toISOString(),
      }),
    ),
  };
}

/**
 * Each entry's newest published submission of its highest tier on a suite version, with its summary; of one prompt
 * condition and skill where these are given.
 */
export async function selectShownSubmissions(
  db: Queryable,
  suiteId: number,
  {
    promptCondition,
    skill,
    submissionId,
  }: Partial<Pick<BoardParams, "promptCondition" | "skill" | "submissionId">> = {},
) {
  const rows = await db
    .selectDistinctOn([submissions.entryId], {
      submissionId: submissions.id,
      createdAt: submissions.createdAt,
      publishedAt: submissions.publishedAt,
      footnotes: submissions.footnotes,
      organization: organizations.name,
      entry: entryColumns,
      budget: budgetColumns,
      promptCondition: entries.promptCondition,
      skill: entries.skillName,
      tier: submissionSummaries.tier,
      taskCount: submissionSummaries.taskCount,
      resolvedCount: submissionSummaries.resolvedCount,
      resolvedPct: submissionSummaries.resolvedPct,
      officialResolvedCount: submissionSummaries.officialResolvedCount,
      passedPct: submissionSummaries.passedPct,
      timeMin: submissionSummaries.timeMin,
      costUsd: submissionSummaries.costUsd,
      tokensM: submissionSummaries.tokensM,
      steps: submissionSummaries.steps,
      provisional: submissionSummaries.provisional,
    })
    .from(submissions)
    .innerJoin(entries, eq(entries.id, submissions.entryId))
    .innerJoin(organizations, eq(organizations.id, submissions.organizationId))
    .innerJoin(submissionSummaries, eq(submissionSummaries.submissionId, submissions.id))
    .where(
      and(
        eq(submissions.suiteId, suiteId),
        promptCondition && eq(entries.promptCondition, promptCondition),
        skill === undefined ? undefined : skill === null ? isNull(entries.skillName) : eq(entries.skillName, skill),
        isNull(submissions.withdrawnAt),
        submissionId === undefined ? isNotNull(submissions.publishedAt) : eq(submissions.id, submissionId),
      ),
    )
    .orderBy(submissions.entryId, desc(tierRank), desc(submissions.publishedAt), desc(submissions.id));
  return rows.map(({ budget, ...row }) => ({ ...row, entry: { ...row.entry, budget } }));
}

/** An attempt as `selectTaskFacts` reads it: in an array, since a board of 500 rows has 18,000 of them. */
type TriedRow = [
  taskId: number,
  verdict: TaskFacts["verdict"] | null,
  status: TaskFacts["status"],
  resolved: boolean | null,
  officialResolved: boolean | null,
  requiredPassed: number | null,
  requiredTotal: number | null,
];

/** Means are over every attempt of the submission: one that no grading counts for has resolved nothing. */
export async function selectTaskFacts(db: Queryable, ids: string[]): Promise<Map<string, TaskFacts[]>> {
  const facts = new Map<string, TaskFacts[]>();
  if (ids.length === 0) return facts;
  // A row for each submission: one for each attempt would cost more to send and to read than to find.
  const rows = await db
    .select({
      submissionId: attempts.submissionId,
      tried: sql<string | TriedRow[]>`json_agg(json_build_array(${attempts.taskId}, ${attemptSummaries.verdict},
        ${attemptSummaries.status}, ${attemptSummaries.resolved}, ${attemptSummaries.officialResolved},
        ${attemptSummaries.requiredPassed}, ${attemptSummaries.requiredTotal}) order by ${tasks.position}, ${attempts.id})`,
    })
    .from(attempts)
    .leftJoin(
      attemptSummaries,
      // Said twice, so that a submission's summaries are read together and not one by one.
      and(eq(attemptSummaries.attemptId, attempts.id), inArray(attemptSummaries.submissionId, ids)),
    )
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .where(inArray(attempts.submissionId, ids))
    .groupBy(attempts.submissionId);
  const tried = new Map(
    rows.map((row): [string, TriedRow[]] => [
      row.submissionId,
      typeof row.tried === "string" ? JSON.parse(row.tried) : row.tried,
    ]),
  );
  const taskIds = [...new Set([...tried.values()].flatMap((list) => list.map(([taskId]) => taskId)))];
  const named =
    taskIds.length === 0
      ? []
      : await db.select({ id: tasks.id, slug: tasks.slug }).from(tasks).where(inArray(tasks.id, taskIds));
  const slugs = new Map(named.map(({ id, slug }) => [id, slug]));
  for (const [submissionId, list] of tried) {
    const byTask = new Map<number, TriedRow[]>();
    for (const attempt of list) {
      const group = byTask.get(attempt[0]);
      if (group) group.push(attempt);
      else byTask.set(attempt[0], [attempt]);
    }
    const shown = [...byTask].flatMap(([taskId, group]) => taskFactsOf(slugs.get(taskId) ?? "", group) ?? []);
    if (shown.length > 0) facts.set(submissionId, shown);
  }
  return facts;
}

/** What a submission's attempts at one task come to; null where none of them was graded. */
function taskFactsOf(task: string, group: TriedRow[]): TaskFacts | null {
  let resolved = 0;
  let officialResolved = 0;
  let rejected = 0;
  let passed = 0;
  for (const [, , , resolves, official, requiredPassed, requiredTotal] of group) {
    resolved += Number(resolves ?? false);
    officialResolved += Number(official ?? false);
    rejected += Number(official === true && !resolves);
    passed += requiredTotal ? (requiredPassed ?? 0) / requiredTotal : 0;
  }
  const shown =
    group.find(([, , , resolves]) => resolves) ??
    group.find(([, , , , official]) => official) ??
    group.find(([, verdict]) => verdict !== null);
  if (!shown) return null;
  const [, verdict, status, , , requiredPassed, requiredTotal] = shown;
  if (verdict === null) return null;
  return {
    task,
    verdict,
    score: resolved / group.length,
    officialScore: officialResolved / group.length,
    passedShare: passed / group.length,
    officialResolvedAttempts: officialResolved,
    probeRejectedAttempts: rejected,
    requiredPassed,
    requiredTotal,
    status,
  };
}

async function selectCategoryShares(db: Queryable, ids: string[]) {
  const shares = new Map<string, (BoardRowFacts["evidence"] & { kind: "reported" })["byCategory"]>();
  if (ids.length === 0) return shares;
  const rows = await db
    .select()
    .from(submissionCategorySummaries)
    .where(inArray(submissionCategorySummaries.submissionId, ids));
  for (const row of rows) {
    const list = shares.get(row.submissionId) ?? [];
    list.push({
      category: row.category,
      resolved: row.resolvedCount,
      total: row.taskCount,
      pct: row.taskCount === 0 ? 0 : (100 * row.resolvedCount) / row.taskCount,
    });
    shares.set(row.submissionId, list);
  }
  return shares;
}
