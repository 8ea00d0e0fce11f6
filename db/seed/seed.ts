import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { categories } from "../../lib/contract/vocabulary";
import { createDatabase, type Transaction } from "../client";
import { recordEntry } from "../queries/entries";
import { recordOrganization } from "../queries/organizations";
import {
  publishedFigures,
  publishedSources,
  publishedTables,
  submissionCategorySummaries,
  submissionSummaries,
  submissions,
  suites,
  taxonomyTypes,
} from "../schema";
import { type Publication, publishedTablesOf, readPublication } from "./publication";
import { taxonomy } from "./taxonomy";

/**
 * Writes what every installation starts with: the published figures, suite `infradev` 1.0 with its reported rows, and
 * the taxonomy. One transaction; running it again changes nothing.
 */
export async function seedDatabase(url: string): Promise<{ reportedRows: number; figures: number }> {
  const { db, close } = createDatabase(url, { max: 1 });
  try {
    return await db.transaction(async (tx) => {
      const publication = readPublication();
      await tx
        .insert(taxonomyTypes)
        .values(taxonomy.types.map((type, position) => ({ version: taxonomy.version, ...type, position })))
        .onConflictDoNothing();
      const sourceId = await seedSource(tx, publication);
      const figures = await seedFigures(tx, publication, sourceId);
      const reportedRows = await seedReportedRows(tx, publication, sourceId);
      return { reportedRows, figures };
    });
  } finally {
    await close();
  }
}

async function seedSource(tx: Transaction, { source }: Publication): Promise<number> {
  const values = {
    key: `arxiv:${source.arxiv}`,
    title: source.title,
    url: source.url,
    published: source.published,
    extent: source.extent,
  };
  const [row] = await tx
    .insert(publishedSources)
    .values(values)
    .onConflictDoUpdate({ target: publishedSources.key, set: values })
    .returning({ id: publishedSources.id });
  if (!row) throw new Error("an upsert returns its row");
  return row.id;
}

async function seedFigures(tx: Transaction, publication: Publication, sourceId: number): Promise<number> {
  await tx.delete(publishedFigures).where(eq(publishedFigures.sourceId, sourceId));
  await tx.delete(publishedTables).where(eq(publishedTables.sourceId, sourceId));
  const tables = publishedTablesOf(publication);
  await tx.insert(publishedTables).values(
    tables.map(({ key, title, repository, missing, note }, position) => ({
      sourceId,
      key,
      position,
      title,
      repository,
      missing,
      note,
    })),
  );
  const figures = tables.flatMap((table) =>
    table.rows.flatMap((row, rowPosition) =>
      row.cells.map((cell, columnPosition) => ({
        sourceId,
        tableKey: table.key,
        rowKey: row.key,
        rowLabel: row.label,
        rowPosition,
        columnKey: cell.column,
        columnPosition,
        value: cell.value,
        printed: cell.printed,
        unit: cell.unit,
        footnote: row.footnote,
      })),
    ),
  );
  await tx.insert(publishedFigures).values(figures);
  return figures.length;
}

async function seedReportedRows(tx: Transaction, publication: Publication, sourceId: number): Promise<number> {
  const counts = publication.category_task_counts;
  const taskCount = counts.training + counts.inference + counts.rl;
  const suiteValues = {
    slug: "infradev",
    version: "1.0",
    title: "InfraDev",
    summary: `${taskCount} tasks from pull requests to Megatron-LM, vLLM and verl. The tasks are not published; the rows are copied from the paper.`,
    probes: "hidden" as const,
    taskCount,
    trainingCount: counts.training,
    inferenceCount: counts.inference,
    rlCount: counts.rl,
    sourceId,
    position: 0,
  };
  const [suite] = await tx
    .insert(suites)
    .values(suiteValues)
    .onConflictDoUpdate({ target: [suites.slug, suites.version], set: suiteValues })
    .returning({ id: suites.id });
  if (!suite) throw new Error("an upsert returns its row");
  const organizationId = await recordOrganization(tx, { slug: "infradev-authors", name: "InfraDev's authors" });

  for (const overall of publication.table2_overall) {
    const model = publication.models.find(({ slug }) => slug === overall.model);
    const resolved = publication.derived_resolved_counts[overall.model];
    if (!model || !resolved || typeof resolved === "string")
      throw new Error(`the publication lacks a part of ${overall.model}`);
    const entryId = await recordEntry(tx, {
      kind: "model",
      model: model.name,
      agent: null,
      agentVersion: null,
      reasoningEffort: null,
      promptCondition: "interface",
      skill: null,
      networkPolicy: "not-stated",
      budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
    });
    const submissionId = reportedSubmissionId(publication.source.arxiv, overall.model);
    const note = overall.note ? publication.notes[overall.note] : undefined;
    const values = {
      suiteId: suite.id,
      entryId,
      organizationId,
      sourceId,
      footnotes: overall.note && note ? [{ key: overall.note, text: note }] : [],
      publishedAt: new Date(`${publication.source.published}T00:00:00Z`),
    };
    await tx
      .insert(submissions)
      .values({ id: submissionId, createdAt: values.publishedAt, ...values })
      .onConflictDoUpdate({ target: submissions.id, set: values });
    const summary = {
      tier: "reported" as const,
      taskCount,
      gradedCount: taskCount,
      resolvedCount: resolved.total,
      resolvedPct: overall.resolved_pct,
      passedPct: overall.passed_pct,
      timeMin: overall.time_min,
      costUsd: overall.cost_usd,
      tokensM: overall.tokens_m,
    };
    await tx
      .insert(submissionSummaries)
      .values({ submissionId, ...summary })
      .onConflictDoUpdate({ target: submissionSummaries.submissionId, set: summary });
    for (const category of categories) {
      const row = { taskCount: counts[category], resolvedCount: resolved[category] };
      await tx
        .insert(submissionCategorySummaries)
        .values({ submissionId, category, ...row })
        .onConflictDoUpdate({
          target: [submissionCategorySummaries.submissionId, submissionCategorySummaries.category],
          set: row,
        });
    }
  }
  return publication.table2_overall.length;
}

/** The same publication and model always get the same submission, so links survive a new seed. */
function reportedSubmissionId(arxiv: string, model: string): string {
  const hex = createHash("sha256").update(`reported:${arxiv}:${model}`).digest("hex");
  // RFC 9562 version 8: custom, name-based.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
