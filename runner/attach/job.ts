import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { type FinishResponse, type JobSpec, jobSpecSchema } from "@/lib/contract/job";
import type { GradingStatus } from "@/lib/contract/vocabulary";
import { decodeUtf8, toBase64, utf8 } from "@/lib/evidence/bytes";
import { verifyEnvelope } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import { sha256Hex } from "../suites/files";
import type { LoadedTask } from "../suites/load";
import { defaultLeaseTiming, LeaseKeeper, type LeaseTiming } from "./lease-keeper";
import { LogShipper } from "./log-shipper";
import { type Backoff, defaultBackoff, TransientError, withRetry } from "./retry";
import type { ClaimedJob, ServerApi } from "./server-api";
import type { JobFolder, JobState, Registration, RunnerData } from "./state";
import { uploadFile } from "./upload";

type GradedBundle = {
  status: GradingStatus;
  reason: string | null;
  /** What came out, for the operator. */
  summary: string;
  bundle: { path: string; sha256: string; bytes: number };
};

/** Grades a leased job and writes its signed bundle into `out`. */
export type GradeJob = (job: {
  spec: JobSpec;
  task: LoadedTask;
  patch: Uint8Array;
  workDir: string;
  out: string;
  signal: AbortSignal;
  onProgress: (text: string) => void;
}) => Promise<GradedBundle>;

export type JobContext = {
  api: ServerApi;
  data: RunnerData;
  registration: Registration;
  signer: Signer;
  tasks: ReadonlyMap<string, LoadedTask>;
  grade: GradeJob;
  /** Aborts when the runner is told to end. */
  stop: AbortSignal;
  /** What happened: one line each. */
  say: (text: string) => void;
  /** What is going on: may be shown in place of the one before, or not at all. */
  progress?: (text: string) => void;
  leaseTiming?: LeaseTiming;
  backoff?: Backoff;
  /** How long delivery is tried while the server cannot be reached, before it is left for the next start. */
  deliverForMs?: number;
};

export type JobEnd = {
  leaseId: string;
  task: string;
  status: GradingStatus;
  /** `undelivered`: kept on this host for the next start. `refused`: the server did not take it. */
  verdict: FinishResponse["verdict"] | "refused" | "undelivered" | "abandoned";
  bundleSha256: string | null;
};

/**
 * Opens a job's envelope: signed by the server that this host registered with, and of a task that stands here.
 * Throws `job.*`; nothing of an envelope that fails is executed.
 */
async function openJob(
  envelope: ClaimedJob,
  serverKey: Registration["serverKey"],
  tasks: ReadonlyMap<string, LoadedTask>,
): Promise<{ spec: JobSpec; task: LoadedTask }> {
  const verdict = await verifyEnvelope(envelope, [serverKey], "job");
  if (!verdict.ok) throw new InfraDevError("forbidden", verdict.problem);
  const parsed = jobSpecSchema.safeParse(JSON.parse(decodeUtf8(verdict.body)));
  if (!parsed.success) {
    throw new InfraDevError("invalid", {
      code: "job.form",
      message: "the job does not have the expected form",
      rule: "infradev-job/1",
      remedy: "bring runner and server to the same version",
    });
  }
  const spec = parsed.data;
  const task = tasks.get(spec.task.gradingDigest);
  if (task === undefined || task.metadata.slug !== spec.task.slug) {
    throw new InfraDevError("not-found", {
      code: "job.task-unknown",
      message: `the job is for '${spec.task.slug}' with grading digest ${spec.task.gradingDigest}, which this host lacks`,
      where: spec.jobId,
      rule: "a host gets jobs of the tasks that it named",
      remedy: "give the suite's directory with --suite",
    });
  }
  return { spec, task };
}

/**
 * Runs one leased job from its envelope to its finish, for the `starts`th time under this lease. Never throws for what
 * happens to the job itself.
 */
