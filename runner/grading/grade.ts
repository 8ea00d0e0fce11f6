import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Candidate } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import {
  type Guard,
  type Result,
  type RunLock,
  resultSchema,
  summarize,
  type TestOutcome,
} from "@/lib/contract/result";
import { manifestForGpus, type SuiteFile } from "@/lib/contract/task";
import type { GradingStatus } from "@/lib/contract/vocabulary";
import { bwrapExecutor } from "../executors/bwrap";
import type { ExecutorKind, ExecutorSession } from "../executors/executor";
import { processExecutor } from "../executors/process";
import { launcherFolder } from "../executors/python-folder";
import { firstGpus, type GpuGrant } from "../gpus/grant";
import { measuredAmong, outsideLimitsOf } from "../resources/limits";
import { Meters } from "../resources/meters";
import { usageOf } from "../resources/settle";
import type { LoadedTask } from "../suites/load";
import { launchedTests, type RunInput, type RunRecord, runGroups } from "./groups";
import { startGuardian, sweepLeftovers } from "./guardian";
import { collectHostFacts } from "./host";
import { HostWatch, type HostWatchOptions } from "./host-faults";
import { launchEnv } from "./launch-plan";
import { mergeTest } from "./merge";
import { runNegativeControls } from "./negative-controls";
import { evidenceOf, extraIdsOf, writePayload } from "./payload";
import type { ProgressEvent } from "./progress";
import { ensurePython, type PythonRuntime } from "./python-runtime";
import { createRedactor, redactTexts } from "./redact";
import { referenceWorkspaces } from "./reference-workspaces";
import { environmentLimits, timeLimitSec } from "./task-limits";
import { prepareWorkspace, type Workspace } from "./workspace";

export type { ProgressEvent } from "./progress";

const outputBytes = 16 * 1024 * 1024;

const executorKinds: Record<GradeInput["executor"], ExecutorKind> = { bwrap: bwrapExecutor, process: processExecutor };

export type GradeInput = {
  task: LoadedTask;
  suite: Pick<SuiteFile, "slug" | "version">;
  patch: Uint8Array;
  candidate: Candidate;
  gradingId: string;
  attemptId: string | null;
  lease: { id: string; nonce: string } | null;
  executor: "bwrap" | "process";
  /** An empty or absent folder for this grading alone; `payload/` and `sealed/` stay in it, the rest is removed. */
  workDir: string;
  onProgress?: ((event: ProgressEvent) => void) | undefined;
  signal?: AbortSignal | undefined;
  runnerVersion: string;
  /**
   * GPUs whose locks the caller holds, none by default. The launches see the first `gpus_grade` of them; with fewer, the
   * manifest is the one of that profile, and tests that need more are neither launched nor required.
   */
  gpus?: GpuGrant | null | undefined;
  /**
   * For the gate, which asks of a mutant only that the official tests pass and a probe rejects it: official groups first,
   * and no launch after the first rejection. What is left is `not-run`. No submission is graded so.
   */
  stopWhenRejected?: boolean | undefined;
  /** How the host is looked at, where it is not asked itself. */
  hostWatch?: Partial<Pick<HostWatchOptions, "discover" | "kernelLog" | "freeBytes" | "quarantine" | "settleLimitMs">>;
  /** A Python found before; looked for, and made where only pytest is missing, by default. */
  python?: PythonRuntime | undefined;
};

export type Graded = {
  /** The whole result, redacted; the payload's `result.json` lacks what would reveal hidden probes. */
  result: Result;
  payloadDir: string;
  /** What would reveal hidden probes, null where probes are open. */
  sealedDir: string | null;
};

type Ending = { status: GradingStatus; reason: Result["reason"] };

/** Once per process: what runners that are gone left on this host. */
let swept: Promise<number> | null = null;

/**
 * Grades one patch: checkout, strict apply, launches, merge, classification, and the files of the bundle's payload.
 * What the candidate does ends in the result's status. Throws an `InfraDevError` only where no grading can begin
 * (no Python, no sandbox, a damaged task) or nothing can be written any more.
 */
