import { and, asc, desc, eq, isNull } from "drizzle-orm";
import type { AttemptDetail, SubmissionDetail } from "../../lib/contract/api";
import type { Resource, TestOutcome } from "../../lib/contract/result";
import type { Queryable, Transaction } from "../client";
import {
  attemptSummaries,
  attempts,
  entries,
  gradings,
  jobs,
  labels,
  organizations,
  outcomes,
  payloadFiles,
  publishedSources,
  rankOutcomes,
  resourceMeasures,
  submissionSummaries,
  submissions,
  suites,
  tasks,
  taskTests,
} from "../schema";
import { configurationOf } from "./entries";

export interface NewSubmission {
  suiteId: number;
  entryId: number;
  organizationId: number;
  attempts: { taskId: number; label: string | null; patchSha256: string; patchBytes: number }[];
}

/** Writes a published submission with one attempt per given task. */
export async function recordSubmission(
  tx: Transaction,
  submission: NewSubmission,
): Promise<{ id: string; attempts: { id: string; taskId: number }[] }> {
  const { suiteId, entryId, organizationId } = submission;
  const [row] = await tx
    .insert(submissions)
    .values({ suiteId, entryId, organizationId, publishedAt: new Date() })
    .returning({ id: submissions.id });
  if (!row) throw new Error("an insert returns its row");
  const made =
    submission.attempts.length === 0
      ? []
      : await tx
          .insert(attempts)
          .values(submission.attempts.map((attempt) => ({ submissionId: row.id, ...attempt })))
          .returning({ id: attempts.id, taskId: attempts.taskId });
  return { id: row.id, attempts: made };
}

const gradingColumns = {
  id: gradings.id,
  status: gradings.status,
  reason: gradings.reason,
  tier: gradings.tier,
  executor: gradings.executor,
  sandboxed: gradings.sandboxed,
  late: gradings.late,
  startedAt: gradings.startedAt,
  durationMs: gradings.durationMs,
  receivedAt: gradings.receivedAt,
  requiredTotal: gradings.requiredTotal,
  requiredPassed: gradings.requiredPassed,
  resolved: gradings.resolved,
  officialTotal: gradings.officialTotal,
  officialPassed: gradings.officialPassed,
  officialResolved: gradings.officialResolved,
  bundleSha256: gradings.bundleSha256,
  bundleBytes: gradings.bundleBytes,
  keyid: gradings.keyid,
};
type GradingColumns = { [K in keyof typeof gradingColumns]: (typeof gradings.$inferSelect)[K] };
type GradingSummary = NonNullable<AttemptDetail["grading"]>;

function gradingSummaryOf(grading: GradingColumns, countingId: string | null): GradingSummary {
  const {
    requiredTotal,
    requiredPassed,
    resolved,
    officialTotal,
    officialPassed,
    officialResolved,
    startedAt,
    receivedAt,
    ...rest
  } = grading;
  return {
    ...rest,
    counts: grading.id === countingId,
    startedAt: startedAt.toISOString(),
    receivedAt: receivedAt.toISOString(),
    summary: { requiredTotal, requiredPassed, resolved, officialTotal, officialPassed, officialResolved },
  };
}

export type SubmissionFacts = Omit<SubmissionDetail, "row">;

