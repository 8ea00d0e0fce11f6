import "server-only";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type EntryConfiguration, recordEntry } from "@/db/queries/entries";
import { cancelJobs, enqueueAttempts, type SqlRunner } from "@/db/queries/queue";
import {
  findNewestSubmission,
  invalidateGrading,
  listAttemptIds,
  publishSubmission,
  withdrawSubmission,
} from "@/db/queries/submission-admin";
import { recordSubmission } from "@/db/queries/submissions";
import { findSuite, listTasks } from "@/db/queries/suites";
import { recomputeSubmission } from "@/db/queries/summaries";
import { candidateSchema } from "@/lib/contract/bundle";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import { uuidSchema } from "@/lib/contract/scalars";
import { announceJobs, announceTags } from "../announce";
import type { ServerContext } from "../context";
import { submissionTags } from "../ingest/submission-tags";
import { appendToLog } from "../log/append";
import { cacheTags } from "../tags";
import { keepTrajectory, storeTrajectory, type TakenTrajectory } from "../trajectories";
import { maintainers, type NamedOrganization, nameOrganization, type SaidOrganization } from "./organizations";
import { findKeptPack } from "./suites";

export type CreatedSubmission = {
  id: string;
  name: string;
  created: boolean;
  queued: number;
  /** Whose it is, where it was made. */
  organization?: NamedOrganization;
};

type NewAttempt = {
  task: string;
  label: string | null;
  patch: Buffer;
  /** File of the agent's trajectory. */
  trajectory?: string | undefined;
};

const referenceConfiguration = (name: string): EntryConfiguration => ({
  kind: "reference",
  model: `reference: ${name}`,
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
});

/** Submits reference patch sets of a suite's pack (`all`, or names) and queues their gradings. */
export async function createReferenceSubmissions(
  context: ServerContext,
  params: { suite: string; version?: string | undefined; sets: readonly string[] | "all"; ifAbsent: boolean },
): Promise<CreatedSubmission[]> {
  const { suiteId, pack } = await findKeptPack(context, { slug: params.suite, version: params.version });
  const known = pack.referenceSets.map((set) => set.name);
  const unknown = params.sets === "all" ? undefined : params.sets.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new InfraDevError("not-found", {
      code: "submission.unknown-set",
      message: `suite ${params.suite} has no reference set '${unknown}'`,
      where: "--reference",
      rule: `its sets are ${known.join(", ") || "none"}`,
      remedy: "name one of them, or 'all'",
    });
  }
  const created: CreatedSubmission[] = [];
  for (const set of pack.referenceSets) {
    if (params.sets !== "all" && !params.sets.includes(set.name)) continue;
    const submission = await createSubmission(context, {
      suiteId,
      organization: { slug: maintainers },
      configuration: referenceConfiguration(set.name),
      attempts: set.patches.map(({ task, label, patch }) => ({ task, label, patch: Buffer.from(patch, "utf8") })),
      ifAbsent: params.ifAbsent,
    });
    created.push({ ...submission, name: set.name });
  }
  return created;
}

const trajectorySuffix = ".trajectory.json";

const unreadable = (
  code: string,
  where: string,
  cause: Error,
  { rule, remedy }: { rule: string; remedy: string },
): InfraDevError => {
  const absent = (cause as NodeJS.ErrnoException).code === "ENOENT";
  const message = absent ? "there is nothing of this name" : `it cannot be read: ${cause.message}`;
  return new InfraDevError("invalid", { code, message, where, rule, remedy }, { cause });
};

/**
 * Submits a folder of patches, `<task>.diff` each, with `<task>.trajectory.json` beside those whose run is told, made by
 * the model and agent that a candidate document names.
 */