export async function runJob(context: JobContext, envelope: ClaimedJob, starts: number = 1): Promise<JobEnd> {
  const { spec, task } = await openJob(envelope, context.registration.serverKey, context.tasks);
  const leaseId = spec.lease.id;
  const state: JobState = { format: "infradev-runner-job/1", spec, envelope, stage: "claimed", starts, outcome: null };
  const folder = await context.data.recordJob(state);
  const canceled = new AbortController();
  const ended = new AbortController();
  const cancel = (why: string): void => {
    if (canceled.signal.aborted) return;
    context.say(`${task.metadata.slug}: canceled by the server`);
    canceled.abort(new Error(why));
  };
  const shipper = new LogShipper(context.api, leaseId, folder.logPath, {
    intervalSeconds: 30,
    // A lost lease answers so too; the renewal tells which of the two it is.
    onCancel: () => void keeper.renew(ended.signal),
  });
  const keeper: LeaseKeeper = new LeaseKeeper(context.api, leaseId, context.leaseTiming ?? defaultLeaseTiming, {
    onCancel: () => cancel("canceled"),
    onLost: () => {
      context.say(`${task.metadata.slug}: the lease is lost; what comes out is delivered as late evidence`);
      shipper.write("the lease is lost; going on for late evidence");
    },
    onInterval: (seconds) => shipper.setInterval(seconds),
  });
  keeper.state = "preparing";
  if (!(await keeper.renewFirst(context.stop))) {
    await context.data.closeJob(leaseId, false);
    return { leaseId, task: spec.task.slug, status: "infra", verdict: "abandoned", bundleSha256: null };
  }
  const beside = [
    keeper.run(ended.signal),
    shipper.run(ended.signal).catch((error: unknown) => {
      if (!(error instanceof InfraDevError)) throw error;
    }),
  ];
  try {
    const outcome = await produce(context, state, folder, keeper, shipper, canceled.signal);
    await context.data.recordJob({ ...state, stage: "ready", outcome });
    keeper.state = "uploading";
    keeper.progress = null;
    if (!keeper.lost) await shipper.flush().catch(() => undefined);
    await shipper.close();
    return await deliver(context, { ...state, stage: "ready", outcome });
  } finally {
    ended.abort();
    await Promise.all(beside);
  }
}

type Outcome = NonNullable<JobState["outcome"]>;

/** Fetches the patch, grades and bundles. Whatever prevents that is an `infra` outcome with its reason. */
async function produce(
  context: JobContext,
  state: JobState,
  folder: JobFolder,
  keeper: LeaseKeeper,
  shipper: LogShipper,
  canceled: AbortSignal,
): Promise<Outcome> {
  const { spec } = state;
  const signal = AbortSignal.any([canceled, context.stop]);
  const task = context.tasks.get(spec.task.gradingDigest);
  if (task === undefined) throw new Error("an open job has its task");
  try {
    const patch = await withRetry(() => context.api.fetchPatch(spec.lease.id, signal), {
      backoff: context.backoff ?? defaultBackoff,
      signal,
      deadline: () => Date.parse(spec.lease.expiresAt),
    });
    if (sha256Hex(patch) !== spec.patch.sha256) {
      throw new InfraDevError("invalid", {
        code: "job.patch-digest",
        message: "the patch received is not the one that the job names",
        where: spec.attemptId,
        rule: `sha256 ${spec.patch.sha256}`,
        remedy: "the job is given back; look at the server's blob store",
      });
    }
    await context.data.recordJob({ ...state, stage: "running" });
    context.say(`${task.metadata.slug} (${spec.candidate.model}): grading ${spec.gradingId}`);
    keeper.state = "running";
    const file = `${spec.gradingId}.infradev.tar.gz`;
    const graded = await context.grade({
      spec,
      task,
      patch,
      workDir: folder.workDir,
      out: join(folder.dir, file),
      signal,
      onProgress: (text) => {
        keeper.progress = text;
        shipper.write(text);
        context.progress?.(`${task.metadata.slug}: ${text}`);
      },
    });
    if (context.stop.aborted && graded.status === "canceled" && !canceled.aborted) return stoppedOutcome();
    context.say(`${task.metadata.slug} (${spec.candidate.model}): ${graded.summary}`);
    const { sha256, bytes } = graded.bundle;
    return { status: graded.status, bundle: { file, sha256, bytes }, reason: graded.reason };
  } catch (error) {
    if (canceled.aborted) return { status: "canceled", bundle: null, reason: "canceled by the server" };
    if (context.stop.aborted) return stoppedOutcome();
    const reason = error instanceof InfraDevError ? error.describe() : String(error);
    shipper.write(reason);
    context.say(
      `${task.metadata.slug}: ${error instanceof Error && !(error instanceof InfraDevError) ? error.stack : reason}`,
    );
    return { status: "infra", bundle: null, reason: reason.slice(0, 2000) };
  } finally {
    await rm(folder.workDir, { recursive: true, force: true });
  }
}

