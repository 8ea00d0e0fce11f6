import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Launch } from "@/lib/contract/result";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import { prepareWorkspace } from "../grading/workspace";
import { processOwner } from "../processes/owner";
import type { LoadedTask } from "../suites/load";
import { readReferencePatch, referenceCandidate } from "../suites/reference";
import { runnerVersion } from "../version";
import { runByHand } from "./by-hand";

export type Overhead = {
  task: string;
  launches: number;
  /** One entry a round, milliseconds: the launches by hand, the same ones by the runner, and its whole grading. */
  handMs: number[];
  launchMs: number[];
  gradingMs: number[];
};

export type OverheadOptions = {
  task: LoadedTask;
  executor: RunnerExecutor;
  python: PythonRuntime;
  gpus: GpuGrant | null;
  rounds: number;
  signal: AbortSignal;
  onRound?: (done: number) => void;
};

/**
 * Grades a task's gold patch and runs the same launches by hand, in turns, so that a load of the machine stands in
 * both; a grading before them warms the machine up. Launches that only take times or references have no counterpart by
 * hand and are left out of both.
 */
export async function measureOverhead(options: OverheadOptions): Promise<Overhead> {
  const workDir = await mkdtemp(join(tmpdir(), `infradev-overhead-${processOwner}-`));
  try {
    return await measureIn(workDir, options);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function measureIn(workDir: string, options: OverheadOptions): Promise<Overhead> {
  const { task, python, signal } = options;
  const patch = await readReferencePatch(task, "gold");
  const grade = async (): Promise<{ launches: Launch[]; ms: number }> => {
    const startedMs = performance.now();
    const { result } = await gradeTask({
      task,
      suite: task.suite,
      patch,
      candidate: referenceCandidate("gold"),
      gradingId: randomUUID(),
      attemptId: null,
      lease: null,
      executor: options.executor,
      gpus: options.gpus,
      python,
      workDir: join(workDir, randomUUID()),
      signal,
      runnerVersion,
    });
    signal.throwIfAborted();
    if (!result.summary.resolved) throw new Error(`gold of ${task.metadata.slug} is not resolved (${result.status})`);
    const launches = result.launches.filter(({ purpose }) => purpose === undefined || purpose === "verdict");
    return { launches, ms: performance.now() - startedMs };
  };
  const { launches } = await grade();
  const workspace = await prepareWorkspace(task, patch, join(workDir, "by-hand"), python.standardModules);
  if ("code" in workspace) throw new Error(`the gold patch was refused: ${workspace.message}`);
  const settings = join(workDir, "settings.ini");
  await writeFile(settings, "[pytest]\n");
  const byHand = { python, workspace, settings, signal, gpuUuids: options.gpus?.uuids ?? [] };
  const seen: Overhead = {
    task: task.metadata.slug,
    launches: launches.length,
    handMs: [],
    launchMs: [],
    gradingMs: [],
  };
  for (let round = 0; round < options.rounds; round += 1) {
    const startedMs = performance.now();
    await runByHand(launches, byHand);
    seen.handMs.push(performance.now() - startedMs);
    const graded = await grade();
    seen.launchMs.push(graded.launches.reduce((sum, launch) => sum + launch.durationMs, 0));
    seen.gradingMs.push(graded.ms);
    options.onRound?.(round + 1);
  }
  return seen;
}
