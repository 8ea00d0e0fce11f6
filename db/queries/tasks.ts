import { and, asc, eq, inArray, ne, sql } from "drizzle-orm";
import type { TaskDetailFacts, TaskListFacts, TaskRowFacts } from "../../lib/contract/task-facts";
import { categories } from "../../lib/contract/vocabulary";
import type { Queryable } from "../client";
import { attemptSummaries, attempts, outcomes, taskPrompts, tasks, taskTests } from "../schema";
import { selectShownSubmissions, selectTaskFacts } from "./board";
import { findSource, findSuite, type SuiteRow } from "./suites";

async function suiteFacts(db: Queryable, suite: SuiteRow): Promise<TaskListFacts["suite"]> {
  const source = suite.sourceId === null ? null : await findSource(db, suite.sourceId);
  return {
    slug: suite.slug,
    version: suite.version,
    title: suite.title,
    summary: suite.summary,
    probes: suite.probes,
    taskCount: suite.taskCount,
    categoryCounts: categories.map((category) => ({ category, count: suite[`${category}Count`] })),
    citation: source && { title: source.title, url: source.url, published: source.published, extent: source.extent },
  };
}

/** The suite version's entries under every prompt condition and skill; reported ones have no tasks and are left out. */
async function listRows(db: Queryable, suiteId: number): Promise<TaskRowFacts[]> {
  const rows = (await selectShownSubmissions(db, suiteId)).filter((row) => row.tier !== "reported");
  const facts = await selectTaskFacts(
    db,
    rows.map((row) => row.submissionId),
  );
  return rows.map(({ submissionId, entry, promptCondition, skill, organization, tier, provisional }) => ({
    submissionId,
    entry,
    promptCondition,
    skill,
    organization,
    tier,
    provisional,
    tasks: facts.get(submissionId) ?? [],
  }));
}

/**
 * A suite version's tasks, each with its required tests by kind and property, and what every entry made of them; the
 * newest version where none is named. Outcomes are never read. Null where there is no such suite.
 */
export async function findTaskList(
  db: Queryable,
  params: { suite: string; version?: string | undefined },
): Promise<TaskListFacts | null> {
  const suite = await findSuite(db, { slug: params.suite, version: params.version });
  if (!suite) return null;
  const [listed, counts, rows] = await Promise.all([
    db
      .select({
        id: tasks.id,
        slug: tasks.slug,
        title: tasks.title,
        repo: tasks.repo,
        category: tasks.category,
        type: tasks.type,
        gpus: tasks.gpusGrade,
        ranks: tasks.ranks,
      })
      .from(tasks)
      .where(eq(tasks.suiteId, suite.id))
      .orderBy(asc(tasks.position)),
    db
      .select({
        taskId: taskTests.taskId,
        kind: taskTests.kind,
        property: taskTests.property,
        count: sql<number>`count(*)::int`,
      })
      .from(taskTests)
      .innerJoin(tasks, eq(tasks.id, taskTests.taskId))
      .where(and(eq(tasks.suiteId, suite.id), eq(taskTests.required, true)))
      .groupBy(taskTests.taskId, taskTests.kind, taskTests.property),
    listRows(db, suite.id),
  ]);
  return {
    suite: await suiteFacts(db, suite),
    tasks: listed.map(({ id, ...task }) => ({
      ...task,
      tests: counts.filter((one) => one.taskId === id).map(({ kind, property, count }) => ({ kind, property, count })),
    })),
    rows,
  };
}

/** One task with its prompts and tests, every entry's result on it, and which tests each entry passes. */
export async function findTask(
  db: Queryable,
  params: { suite: string; version: string; task: string },
): Promise<TaskDetailFacts | null> {
  const suite = await findSuite(db, { slug: params.suite, version: params.version });
  if (!suite) return null;
  const [task] = await db
    .select()
    .from(tasks)
    .where(and(eq(tasks.suiteId, suite.id), eq(tasks.slug, params.task)));
  if (!task) return null;
  const [prompts, tests, rows] = await Promise.all([
    db.select().from(taskPrompts).where(eq(taskPrompts.taskId, task.id)).orderBy(asc(taskPrompts.condition)),
    db
      .select({ definition: taskTests.definition })
      .from(taskTests)
      .where(eq(taskTests.taskId, task.id))
      .orderBy(asc(taskTests.position)),
    listRows(db, suite.id),
  ]);
  const ids = rows.map((row) => row.submissionId);
  const [tried, passed] = await Promise.all([listAttempted(db, task.id, ids), listPassed(db, task.id, ids)]);
  return {
    suite: await suiteFacts(db, suite),
    task: {
      slug: task.slug,
      title: task.title,
      repo: task.repo,
      category: task.category,
      type: task.type,
      gpus: task.gpusGrade,
      ranks: task.ranks,
      baseCommit: task.baseCommit,
      baseTree: task.baseTree,
      gradingDigest: task.gradingDigest,
      protectedPaths: task.manifest.task.protectedPaths,
    },
    prompts: prompts.map(({ condition, isDefault, digest, text }) => ({ condition, isDefault, digest, text })),
    interfaces: task.interfaces,
    tests: tests.map(({ definition }) => definition),
    rows,
    attempted: tried,
    passed,
  };
}

async function listAttempted(db: Queryable, taskId: number, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectDistinct({ id: attempts.submissionId })
    .from(attempts)
    .where(and(eq(attempts.taskId, taskId), inArray(attempts.submissionId, ids)));
  return new Set(rows.map((row) => row.id));
}

/** Tests that pass in the counting grading of any of a submission's attempts; a fault of the host judges nobody. */
async function listPassed(db: Queryable, taskId: number, ids: string[]): Promise<Map<string, Set<string>>> {
  const passed = new Map<string, Set<string>>();
  if (ids.length === 0) return passed;
  const rows = await db
    .select({
      id: attemptSummaries.submissionId,
      tests: sql<
        string[]
      >`coalesce(array_agg(distinct ${taskTests.name}) filter (where ${outcomes.status} = 'passed'), '{}')`,
    })
    .from(attemptSummaries)
    .leftJoin(outcomes, eq(outcomes.gradingId, attemptSummaries.gradingId))
    .leftJoin(taskTests, eq(taskTests.id, outcomes.testId))
    .where(
      and(
        eq(attemptSummaries.taskId, taskId),
        inArray(attemptSummaries.submissionId, ids),
        ne(attemptSummaries.verdict, "missing"),
      ),
    )
    .groupBy(attemptSummaries.submissionId);
  for (const row of rows) passed.set(row.id, new Set(row.tests));
  return passed;
}