/** A submission with its attempts, the grading of each that counts, and where its job stands. Null where there is none. */
export async function findSubmission(db: Queryable, id: string): Promise<SubmissionFacts | null> {
  const [head] = await db
    .select({
      submission: submissions,
      entry: entries,
      suite: suites,
      organization: organizations,
      source: publishedSources,
      summary: submissionSummaries,
    })
    .from(submissions)
    .innerJoin(entries, eq(entries.id, submissions.entryId))
    .innerJoin(suites, eq(suites.id, submissions.suiteId))
    .innerJoin(organizations, eq(organizations.id, submissions.organizationId))
    .leftJoin(publishedSources, eq(publishedSources.id, submissions.sourceId))
    .leftJoin(submissionSummaries, eq(submissionSummaries.submissionId, submissions.id))
    .where(and(eq(submissions.id, id), isNull(submissions.withdrawnAt)));
  if (!head) return null;
  const { submission, entry, suite, organization, source, summary } = head;
  const rows = await db
    .select({
      attempt: attempts,
      task: { slug: tasks.slug, title: tasks.title, category: tasks.category },
      verdict: attemptSummaries.verdict,
      grading: gradingColumns,
    })
    .from(attempts)
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .leftJoin(attemptSummaries, eq(attemptSummaries.attemptId, attempts.id))
    .leftJoin(gradings, eq(gradings.id, attemptSummaries.gradingId))
    .where(eq(attempts.submissionId, id))
    .orderBy(asc(tasks.position), asc(attempts.ordinal));
  const states = new Map<string, string>();
  for (const job of await db
    .select({ attemptId: jobs.attemptId, state: jobs.state })
    .from(jobs)
    .innerJoin(attempts, eq(attempts.id, jobs.attemptId))
    .where(eq(attempts.submissionId, id))
    .orderBy(asc(jobs.createdAt)))
    states.set(job.attemptId, job.state);
  return {
    id,
    suite: { slug: suite.slug, version: suite.version, title: suite.title },
    organization: organization.name,
    candidate: configurationOf(entry),
    entrySlug: entry.slug,
    tier: summary?.tier ?? "signed",
    provisional: summary?.provisional ?? false,
    createdAt: submission.createdAt.toISOString(),
    source: source && { title: source.title, url: source.url },
    footnotes: submission.footnotes.map((note) => note.text),
    attempts: rows.map(({ attempt, task, verdict, grading }) => ({
      id: attempt.id,
      task: task.slug,
      taskTitle: task.title,
      category: task.category,
      label: attempt.label,
      patchSha256: attempt.patchSha256,
      patchBytes: attempt.patchBytes,
      verdict: verdict ?? "missing",
      jobState: states.get(attempt.id) ?? null,
      grading: grading && gradingSummaryOf(grading, grading.id),
    })),
  };
}

/** What an attempt's page shows, but for the patch's text, which lies in the blob store, and its trajectory. */
export type AttemptFacts = Omit<AttemptDetail, "attempt" | "submission"> & {
  submission: Omit<SubmissionFacts, "attempts">;
  attempt: Omit<AttemptDetail["attempt"], "patch" | "patchTruncated" | "trajectory"> & { patchBytes: number };
};

/** The newest attempt of a submission at a task. Null where there is none. */
export async function findAttempt(
  db: Queryable,
  params: { submissionId: string; task: string },
): Promise<AttemptFacts | null> {
  const submission = await findSubmission(db, params.submissionId);
  if (!submission) return null;
  const [row] = await db
    .select({ attempt: attempts, task: tasks, probes: suites.probes, countingId: attemptSummaries.gradingId })
    .from(attempts)
    .innerJoin(tasks, eq(tasks.id, attempts.taskId))
    .innerJoin(suites, eq(suites.id, tasks.suiteId))
    .leftJoin(attemptSummaries, eq(attemptSummaries.attemptId, attempts.id))
    .where(and(eq(attempts.submissionId, params.submissionId), eq(tasks.slug, params.task)))
    .orderBy(desc(attempts.ordinal))
    .limit(1);
  if (!row) return null;
  const { attempt, task, probes, countingId } = row;
  const all = await db
    .select()
    .from(gradings)
    .where(eq(gradings.attemptId, attempt.id))
    .orderBy(desc(gradings.receivedAt));
  const grading = all.find((candidate) => candidate.id === countingId) ?? null;
  const { attempts: _attempts, ...head } = submission;
  return {
    submission: head,
    attempt: { id: attempt.id, label: attempt.label, patchSha256: attempt.patchSha256, patchBytes: attempt.patchBytes },
    task: { slug: task.slug, title: task.title, repo: task.repo, category: task.category, type: task.type, probes },
    manifestTests: task.manifest.tests,
    grading: grading && gradingSummaryOf(grading, countingId),
    otherGradings: all
      .filter((candidate) => candidate !== grading)
      .map((candidate) => gradingSummaryOf(candidate, countingId)),
    tests: grading ? await listOutcomes(db, grading.id) : [],
    launches: grading?.launches ?? [],
    host: grading?.host ?? null,
    guard: grading?.guard ?? null,
    logs: grading ? await listLogs(db, grading.id) : [],
    receipt: grading?.receipt ? JSON.parse(grading.receipt) : null,
  };
}

