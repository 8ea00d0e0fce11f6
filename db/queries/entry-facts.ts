import { and, asc, countDistinct, desc, eq, isNotNull, isNull, max, sql } from "drizzle-orm";
import type { EntryList } from "../../lib/contract/entry-api";
import type {
  EntryAttemptFacts,
  EntryFacts,
  EntryRunFacts,
  EntrySubmissionFacts,
} from "../../lib/contract/entry-facts";
import { categories } from "../../lib/contract/vocabulary";
import type { Queryable } from "../client";
import {
  attemptSummaries,
  attempts,
  entries,
  failures,
  gradings,
  hosts,
  organizations,
  publishedSources,
  submissionSummaries,
  submissions,
  suites,
  tasks,
  taxonomyTypes,
} from "../schema";
import { tierRank } from "./board";
import { budgetColumns, configurationOf, entryColumns } from "./entries";
import { byVersion } from "./suites";

/** Million tokens of an attempt over its disjoint components; null where none is stated. */
const tokensM = sql<number | null>`
  case when ${attempts.inputTokens} is null and ${attempts.cacheReadTokens} is null
         and ${attempts.cacheWriteTokens} is null and ${attempts.outputTokens} is null
         and ${attempts.reasoningTokens} is null then null
       else (coalesce(${attempts.inputTokens}, 0) + coalesce(${attempts.cacheReadTokens}, 0)
             + coalesce(${attempts.cacheWriteTokens}, 0) + coalesce(${attempts.outputTokens}, 0)
             + coalesce(${attempts.reasoningTokens}, 0))::float8 / 1e6 end`;

/** An entry with its published submissions; null where it has none that stands. */
export async function findEntryFacts(db: Queryable, slug: string): Promise<EntryFacts | null> {
  const [entry] = await db.select().from(entries).where(eq(entries.slug, slug));
  if (!entry) return null;
  const rows = await db
    .select({
      submission: submissions,
      suite: suites,
      organization: organizations.name,
      source: publishedSources,
      summary: submissionSummaries,
      attempts: db.$count(attempts, eq(attempts.submissionId, submissions.id)),
    })
    .from(submissions)
    .innerJoin(suites, eq(suites.id, submissions.suiteId))
    .innerJoin(organizations, eq(organizations.id, submissions.organizationId))
    .leftJoin(publishedSources, eq(publishedSources.id, submissions.sourceId))
    .leftJoin(submissionSummaries, eq(submissionSummaries.submissionId, submissions.id))
    .where(and(eq(submissions.entryId, entry.id), isNotNull(submissions.publishedAt), isNull(submissions.withdrawnAt)))
    .orderBy(
      asc(suites.position),
      asc(suites.slug),
      desc(byVersion),
      desc(submissions.publishedAt),
      desc(submissions.id),
    );
  if (rows.length === 0) return null;
  const bySuite = new Map<number, EntryFacts["suites"][number]>();
  for (const { submission, suite, organization, source, summary, attempts: tries } of rows) {
    const known = bySuite.get(suite.id) ?? { suite: suiteOf(suite), submissions: [] };
    known.submissions.push({
      id: submission.id,
      organization,
      publishedAt: (submission.publishedAt ?? submission.createdAt).toISOString(),
      attempts: tries,
      source: source && {
        key: source.key,
        title: source.title,
        url: source.url,
        published: source.published,
        extent: source.extent,
      },
      footnotes: submission.footnotes.map((note) => note.text),
      summary: summary && summaryOf(summary),
    });
    bySuite.set(suite.id, known);
  }
  return {
    slug: entry.slug,
    candidate: configurationOf(entry),
    suites: [...bySuite.values()],
  };
}

function suiteOf(suite: typeof suites.$inferSelect): EntryFacts["suites"][number]["suite"] {
  return {
    slug: suite.slug,
    version: suite.version,
    title: suite.title,
    summary: suite.summary,
    probes: suite.probes,
    taskCount: suite.taskCount,
    categoryCounts: categories.map((category) => ({ category, count: suite[`${category}Count`] })),
    ...(suite.standard ? { standard: suite.standard } : {}),
  };
}

