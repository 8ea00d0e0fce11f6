import { and, eq, inArray, sql } from "drizzle-orm";
import type { ProbesFacts } from "../../lib/contract/probes-facts";
import type { Queryable } from "../client";
import { attemptSummaries, failures, suites, tasks, taskTests } from "../schema";

const passesOfficial = sql`${attemptSummaries.officialResolved} and ${attemptSummaries.verdict} <> 'missing'`;
const isRejected = sql`${passesOfficial} and not ${attemptSummaries.resolved}`;

/** What the probes did to the submissions' attempts. Outcomes are never read: a failing test is a failure. */
export async function findProbesFacts(
  db: Queryable,
  params: { suite: string; version: string; submissionIds: string[] },
): Promise<Omit<ProbesFacts, "board">> {
  const { submissionIds: ids } = params;
  const [counts, rejections, probes] = await Promise.all([
    ids.length === 0
      ? []
      : db
          .select({
            submissionId: attemptSummaries.submissionId,
            task: tasks.slug,
            officialResolved: sql<number>`count(*) filter (where ${passesOfficial})::int`,
            rejected: sql<number>`count(*) filter (where ${isRejected})::int`,
          })
          .from(attemptSummaries)
          .innerJoin(tasks, eq(tasks.id, attemptSummaries.taskId))
          .where(inArray(attemptSummaries.submissionId, ids))
          .groupBy(attemptSummaries.submissionId, tasks.slug),
    ids.length === 0
      ? []
      : db
          .selectDistinct({
            submissionId: attemptSummaries.submissionId,
            attemptId: attemptSummaries.attemptId,
            task: tasks.slug,
            property: taskTests.property,
          })
          .from(attemptSummaries)
          .innerJoin(tasks, eq(tasks.id, attemptSummaries.taskId))
          .innerJoin(failures, eq(failures.gradingId, attemptSummaries.gradingId))
          .innerJoin(taskTests, eq(taskTests.id, failures.testId))
          .where(and(inArray(attemptSummaries.submissionId, ids), isRejected, eq(taskTests.kind, "probe"))),
    db
      .select({
        property: taskTests.property,
        probes: sql<number>`count(*)::int`,
        tasks: sql<number>`count(distinct ${taskTests.taskId})::int`,
      })
      .from(taskTests)
      .innerJoin(tasks, eq(tasks.id, taskTests.taskId))
      .innerJoin(suites, eq(suites.id, tasks.suiteId))
      .where(
        and(
          eq(suites.slug, params.suite),
          eq(suites.version, params.version),
          eq(taskTests.kind, "probe"),
          eq(taskTests.required, true),
        ),
      )
      .groupBy(taskTests.property),
  ]);
  return { counts, rejections, probes };
}