export async function gradeTask(asked: GradeInput): Promise<Graded> {
  const input = withProfile(asked);
  const startedAt = new Date();
  const startedMs = performance.now();
  const python = input.python ?? (await ensurePython({ packages: input.task.suite.python_packages }));
  await mkdir(input.workDir, { recursive: true }).catch((cause) => {
    throw storageError(cause, input.workDir) ?? cause;
  });
  const workDir = await realpath(input.workDir);
  swept ??= sweepLeftovers();
  await swept;
  // A name of its own: where this process is killed, its guardian must not take what its successor makes.
  const scratch = join(workDir, `scratch-${randomBytes(4).toString("hex")}`);
  const session = await executorKinds[input.executor].prepare({ python, workDir: scratch });
  const guardian = startGuardian([scratch]);
  try {
    const { workspace, record, ending } = await execute(input, session, scratch);
    const finishedAt = new Date();
    const completed = ending.status === "completed";
    // What a grading reported that was tampered with is evidence (its events are kept) and no outcome.
    const trusted = ending.status === "tampered" ? null : record;
    const tests = input.task.manifest.tests.map((test) =>
      withUsage(
        mergeTest(test, trusted?.outcomes.get(test.id) ?? [], trusted?.resources.get(test.id) ?? [], completed),
        trusted,
      ),
    );
    const known = new Set(input.task.manifest.tests.map(({ id }) => id));
    const extra = extraIdsOf(record?.launches.flatMap((launched) => launched.extra) ?? []).filter(
      (id) => !known.has(id),
    );
    const result: Result = {
      format: "infradev-result/1",
      gradingId: input.gradingId,
      suite: { slug: input.suite.slug, version: input.suite.version },
      task: input.task.manifest.task.slug,
      status: ending.status,
      reason: ending.reason,
      executor: input.executor,
      sandboxed: session.sandboxed,
      startedAt: startedAt.toISOString(),
      finishedAt: finishedAt.toISOString(),
      durationMs: performance.now() - startedMs,
      summary: summarize(tests, completed),
      launches: record?.launches.map(({ launch }) => launch) ?? [],
      tests,
      extraTests: extra.slice(0, 1000).map((id) => ({ id, status: "not-run" })),
    };
    input.onProgress?.({ type: "stage", stage: "bundling" });
    const graded = await writeEvidence(input, { result, record, workspace, python, workDir, scratch });
    input.onProgress?.({
      type: "finished",
      status: result.status,
      passed: result.summary.requiredPassed,
      required: result.summary.requiredTotal,
    });
    return graded;
  } catch (error) {
    for (const folder of ["payload", "sealed"]) await rm(join(workDir, folder), { recursive: true, force: true });
    throw storageError(error, workDir) ?? error;
  } finally {
    await session.collect();
    await rm(scratch, { recursive: true, force: true });
    await guardian.release();
  }
}

type Executed = { workspace: Workspace | null; record: RunRecord | null; ending: Ending };

