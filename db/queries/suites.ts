import { createHash } from "node:crypto";
import { and, asc, desc, eq, sql } from "drizzle-orm";
import { InfraDevError } from "../../lib/contract/errors";
import type { PackedSuite } from "../../lib/contract/task";
import type { Category, PromptCondition } from "../../lib/contract/vocabulary";
import { categories } from "../../lib/contract/vocabulary";
import type { Queryable, Transaction } from "../client";
import { publishedSources, suites, taskPrompts, tasks, taskTests } from "../schema";

export type SuiteRow = typeof suites.$inferSelect;

/** Newest version first; versions compare as numbers, so 1.10 follows 1.9. */
export const byVersion = sql`string_to_array(${suites.version}, '.')::int[]`;

/** Every suite version, in the order of pickers: by position, newest version first. */
export function listSuites(db: Queryable): Promise<SuiteRow[]> {
  return db.select().from(suites).orderBy(asc(suites.position), asc(suites.slug), desc(byVersion));
}

/** One suite version; the newest where none is named. */
export async function findSuite(
  db: Queryable,
  params: { slug: string; version?: string | undefined },
): Promise<SuiteRow | null> {
  const [row] = await db
    .select()
    .from(suites)
    .where(
      params.version
        ? and(eq(suites.slug, params.slug), eq(suites.version, params.version))
        : eq(suites.slug, params.slug),
    )
    .orderBy(desc(byVersion))
    .limit(1);
  return row ?? null;
}

export type SuiteTask = {
  id: number;
  slug: string;
  title: string;
  category: Category;
  type: (typeof tasks.$inferSelect)["type"];
};

/** A suite's tasks in display order. */
export function listTasks(db: Queryable, suiteId: number): Promise<SuiteTask[]> {
  return db
    .select({ id: tasks.id, slug: tasks.slug, title: tasks.title, category: tasks.category, type: tasks.type })
    .from(tasks)
    .where(eq(tasks.suiteId, suiteId))
    .orderBy(asc(tasks.position));
}

export async function findSource(db: Queryable, id: number) {
  const [row] = await db.select().from(publishedSources).where(eq(publishedSources.id, id));
  return row ?? null;
}

/**
 * Writes a packed suite. A pack of a version that is here may differ in wording (titles, summary, requirements), in the
 * standard that rows are compared with, and in whether the probes are open, which is updated; one whose grading digests or prompts differ is refused, since results
 * under one version must be comparable.
 */
export async function importSuite(tx: Transaction, pack: PackedSuite): Promise<{ suiteId: number; created: boolean }> {
  const { suite } = pack;
  const known = await findSuite(tx, { slug: suite.slug, version: suite.version });
  if (known) {
    const before = await tx
      .select({ id: tasks.id, slug: tasks.slug, gradingDigest: tasks.gradingDigest, manifest: tasks.manifest })
      .from(tasks)
      .where(eq(tasks.suiteId, known.id));
    const taskOf = new Map(before.map((task) => [task.slug, task]));
    const changed = pack.tasks.find(
      ({ manifest }) => taskOf.get(manifest.task.slug)?.gradingDigest !== manifest.digests.grading,
    );
    if (changed || before.length !== pack.tasks.length)
      throw new InfraDevError("conflict", {
        code: "suite.version-taken",
        message: `suite ${suite.slug} ${suite.version} exists and grades differently${changed ? `: task ${changed.manifest.task.slug} has another grading digest` : ": it has other tasks"}`,
        where: `${suite.slug}@${suite.version}`,
        rule: "one suite version, one set of grading digests",
        remedy:
          "raise the version in suite.toml (minor where results need a regrade, major where agents must run again)",
      });
    const prompted = pack.tasks.find(({ manifest: { task, digests } }) => {
      const prompts = taskOf.get(task.slug)?.manifest.digests.prompts ?? {};
      return [...new Set([...Object.keys(prompts), ...Object.keys(digests.prompts)])].some(
        (condition) => prompts[condition as PromptCondition] !== digests.prompts[condition as PromptCondition],
      );
    });
    if (prompted)
      throw new InfraDevError("conflict", {
        code: "suite.version-taken",
        message: `suite ${suite.slug} ${suite.version} exists with other prompts: task ${prompted.manifest.task.slug}`,
        where: `${suite.slug}@${suite.version}`,
        rule: "one suite version, one set of prompts",
        remedy: "raise the major version in suite.toml: agents must run again",
      });
    await tx
      .update(suites)
      .set({ title: suite.title, summary: suite.summary, probes: suite.probes, standard: suite.standard ?? null })
      .where(eq(suites.id, known.id));
    for (const { manifest, interfaces } of pack.tasks) {
      const task = taskOf.get(manifest.task.slug);
      if (!task) throw new Error("a task whose digest is the same is here");
      await tx.update(tasks).set({ title: manifest.task.title, manifest, interfaces }).where(eq(tasks.id, task.id));
      for (const test of manifest.tests)
        await tx
          .update(taskTests)
          .set({ definition: test })
          .where(and(eq(taskTests.taskId, task.id), eq(taskTests.name, test.id)));
    }
    return { suiteId: known.id, created: false };
  }
  const count = (category: Category) => pack.tasks.filter(({ manifest }) => manifest.task.category === category).length;
  const [row] = await tx
    .insert(suites)
    .values({
      slug: suite.slug,
      version: suite.version,
      title: suite.title,
      summary: suite.summary,
      probes: suite.probes,
      standard: suite.standard ?? null,
      taskCount: pack.tasks.length,
      ...Object.fromEntries(categories.map((category) => [`${category}Count`, count(category)])),
    } as typeof suites.$inferInsert)
    .returning({ id: suites.id });
  if (!row) throw new Error("an insert returns its row");
  for (const [position, { manifest, prompts, interfaces }] of pack.tasks.entries()) {
    const [task] = await tx
      .insert(tasks)
      .values({
        suiteId: row.id,
        slug: manifest.task.slug,
        title: manifest.task.title,
        repo: manifest.task.repo,
        category: manifest.task.category,
        type: manifest.task.type,
        position,
        baseTree: manifest.task.baseTree,
        baseCommit: manifest.task.baseCommit,
        gpusGrade: manifest.task.gpusGrade,
        ranks: Math.max(...manifest.groups.map((group) => group.nproc)),
        gradingDigest: manifest.digests.grading,
        manifest,
        interfaces,
      })
      .returning({ id: tasks.id });
    if (!task) throw new Error("an insert returns its row");
    if (prompts.length > 0)
      await tx.insert(taskPrompts).values(
        prompts.map(
          ({
            condition,
            default: isDefault,
            text,
          }: {
            condition: PromptCondition;
            default: boolean;
            text: string;
          }) => ({
            taskId: task.id,
            condition,
            isDefault,
            text,
            digest: manifest.digests.prompts[condition] ?? createHash("sha256").update(text).digest("hex"),
          }),
        ),
      );
    await tx.insert(taskTests).values(
      manifest.tests.map((test, index) => ({
        taskId: task.id,
        name: test.id,
        position: index,
        kind: test.kind,
        expectation: test.expectation,
        property: test.property,
        required: test.required,
        definition: test,
      })),
    );
  }
  return { suiteId: row.id, created: true };
}
