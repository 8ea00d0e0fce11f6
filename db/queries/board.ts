import { and, asc, desc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
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
const tierRank = sql`array_position(array['reported','signed','verified','reproduced'], ${submissionSummaries.tier})`;

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
      entry: {
        slug: entries.slug,
        kind: entries.kind,
        model: entries.model,
        agent: entries.agent,
        agentVersion: entries.agentVersion,
        reasoningEffort: entries.reasoningEffort,
        networkPolicy: entries.networkPolicy,
      },
      budget: {
        timeMin: entries.budgetTimeMin,
        costUsd: entries.budgetCostUsd,
        tokensM: entries.budgetTokensM,
        steps: entries.budgetSteps,
      },
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

/** Means are over every attempt of the submission: one that no grading counts for has resolved nothing. */
export async function selectTaskFacts(db: Queryable, ids: string[]): Promise<Map<string, TaskFacts[]>> {
  const facts = new Map<string, TaskFacts[]>();
  if (ids.length === 0) return facts;
  const tried = await db
    .select({
      submissionId: attempts.submissionId,
      task: tasks.slug,
      verdict: attemptSummaries.verdict,
      status: attemptSummaries.status,
      resolved: attemptSummaries.resolved,
      officialResolved: attemptSummaries.officialResolved,
      requiredPassed: attemptSummaries.requiredPassed,
      requiredTotal: attemptSummaries.requiredTotal,
    })
    .from(attempts)
    .leftJoin(attemptSummaries, eq(attemptSummaries.attemptId, attempts.id))
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .where(inArray(attempts.submissionId, ids))
    .orderBy(attempts.submissionId, asc(tasks.position), attempts.id);
  const byTask = new Map<string, typeof tried>();
  for (const attempt of tried) {
    const key = `${attempt.submissionId} ${attempt.task}`;
    byTask.set(key, [...(byTask.get(key) ?? []), attempt]);
  }
  for (const group of byTask.values()) {
    const shown =
      group.find((attempt) => attempt.resolved) ??
      group.find((attempt) => attempt.officialResolved) ??
      group.find((attempt) => attempt.verdict !== null);
    if (!shown?.verdict) continue;
    const total = (value: (attempt: (typeof tried)[number]) => number) =>
      group.reduce((sum, attempt) => sum + value(attempt), 0);
    const resolved = total((attempt) => Number(attempt.resolved ?? false));
    const officialResolved = total((attempt) => Number(attempt.officialResolved ?? false));
    const passed = total((attempt) =>
      attempt.requiredTotal ? (attempt.requiredPassed ?? 0) / attempt.requiredTotal : 0,
    );
    const list = facts.get(shown.submissionId) ?? [];
    list.push({
      task: shown.task,
      verdict: shown.verdict,
      score: resolved / group.length,
      officialScore: officialResolved / group.length,
      passedShare: passed / group.length,
      officialResolvedAttempts: officialResolved,
      probeRejectedAttempts: total((attempt) => Number(attempt.officialResolved === true && !attempt.resolved)),
      requiredPassed: shown.requiredPassed,
      requiredTotal: shown.requiredTotal,
      status: shown.status,
    });
    facts.set(shown.submissionId, list);
  }
  return facts;
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
