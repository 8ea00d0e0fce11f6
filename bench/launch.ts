import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repositoryRoot } from "../e2e/stack";
import type { Launch } from "../lib/contract/result";
import { generateKeyPair } from "../lib/evidence/keys";
import { testCandidate } from "../lib/evidence/testing";
import { checkBwrap } from "../runner/executors/bwrap";
import { gradeToBundle, type RunnerExecutor, runnerExecutors } from "../runner/grade-to-bundle";
import { ensurePython, type PythonRuntime } from "../runner/grading/python-runtime";
import { prepareWorkspace } from "../runner/grading/workspace";
import { runByHand } from "../runner/host-run/by-hand";
import { type LoadedTask, loadTask } from "../runner/suites/load";
import { readReferencePatch } from "../runner/suites/reference";
import { type Figure, interleave, median, quartilesOf, ratiosOf, timed } from "./figure";
import type { Session } from "./session";

const limit = 1.05;
const limitMsPerLaunch = 1000;
const warmups = 1;
/** Official tests on four ranks, probes on four and on three. */
const taskDir = join(repositoryRoot, "runner/suites/infradev-mini/tasks/sharded-weight-sync");

/**
 * The launches that decide a grading of a task's gold patch, with everything between and around them but the checkout,
 * against the same launches started by hand in a checkout that is ready: as many `python -m pytest` as ranks, with the
 * same ids and environment, none of them in a sandbox. Negative controls launch the tests once more, and by hand nobody
 * does: they are no part of the ratio, and the whole grading with them stands beside it.
 */
export async function measureLaunch(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
  const python = await ensurePython();
  const task = await loadTask(taskDir);
  const patch = await readReferencePatch(task, "gold");
  const missing = await checkBwrap().then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
  const usable = runnerExecutors.filter((executor) => executor !== "bwrap" || missing === null);
  const grade = await makeGrader(session, task, patch, python);

  session.say(`grading ${task.metadata.slug} once, to learn its launches`);
  const { launches } = await grade("process");
  const workspace = await prepareWorkspace(task, patch, join(session.dir, "by-hand"), python.standardModules);
  if ("code" in workspace) throw new Error(`the gold patch was refused: ${workspace.message}`);
  const settings = join(session.dir, "settings.ini");
  await writeFile(settings, "[pytest]\n");

  session.say(`${launches.length} launches, ${repeats} times by hand and by ${usable.join(" and ")}`);
  const byHand = () => runByHand(launches, { python, workspace, settings });
  const wholeMs: Record<RunnerExecutor, number[]> = { bwrap: [], process: [] };
  const decide = async (executor: RunnerExecutor): Promise<number> => {
    const { ms, result } = await timed(() => grade(executor));
    wholeMs[executor].push(ms);
    return result.decidedMs;
  };
  const seen: Record<"by-hand" | RunnerExecutor, number[]> = await interleave(
    {
      "by-hand": async () => (await timed(byHand)).ms,
      process: () => decide("process"),
      bwrap: missing === null ? () => decide("bwrap") : async () => Number.NaN,
    },
    { repeats, warmups },
  );
  const hand = seen["by-hand"];
  return runnerExecutors.map((executor): Figure => {
    const ms = seen[executor];
    const ratios = ratiosOf(ms, hand);
    const overMs = median(ms.map((value, index) => (value - (hand[index] ?? 0)) / launches.length));
    const measured = usable.includes(executor);
    return {
      name: `launch ${executor}`,
      what: "launches that decide a grading, against their ranks started by hand",
      value: measured ? median(ratios) : null,
      unit: "x",
      quartiles: measured ? quartilesOf(ratios) : null,
      repeats: measured ? repeats : 0,
      budget: `at most ${limit} x or ${limitMsPerLaunch} ms a launch`,
      met: measured ? median(ratios) <= limit || overMs <= limitMsPerLaunch : null,
      detail: measured
        ? `${median(ms).toFixed(0)} ms against ${median(hand).toFixed(0)} ms, ${overMs.toFixed(0)} ms more a launch of ${launches.length}; the whole grading ${median(wholeMs[executor]).toFixed(0)} ms`
        : (missing ?? ""),
    };
  });
}

async function makeGrader(session: Session, task: LoadedTask, patch: Buffer, python: PythonRuntime) {
  const { signer } = await generateKeyPair();
  const bundles = join(session.dir, "bundles");
  await mkdir(bundles);
  return async (executor: RunnerExecutor): Promise<{ launches: Launch[]; decidedMs: number }> => {
    const gradingId = randomUUID();
    const { result } = await gradeToBundle({
      task,
      patch,
      candidate: testCandidate,
      gradingId,
      attemptId: null,
      lease: null,
      executor,
      python,
      signer,
      workDir: join(session.dir, "work", gradingId),
      out: join(bundles, `${gradingId}.tar.gz`),
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    if (!result.summary.resolved) throw new Error(`the gold patch is not resolved (${result.status})`);
    const starts = result.launches.map(({ startedAt }) => Date.parse(startedAt));
    const ends = result.launches.map(({ startedAt, durationMs }) => Date.parse(startedAt) + durationMs);
    return { launches: result.launches, decidedMs: Math.max(...ends) - Math.min(...starts) };
  };
}