function summaryOf(summary: typeof submissionSummaries.$inferSelect): EntrySubmissionFacts["summary"] {
  const { tier, taskCount, gradedCount, resolvedCount, resolvedPct, provisional } = summary;
  return { tier, taskCount, gradedCount, resolvedCount, resolvedPct, provisional };
}

const newestTaxonomy = sql`(select version from taxonomy_type order by created_at desc, version desc limit 1)`;

/** GPUs of the host of a grading, else its CPU. */
const hardware = sql<string>`
  case when jsonb_array_length(${gradings.host} -> 'gpus') > 0
       then jsonb_array_length(${gradings.host} -> 'gpus') || ' × ' || (${gradings.host} -> 'gpus' -> 0 ->> 'model')
       else (${gradings.host} ->> 'cpuModel') || ', ' || (${gradings.host} ->> 'cpuCount') || ' CPUs, no GPU' end`;

/** A submission's tasks and attempts with their counting gradings, and what these fail by. */
export async function findEntryRun(db: Queryable, submissionId: string): Promise<EntryRunFacts> {
  const [listed, tried, failing, types] = await Promise.all([
    db
      .select({ slug: tasks.slug, title: tasks.title, category: tasks.category, type: tasks.type })
      .from(tasks)
      .innerJoin(submissions, eq(submissions.suiteId, tasks.suiteId))
      .where(eq(submissions.id, submissionId))
      .orderBy(asc(tasks.position)),
    listAttempts(db, submissionId),
    db
      .select({ attempts: countDistinct(attemptSummaries.attemptId) })
      .from(attemptSummaries)
      .innerJoin(failures, eq(failures.gradingId, attemptSummaries.gradingId))
      .where(eq(attemptSummaries.submissionId, submissionId)),
    db
      .select({
        class: failures.class,
        type: failures.type,
        title: max(taxonomyTypes.title),
        position: max(taxonomyTypes.position),
        attempts: countDistinct(attemptSummaries.attemptId),
      })
      .from(attemptSummaries)
      .innerJoin(failures, eq(failures.gradingId, attemptSummaries.gradingId))
      .leftJoin(taxonomyTypes, and(eq(taxonomyTypes.type, failures.type), eq(taxonomyTypes.version, newestTaxonomy)))
      .where(eq(attemptSummaries.submissionId, submissionId))
      .groupBy(failures.class, failures.type)
      .orderBy(desc(countDistinct(attemptSummaries.attemptId)), asc(max(taxonomyTypes.position)), asc(failures.type)),
  ]);
  return {
    tasks: listed,
    attempts: tried,
    failing: failing[0]?.attempts ?? 0,
    failureTypes: types.map(({ position: _position, title, ...one }) => ({ ...one, title: title ?? one.type })),
  };
}

