import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Candidate } from "@/lib/contract/bundle";
import type { Result } from "@/lib/contract/result";
import type { Signer } from "@/lib/evidence/keys";
import { type WrittenBundle, writeBundle } from "@/lib/evidence/node/bundle-writer";
import type { GpuGrant } from "./gpus/grant";
import { gradeTask, type ProgressEvent } from "./grading/grade";
import type { PythonRuntime } from "./grading/python-runtime";
import type { LoadedTask } from "./suites/load";
import { writeTrajectory } from "./trajectory";
import { runnerVersion } from "./version";

/** Executors that this runner can be told to use. */
export const runnerExecutors = ["bwrap", "process"] as const;
export type RunnerExecutor = (typeof runnerExecutors)[number];

export type GradeRequest = {
  task: LoadedTask;
  patch: Uint8Array;
  candidate: Candidate;
  gradingId: string;
  attemptId: string | null;
  lease: { id: string; nonce: string } | null;
  /** File of the agent's trajectory, which goes into the payload without secrets. */
  trajectory?: string | null;
  executor: RunnerExecutor;
  /** GPUs whose locks the caller holds and releases; none by default. */
  gpus?: GpuGrant | null;
  python: PythonRuntime;
  signer: Signer;
  /** Folder of this grading alone; removed at the end. */
  workDir: string;
  /** Where the bundle goes. */
  out: string;
  signal: AbortSignal;
  onProgress: (event: ProgressEvent) => void;
};

/**
 * Grades a patch and writes the signed bundle of what was seen, whatever the outcome. `redactedTexts` are those of the
 * trajectory that held what looks like a secret.
 */
export async function gradeToBundle(
  request: GradeRequest,
): Promise<{ result: Result; bundle: WrittenBundle; redactedTexts: number }> {
  const { task, patch, candidate, gradingId, attemptId, lease, executor, gpus, python, workDir, signal, onProgress } =
    request;
  try {
    // As it is now: the grading takes long, and the file is somebody else's.
    const told = join(workDir, "told");
    const redactedTexts = request.trajectory ? await writeTrajectory(request.trajectory, told) : 0;
    const { result, payloadDir, sealedDir } = await gradeTask({
      task,
      suite: task.suite,
      patch,
      candidate,
      gradingId,
      attemptId,
      lease,
      executor,
      gpus,
      python,
      workDir,
      onProgress,
      signal,
      runnerVersion,
    });
    if (request.trajectory) await cp(told, payloadDir, { recursive: true });
    const bundle = await writeBundle({
      payloadDir,
      ...(sealedDir === null ? {} : { sealedDir }),
      attemptId,
      lease,
      candidate,
      signer: request.signer,
      out: request.out,
    });
    return { result, bundle, redactedTexts };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** A progress event as one line; null for what says nothing new. */
export function describeProgress(event: ProgressEvent): string | null {
  switch (event.type) {
    case "stage":
      return { checkout: "checking out and applying the patch", launching: "launching", bundling: "bundling" }[
        event.stage
      ];
    case "launch-started":
      return `launch ${event.launch + 1}, ${event.group}: ${event.tests} tests on ${event.nproc} rank${event.nproc === 1 ? "" : "s"}`;
    case "test":
      return `${event.done}/${event.total}  ${event.status.padEnd(7)} ${event.id}${event.rank === null ? "" : ` on rank ${event.rank}`}`;
    case "launch-finished":
      return event.killed === null && event.relaunch === 0
        ? null
        : `launch ${event.launch + 1}, ${event.group}: ended${event.killed ? ` by ${event.killed}` : ""}${event.relaunch > 0 ? `, ${event.relaunch} tests launched again` : ""}`;
    case "finished":
      return `${event.status}: ${event.passed} of ${event.required} required tests passed`;
  }
}