export async function createPatchSubmission(
  context: ServerContext,
  params: {
    suite: string;
    version?: string | undefined;
    patchesDir: string;
    candidateFile: string;
    organization: SaidOrganization;
    ifAbsent: boolean;
  },
): Promise<CreatedSubmission> {
  const suite = await findSuite(context.database.db, { slug: params.suite, version: params.version });
  if (!suite) {
    throw new InfraDevError("not-found", {
      code: "suite.unknown",
      message: `there is no suite ${params.suite}`,
      where: "--suite",
      rule: "a suite is imported before anything is submitted to it",
      remedy: "run: npm run admin -- suite import <packed suite>",
    });
  }
  const candidate = await readFile(params.candidateFile, "utf8")
    .then((text): unknown => JSON.parse(text))
    .catch((cause: Error) => {
      throw unreadable("submission.candidate", params.candidateFile, cause, {
        rule: "--candidate names a file with one JSON document",
        remedy: "name the document that says who made the patches",
      });
    });
  const parsed = candidateSchema.omit({ promptDigest: true }).safeParse(candidate);
  if (!parsed.success) {
    throw new InfraDevError(
      "invalid",
      problemFromZod(parsed.error, {
        code: "submission.candidate",
        what: "the candidate document",
        where: params.candidateFile,
        rule: "a candidate is named as --candidate of 'runner grade' names it (README.md)",
        remedy: "correct the named field",
      }),
    );
  }
  const form = {
    rule: "--patches names a folder with a file <task>.diff for each patch",
    remedy: "name the folder that holds the patches",
  };
  const entries = await readdir(params.patchesDir, { withFileTypes: true }).catch((cause: Error) => {
    throw unreadable("submission.patches", params.patchesDir, cause, form);
  });
  const names = entries.map(({ name }) => name).sort();
  const folder = entries.find((entry) => entry.isDirectory() && /\.(?:diff|trajectory\.json)$/.test(entry.name));
  if (folder !== undefined)
    throw unreadable("submission.patches", join(params.patchesDir, folder.name), new Error("this is no file"), form);
  const attempts: NewAttempt[] = [];
  for (const name of names.filter((one) => one.endsWith(".diff"))) {
    const task = name.slice(0, -".diff".length);
    const trajectory = `${task}${trajectorySuffix}`;
    attempts.push({
      task,
      label: null,
      patch: await readFile(join(params.patchesDir, name)),
      trajectory: names.includes(trajectory) ? join(params.patchesDir, trajectory) : undefined,
    });
  }
  const alone = names.find(
    (name) => name.endsWith(trajectorySuffix) && !names.includes(`${name.slice(0, -trajectorySuffix.length)}.diff`),
  );
  if (alone !== undefined) {
    throw new InfraDevError("invalid", {
      code: "submission.trajectory-alone",
      message: "the trajectory has no patch beside it",
      where: join(params.patchesDir, alone),
      rule: `<task>${trajectorySuffix} stands beside <task>.diff`,
      remedy: "name the trajectory after its patch, or take it away",
    });
  }
  if (attempts.length === 0) {
    throw new InfraDevError("invalid", {
      code: "submission.no-patches",
      message: "the folder holds no patch",
      where: params.patchesDir,
      rule: "a patch is a file named <task>.diff",
      remedy: "name each patch after its task",
    });
  }
  return createSubmission(context, {
    suiteId: suite.id,
    organization: params.organization,
    configuration: parsed.data,
    attempts,
    ifAbsent: params.ifAbsent,
  });
}

async function createSubmission(
  context: ServerContext,
  params: {
    suiteId: number;
    organization: SaidOrganization;
    configuration: EntryConfiguration;
    attempts: readonly NewAttempt[];
    ifAbsent: boolean;
  },
): Promise<CreatedSubmission> {
  const { db, sql } = context.database;
  const taskIds = new Map((await listTasks(db, params.suiteId)).map((task) => [task.slug, task.id]));
  const attempts: { task: string; label: string | null; taskId: number; patchSha256: string; patchBytes: number }[] =
    [];
  const trajectories = new Map<string, TakenTrajectory>();
  for (const { task, label, patch, trajectory } of params.attempts) {
    const taskId = taskIds.get(task);
    if (taskId === undefined) {
      throw new InfraDevError("invalid", {
        code: "submission.unknown-task",
        message: `the suite has no task '${task}'`,
        where: task,
        rule: `its tasks are ${[...taskIds.keys()].join(", ")}`,
        remedy: "name each patch after a task of the suite",
      });
    }
    const blob = await context.blobs.put(patch);
    attempts.push({ task, taskId, label, patchSha256: blob.sha256, patchBytes: blob.bytes });
    if (trajectory !== undefined) trajectories.set(task, await storeTrajectory(context, trajectory));
  }
  const keepTrajectories = (of: readonly { id: string; task: string }[]) => async (tx: SqlRunner) => {
    for (const { id, task } of of) {
      const taken = trajectories.get(task);
      if (taken) await keepTrajectory(tx, id, taken);
    }
  };
  const entryId = await recordEntry(db, params.configuration);
  const name = params.configuration.model;
  if (params.ifAbsent) {
    const known = await findNewestSubmission(sql, { suiteId: params.suiteId, entryId });
    const same =
      known?.attempts.length === attempts.length &&
      attempts.every((attempt) =>
        known.attempts.some((other) => other.task === attempt.task && other.patchSha256 === attempt.patchSha256),
      );
    if (known && same) {
      // A submission that was cut off before its jobs were queued gets them now, and trajectories that it has not.
      const neverQueued = known.attempts.filter((attempt) => attempt.jobs === 0).map((attempt) => attempt.id);
      const queued = await enqueue(context, known.id, neverQueued, { first: keepTrajectories(known.attempts) });
      return { id: known.id, name, created: false, queued };
    }
  }
  const organization = await nameOrganization(db, params.organization);
  const made = await db.transaction((tx) =>
    recordSubmission(tx, {
      suiteId: params.suiteId,
      entryId,
      organizationId: organization.id,
      attempts: attempts.map(({ task: _task, ...attempt }) => attempt),
    }),
  );
  const taskOf = new Map(attempts.map(({ task, taskId }) => [taskId, task]));
  const queued = await enqueue(
    context,
    made.id,
    made.attempts.map((attempt) => attempt.id),
    { first: keepTrajectories(made.attempts.map(({ id, taskId }) => ({ id, task: taskOf.get(taskId) ?? "" }))) },
  );
  return { id: made.id, name, created: true, queued, organization };
}