async function execute(input: GradeInput, session: ExecutorSession, scratch: string): Promise<Executed> {
  let workspace: Workspace | null = null;
  let meters: Meters | null = null;
  try {
    input.onProgress?.({ type: "stage", stage: "checkout" });
    const prepared = await prepareWorkspace(input.task, input.patch, scratch, session.python.standardModules);
    if ("code" in prepared) {
      return { workspace: null, record: null, ending: { status: "patch-rejected", reason: prepared } };
    }
    workspace = prepared;
    input.onProgress?.({ type: "stage", stage: "launching" });
    const limits = outsideLimitsOf(input.task.testsFile);
    meters = await Meters.start({
      session,
      gpus: input.gpus?.uuids ?? [],
      tests: measuredAmong(launchedTests(input.task.manifest.tests, input.gpus?.uuids.length ?? 0), limits),
    });
    const run: RunInput = {
      host: new HostWatch({
        gpus: input.gpus ?? null,
        workDir: scratch,
        sandboxed: session.sandboxed,
        ...input.hostWatch,
      }),
      meters,
      limits,
      reference: referenceWorkspaces(input.task, scratch, session),
      task: input.task,
      session,
      workspace,
      workDir: scratch,
      deadlineMs: performance.now() + (await timeLimitSec(input.task)) * 1000,
      ...(await environmentLimits(input.task.dir)),
      gpus: input.gpus ?? null,
      outputBytes,
      signal: input.signal,
      onProgress: input.onProgress,
      stopWhenRejected: input.stopWhenRejected,
    };
    const record = await runGroups(run);
    if (endingOf(record, input.signal).status === "completed" && !record.stopped) {
      const { controls, findings, tampered } = await runNegativeControls(run, record);
      if (controls.length > 0) record.guard.controls = controls;
      record.guard.findings.push(...findings);
      record.tampered ||= tampered;
    }
    return { workspace, record, ending: await withTimeLimit(endingOf(record, input.signal), record, input.task) };
  } catch (error) {
    const known = storageError(error, scratch) ?? error;
    if (!(known instanceof InfraDevError) || known.code.startsWith("task.")) throw known;
    return { workspace, record: null, ending: { status: "infra", reason: hostReason(known, input.task) } };
  } finally {
    await meters?.close();
  }
}

/** Why nothing could be graded here. What hidden probes measure is nowhere shown. */
function hostReason({ problem }: InfraDevError, { manifest }: LoadedTask): Result["reason"] {
  const { code, message, remedy } = problem;
  if (manifest.suite.probes === "hidden" && code === "resource.not-measured") {
    const evidence = [
      "remedy: see with `runner doctor` what this host has of what the meters of the task's limits need",
    ];
    return { code, message: "a limit of the task cannot be measured on this host", evidence };
  }
  return { code, message, evidence: remedy === undefined ? [] : [`remedy: ${remedy}`] };
}

/** A completed grading whose time ran out before every group had been launched is the candidate's time-out. */
async function withTimeLimit(ending: Ending, record: RunRecord, task: LoadedTask): Promise<Ending> {
  if (ending.status !== "completed" || !record.timedOut) return ending;
  const message = `the grading ran out of its time, ${await timeLimitSec(task)} s for all groups`;
  const evidence = evidenceOf(record.guard.findings.filter(({ code }) => code === "launch.bound"));
  return { status: "candidate-timeout", reason: { code: "grading.timeout", message, evidence } };
}

/** A test with what it took in the launch that decided it. */
function withUsage(test: TestOutcome, record: RunRecord | null): TestOutcome {
  const launch = test.ranks.find((outcome) => outcome.launch !== null)?.launch;
  const usage = launch == null ? undefined : usageOf(record?.launches[launch], test.id);
  return usage === undefined ? test : { ...test, usage };
}

function endingOf(record: RunRecord, signal: AbortSignal | undefined): Ending {
  if (record.tampered) {
    const evidence = evidenceOf(record.guard.findings);
    return {
      status: "tampered",
      reason: { code: "guard.tampered", message: "the grading was tampered with from inside", evidence },
    };
  }
  if (signal?.aborted) {
    return {
      status: "canceled",
      reason: { code: "grading.canceled", message: "the grading was canceled", evidence: [] },
    };
  }
  if (record.infra !== null) return { status: "infra", reason: { code: "launch.failed", ...record.infra } };
  return { status: "completed", reason: null };
}

type Evidence = {
  result: Result;
  record: RunRecord | null;
  workspace: Workspace | null;
  python: PythonRuntime;
  workDir: string;
  scratch: string;
};