/** `canceled` though the server did not ask for it: the server queues the job again without counting a retry. */
const stoppedOutcome = (): Outcome => ({
  status: "canceled",
  bundle: null,
  reason: "the runner was stopped while it graded",
});

/** Uploads what a job produced and finishes it; both may be repeated without harm. */
async function deliver(context: JobContext, state: JobState): Promise<JobEnd> {
  const { spec, outcome } = state;
  if (outcome === null) throw new Error("a job is delivered when it is ready");
  const leaseId = spec.lease.id;
  const end = { leaseId, task: spec.task.slug, status: outcome.status, bundleSha256: outcome.bundle?.sha256 ?? null };
  let giveUpAt = Date.now() + (context.deliverForMs ?? 30 * 60_000);
  let said = "";
  const hurry = (): void => {
    giveUpAt = Math.min(giveUpAt, Date.now() + 10_000);
  };
  if (context.stop.aborted) hurry();
  else context.stop.addEventListener("abort", hurry, { once: true });
  const retry = {
    backoff: context.backoff ?? defaultBackoff,
    deadline: () => giveUpAt,
    onRetry: (error: TransientError) => {
      if (error.message !== said) context.say(`${spec.task.slug}: ${error.message}; trying again`);
      said = error.message;
    },
  };
  try {
    if (outcome.bundle !== null) {
      const { file, sha256, bytes } = outcome.bundle;
      const resource = context.api.bundlePath(leaseId);
      const announce = async () => ({ resource, ...(await context.api.announce(resource, { sha256, bytes })) });
      await uploadFile(context.api, announce, join(context.data.folderOf(leaseId).dir, file), retry);
    }
    const sha256 = outcome.bundle?.sha256 ?? null;
    const statement = `${leaseId} ${outcome.status} ${sha256 ?? "-"}`;
    const signature = toBase64(await context.signer.sign(utf8(statement)));
    const request = { status: outcome.status, bundleSha256: sha256, signature, reason: outcome.reason };
    const answer = await withRetry(() => context.api.finish(leaseId, request), retry);
    await context.data.closeJob(leaseId, false);
    context.say(`${spec.task.slug} (${spec.candidate.model}): ${outcome.status}, ${answer.verdict}`);
    return { ...end, verdict: answer.verdict };
  } catch (error) {
    if (error instanceof TransientError) {
      context.say(`${spec.task.slug}: not delivered (${error.message}); the next start tries again`);
      return { ...end, verdict: "undelivered" };
    }
    if (!(error instanceof InfraDevError)) throw error;
    const kept = await context.data.closeJob(leaseId, true);
    if (kept !== null) await writeFile(`${kept}.refusal.txt`, `${error.describe()}\n`, { mode: 0o600 });
    context.say(
      `${spec.task.slug}: the server refused the result${kept ? `, kept at ${kept}` : ""}\n${error.describe()}`,
    );
    return { ...end, verdict: "refused" };
  } finally {
    context.stop.removeEventListener("abort", hurry);
  }
}

/** A grading that ended the runner this often is given back: it may be what ends it. */
const maxStarts = 3;

/**
 * What a runner that ended unexpectedly still owes: a bundle that was ready is delivered; a job that was under way is
 * graded anew under the same lease where the server still grants it, and given back as `infra` once it was begun three
 * times.
 */
export async function recoverJobs(context: JobContext): Promise<JobEnd[]> {
  const ends: JobEnd[] = [];
  for (const job of await context.data.listJobs()) {
    if (context.stop.aborted) break;
    if (job.outcome !== null) ends.push(await deliver(context, job));
    else if (job.starts < maxStarts) ends.push(await resumeJob(context, job));
    else ends.push(await giveBack(context, job, `the runner ended ${job.starts} times while it graded`));
  }
  return ends;
}

async function resumeJob(context: JobContext, job: JobState): Promise<JobEnd> {
  context.say(`${job.spec.task.slug}: the runner ended while it graded; grading anew under the same lease`);
  try {
    await rm(context.data.folderOf(job.spec.lease.id).workDir, { recursive: true, force: true });
    return await runJob(context, job.envelope, job.starts + 1);
  } catch (error) {
    if (!(error instanceof InfraDevError)) throw error;
    return await giveBack(context, job, error.describe());
  }
}

async function giveBack(context: JobContext, job: JobState, reason: string): Promise<JobEnd> {
  const ready: JobState = { ...job, stage: "ready", outcome: { status: "infra", bundle: null, reason } };
  await context.data.recordJob(ready);
  return await deliver(context, ready);
}