async function enqueue(
  context: ServerContext,
  submissionId: string,
  attemptIds: readonly string[],
  more: { first?: (tx: SqlRunner) => Promise<void>; last?: (tx: SqlRunner) => Promise<void> },
): Promise<number> {
  return context.database.sql.begin(async (tx) => {
    await more.first?.(tx);
    const queued = await enqueueAttempts(tx, { attemptIds, priority: 0 });
    await recomputeSubmission(tx, submissionId);
    await announceTags(tx, [...(await submissionTags(tx, submissionId)), cacheTags.suites]);
    if (queued > 0) await announceJobs(tx);
    await more.last?.(tx);
    return queued;
  });
}

/** Queues new gradings of a submission's attempts, of one task where it is named. The newest of the highest tier will count. */
export async function regrade(
  context: ServerContext,
  params: { submissionId: string; task: string | null; reason: string },
): Promise<number> {
  const ids = uuidSchema.safeParse(params.submissionId).success
    ? await listAttemptIds(context.database.sql, params)
    : null;
  if (!ids || ids.length === 0) throw unknown("submission", params.submissionId, ids && params.task);
  return enqueue(context, params.submissionId, ids, {
    last: async (tx) => {
      await appendToLog(tx, event("regrade", params.submissionId, params.reason), null);
    },
  });
}

/** Puts a submission on its board. Gives how many of its suite's tasks it attempts. */
export async function publish(
  context: ServerContext,
  submissionId: string,
): Promise<{ attempted: number; tasks: number }> {
  return change(context, submissionId, async (tx) => {
    const published = await publishSubmission(tx, submissionId);
    if (published === null) throw unknown("submission", submissionId, null);
    await appendToLog(tx, event("publication", submissionId, "published by a maintainer"), null);
    return published;
  });
}

/** Takes a submission off every page. Its evidence stays in the log and the store. */
export async function withdraw(context: ServerContext, submissionId: string, reason: string): Promise<void> {
  await change(context, submissionId, async (tx) => {
    // Jobs before the submission: the order in which an ingest takes their rows.
    await cancelJobs(tx, { submissionId });
    if (!(await withdrawSubmission(tx, submissionId))) throw unknown("submission", submissionId, null);
    await appendToLog(tx, event("withdrawal", submissionId, reason), null);
  });
}

export async function cancel(context: ServerContext, submissionId: string): Promise<number> {
  return change(context, submissionId, async (tx) => {
    const canceled = await cancelJobs(tx, { submissionId });
    await recomputeSubmission(tx, submissionId);
    return canceled;
  });
}

/** Takes one grading out of the scoring, with a reason that the log keeps. */
export async function invalidate(context: ServerContext, gradingId: string, reason: string): Promise<void> {
  const { sql } = context.database;
  await sql.begin(async (tx) => {
    const submissionId = uuidSchema.safeParse(gradingId).success ? await invalidateGrading(tx, gradingId) : null;
    if (!submissionId) throw unknown("grading", gradingId, null);
    await recomputeSubmission(tx, submissionId);
    await announceTags(tx, await submissionTags(tx, submissionId));
    await appendToLog(tx, event("invalidation", gradingId, reason), null);
  });
}

async function change<T>(
  context: ServerContext,
  submissionId: string,
  work: (tx: Parameters<typeof cancelJobs>[0]) => Promise<T>,
): Promise<T> {
  if (!uuidSchema.safeParse(submissionId).success) throw unknown("submission", submissionId, null);
  return context.database.sql.begin(async (tx) => {
    const [known] = await tx`select id from submission where id = ${submissionId}`;
    if (!known) throw unknown("submission", submissionId, null);
    // A publication or withdrawal may be the first or last of its board: the suites' picker lists boards that have a row.
    await announceTags(tx, [...(await submissionTags(tx, submissionId)), cacheTags.suites]);
    return work(tx);
  }) as Promise<T>;
}

const event = (type: "regrade" | "invalidation" | "withdrawal" | "publication", subject: string, reason: string) => ({
  format: "infradev-log/1" as const,
  type,
  at: new Date().toISOString(),
  subject,
  reason,
});

function unknown(what: "submission" | "grading", id: string, task: string | null): InfraDevError {
  return new InfraDevError("not-found", {
    code: `${what}.unknown`,
    message: task === null ? `there is no ${what} ${id}` : `${what} ${id} has no attempt at task '${task}'`,
    where: id.slice(0, 80),
    rule: `a ${what} is named by its UUID`,
    remedy: "see: npm run admin -- submission list",
  });
}