async function writeEvidence(input: GradeInput, evidence: Evidence): Promise<Graded> {
  const { result, record, workspace, python, workDir, scratch } = evidence;
  const { manifest } = input.task;
  const payloadDir = join(workDir, "payload");
  const sealedDir = manifest.suite.probes === "hidden" ? join(workDir, "sealed") : null;
  const guard: Guard = {
    format: "infradev-guard/1",
    canaries: record?.guard.canaries ?? [],
    restoredPaths: workspace?.restoredPaths ?? [],
    findings: record?.guard.findings ?? [],
    ...(record?.guard.controls === undefined ? {} : { controls: record.guard.controls }),
  };
  const runLock: RunLock = {
    format: "infradev-run-lock/1",
    suite: result.suite,
    task: {
      slug: manifest.task.slug,
      gradingDigest: manifest.digests.grading,
      baseTree: manifest.task.baseTree,
    },
    patchSha256: createHash("sha256").update(input.patch).digest("hex"),
    environment: {
      key: manifest.task.envKey,
      executor: input.executor,
      python: python.version,
      pytest: python.pytest,
      digests: [
        ...(await harnessDigests()),
        ...(workspace === null ? [] : [`patched-tree:sha1:${workspace.patchedTree}`]),
      ],
    },
    runner: { version: input.runnerVersion },
    launches: record?.lockLaunches ?? [],
    seeds: { PYTHONHASHSEED: Number(launchEnv.PYTHONHASHSEED) },
    limits: {
      ...(await environmentLimits(input.task.dir)),
      outputBytes,
      timeoutSec: await timeLimitSec(input.task),
    },
  };
  const redact = createRedactor(
    new Map([
      [join(scratch, "repo"), "/grade/repo"],
      [join(scratch, "probes"), "/grade/probes"],
      [scratch, "/grade"],
      [launcherFolder, "/grade/runner"],
      ...python.folders.filter((folder) => !folder.startsWith("/usr")).map((folder) => [folder, "/python"] as const),
    ]),
  );
  await writePayload({
    payloadDir,
    sealedDir,
    result,
    manifest,
    runLock,
    patch: input.patch,
    host: await collectHostFacts(python),
    guard,
    launches: record?.launches ?? [],
    redact,
  });
  return { result: resultSchema.parse(redactTexts(result, redact)), payloadDir, sealedDir };
}

async function harnessDigests(): Promise<string[]> {
  const digests: string[] = [];
  for (const file of (await readdir(launcherFolder)).filter((name) => /^infradev_\w+\.py$/.test(name)).sort()) {
    const bytes = await readFile(join(launcherFolder, file));
    digests.push(`${file}:sha256:${createHash("sha256").update(bytes).digest("hex")}`);
  }
  return digests;
}

/** The input with the GPUs that the launches get, and with the manifest that holds on so many. */
function withProfile(input: GradeInput): GradeInput {
  const { manifest } = input.task;
  const gpus = firstGpus(input.gpus ?? null, manifest.task.gpusGrade);
  return { ...input, gpus, task: { ...input.task, manifest: manifestForGpus(manifest, gpus?.uuids.length ?? 0) } };
}

/** A full or read-only disk, and missing rights, as an error with its remedy; null for any other failure. */
function storageError(error: unknown, where: string): InfraDevError | null {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : storageFaults[code];
  if (known === undefined || (code === "ENOENT" && syscall !== "mkdir")) return null;
  return new InfraDevError(
    "unavailable",
    {
      code: "storage.failed",
      message: known.message,
      where: (error as NodeJS.ErrnoException).path ?? where,
      rule: "grading writes a checkout and its evidence into the working folder",
      remedy: known.remedy,
    },
    { cause: error },
  );
}

const storageFaults: Record<string, { message: string; remedy: string } | undefined> = {
  ENOSPC: { message: "the disk is full", remedy: "free space, or name a working folder on another disk" },
  EDQUOT: { message: "the disk quota is used up", remedy: "free space, or name a working folder on another disk" },
  EROFS: { message: "the file system is read-only", remedy: "name a working folder that can be written" },
  // What a recursive mkdir reports on a read-only file system.
  ENOENT: { message: "the working folder cannot be made", remedy: "name a working folder that can be written" },
  EACCES: { message: "the working folder cannot be written", remedy: "correct its permissions, or name another one" },
  EMFILE: { message: "too many open files", remedy: "raise the limit: ulimit -n 4096" },
};