async function listAttempts(db: Queryable, submissionId: string): Promise<EntryAttemptFacts[]> {
  const rows = await db
    .select({
      task: tasks.slug,
      ordinal: attempts.ordinal,
      timeMin: attempts.timeMin,
      costUsd: attempts.costUsd,
      tokensM,
      steps: attempts.steps,
      summary: attemptSummaries,
      runnerVersion: gradings.runnerVersion,
      executor: gradings.executor,
      sandboxed: gradings.sandboxed,
      startedAt: gradings.startedAt,
      finishedAt: gradings.finishedAt,
      hardware,
      operator: organizations.name,
    })
    .from(attempts)
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .leftJoin(attemptSummaries, eq(attemptSummaries.attemptId, attempts.id))
    .leftJoin(gradings, eq(gradings.id, attemptSummaries.gradingId))
    .leftJoin(hosts, eq(hosts.id, gradings.hostId))
    .leftJoin(organizations, eq(organizations.id, hosts.organizationId))
    .where(eq(attempts.submissionId, submissionId))
    .orderBy(asc(tasks.position), asc(attempts.ordinal));
  return rows.map(
    ({ task, ordinal, timeMin, costUsd, tokensM: tokens, steps, summary, ...grading }): EntryAttemptFacts => {
      const { runnerVersion, executor, sandboxed, startedAt, finishedAt, operator } = grading;
      const isGraded =
        summary && runnerVersion !== null && executor !== null && sandboxed !== null && startedAt && finishedAt;
      return {
        task,
        ordinal,
        timeMin,
        costUsd,
        tokensM: tokens,
        steps,
        grading: isGraded
          ? {
              id: summary.gradingId,
              status: summary.status,
              verdict: summary.verdict,
              tier: summary.tier,
              requiredPassed: summary.requiredPassed,
              requiredTotal: summary.requiredTotal,
              resolved: summary.resolved,
              officialResolved: summary.officialResolved,
              runnerVersion,
              executor,
              sandboxed,
              startedAt: startedAt.toISOString(),
              finishedAt: finishedAt.toISOString(),
              hardware: grading.hardware,
              operator,
            }
          : null,
      };
    },
  );
}

/** Entries with a published submission, models first, each with what stands for it on each suite version. */
export async function listEntryFacts(
  db: Queryable,
  params: { suite?: string | undefined; version?: string | undefined } = {},
): Promise<EntryList["entries"]> {
  const rows = await db
    .selectDistinctOn([submissions.entryId, submissions.suiteId], {
      entryId: submissions.entryId,
      entry: entryColumns,
      budget: budgetColumns,
      promptCondition: entries.promptCondition,
      skill: entries.skillName,
      position: suites.position,
      suite: {
        slug: suites.slug,
        version: suites.version,
        title: suites.title,
        submissionId: submissions.id,
        tier: submissionSummaries.tier,
        provisional: submissionSummaries.provisional,
        resolvedPct: submissionSummaries.resolvedPct,
        taskCount: submissionSummaries.taskCount,
      },
    })
    .from(submissions)
    .innerJoin(entries, eq(entries.id, submissions.entryId))
    .innerJoin(suites, eq(suites.id, submissions.suiteId))
    .innerJoin(submissionSummaries, eq(submissionSummaries.submissionId, submissions.id))
    .where(
      and(
        isNotNull(submissions.publishedAt),
        isNull(submissions.withdrawnAt),
        params.suite === undefined ? undefined : eq(suites.slug, params.suite),
        params.version === undefined ? undefined : eq(suites.version, params.version),
      ),
    )
    .orderBy(
      submissions.entryId,
      submissions.suiteId,
      desc(tierRank),
      desc(submissions.publishedAt),
      desc(submissions.id),
    );
  const inOrder = rows.sort(
    (a, b) =>
      a.position - b.position ||
      a.suite.slug.localeCompare(b.suite.slug, "en") ||
      b.suite.version.localeCompare(a.suite.version, "en", { numeric: true }),
  );
  const byEntry = new Map<number, EntryList["entries"][number]>();
  for (const { entryId, entry, budget, promptCondition, skill, suite } of inOrder) {
    const known = byEntry.get(entryId) ?? { entry: { ...entry, budget }, promptCondition, skill, suites: [] };
    known.suites.push(suite);
    byEntry.set(entryId, known);
  }
  return [...byEntry.values()].sort(
    (a, b) =>
      Number(a.entry.kind === "reference") - Number(b.entry.kind === "reference") ||
      a.entry.model.localeCompare(b.entry.model, "en", { numeric: true }) ||
      a.entry.slug.localeCompare(b.entry.slug, "en"),
  );
}

/** Digests of skills by the slugs of the entries that have one. */
export async function listSkillDigests(db: Queryable): Promise<Map<string, string>> {
  const rows = await db
    .select({ slug: entries.slug, digest: entries.skillDigest })
    .from(entries)
    .where(isNotNull(entries.skillDigest));
  return new Map(rows.map(({ slug, digest }) => [slug, digest ?? ""]));
}