/** A row of measures as the contract has it: what a row lacks is absent. */
function resourceOf(row: typeof resourceMeasures.$inferSelect): Resource {
  const { name, rank, property, value, limitValue, unit, repeats, met, meter, accuracy } = row;
  const { spreadMin, spreadMax, relativeTo, referenceValue, measuredValue, sideUnit } = row;
  return {
    name,
    rank,
    property,
    value,
    limit: limitValue,
    unit,
    repeats,
    met,
    ...(meter === null ? {} : { meter }),
    ...(spreadMin === null || spreadMax === null ? {} : { spread: { min: spreadMin, max: spreadMax } }),
    ...(relativeTo === null || referenceValue === null || measuredValue === null || sideUnit === null
      ? {}
      : { relative: { to: relativeTo, reference: referenceValue, measured: measuredValue, sideUnit } }),
    ...(accuracy === null ? {} : { accuracy }),
  };
}

/** A grading's outcomes in the manifest's order, each with its ranks, resources and newest label. */
async function listOutcomes(db: Queryable, gradingId: string): Promise<TestOutcome[]> {
  const [tests, ranks, resources, given] = await Promise.all([
    db
      .select({ outcome: outcomes, test: taskTests })
      .from(outcomes)
      .innerJoin(taskTests, eq(taskTests.id, outcomes.testId))
      .where(eq(outcomes.gradingId, gradingId))
      .orderBy(asc(taskTests.position)),
    db
      .select()
      .from(rankOutcomes)
      .where(eq(rankOutcomes.gradingId, gradingId))
      .orderBy(asc(rankOutcomes.testId), asc(rankOutcomes.rank)),
    db
      .select()
      .from(resourceMeasures)
      .where(eq(resourceMeasures.gradingId, gradingId))
      .orderBy(asc(resourceMeasures.testId), asc(resourceMeasures.rank), asc(resourceMeasures.position)),
    db.select().from(labels).where(eq(labels.gradingId, gradingId)).orderBy(asc(labels.id)),
  ]);
  return tests.map(({ outcome, test }): TestOutcome => {
    // A person's label overrides the rule's; among equals the newest counts.
    const label = given
      .filter((candidate) => candidate.testId === test.id)
      .sort((a, b) => Number(a.source === "person") - Number(b.source === "person") || a.id - b.id)
      .at(-1);
    return {
      id: test.name,
      kind: test.kind,
      expectation: test.expectation,
      group: test.definition.group,
      required: test.required,
      status: outcome.status,
      durationMs: outcome.durationMs,
      rootRank: outcome.rootRank,
      ranks: ranks
        .filter((rank) => rank.testId === test.id)
        .map(({ rank, status, launch, startedAt, durationMs, failure, logLine }) => ({
          rank,
          status,
          launch,
          startedAt: startedAt?.toISOString() ?? null,
          durationMs,
          failure,
          logLine,
        })),
      resources: resources.filter((measure) => measure.testId === test.id).map(resourceOf),
      ...(outcome.usage === null ? {} : { usage: outcome.usage }),
      label: label
        ? {
            class: label.class,
            type: label.type,
            rule: label.rule ?? "person",
            rulesVersion: label.rulesVersion ?? "",
            tags: label.tags,
          }
        : null,
    };
  });
}

/** Logs of a grading's payload: `payload/ranks/launch-<n>/rank-<n>.stdout.log` and `.stderr.log`. */
async function listLogs(db: Queryable, gradingId: string): Promise<AttemptDetail["logs"]> {
  const files = await db
    .select()
    .from(payloadFiles)
    .where(eq(payloadFiles.gradingId, gradingId))
    .orderBy(asc(payloadFiles.path));
  return files.flatMap(({ path, sha256, bytes }) => {
    const match = /^payload\/ranks\/launch-(\d+)\/rank-(\d+)\.(stdout|stderr)\.log$/.exec(path);
    return match
      ? [
          {
            path,
            launch: Number(match[1]),
            rank: Number(match[2]),
            stream: match[3] as "stdout" | "stderr",
            bytes,
            sha256,
          },
        ]
      : [];
  });
}
