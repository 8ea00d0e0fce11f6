import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../db/embedded";
import { repositoryRoot } from "../e2e/stack";
import type { Launch } from "../lib/contract/result";
import { generateKeyPair } from "../lib/evidence/keys";
import { testCandidate } from "../lib/evidence/testing";
import { checkBwrap } from "../runner/executors/bwrap";
import { launcherFolder } from "../runner/executors/python-folder";
import { gradeToBundle, type RunnerExecutor, runnerExecutors } from "../runner/grade-to-bundle";
import { launchEnv } from "../runner/grading/groups";
import { ensurePython, type PythonRuntime } from "../runner/grading/python-runtime";
import { prepareWorkspace, type Workspace } from "../runner/grading/workspace";
import { capture } from "../runner/processes/capture";
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
 * A whole grading of a task's gold patch, from checkout to signed bundle, against the same launches started by hand in
 * a checkout that is ready: as many `python -m pytest` as ranks, with the same ids and environment, none of them in a
 * sandbox. Every executor is measured against the same runs by hand.
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
  const launches = await grade("process");
  const workspace = await prepareWorkspace(task, patch, join(session.dir, "by-hand"), python.standardModules);
  if ("code" in workspace) throw new Error(`the gold patch was refused: ${workspace.message}`);
  const settings = join(session.dir, "settings.ini");
  await writeFile(settings, "[pytest]\n");

  session.say(`${launches.length} launches, ${repeats} times by hand and by ${usable.join(" and ")}`);
  const timeOf = async (work: () => Promise<unknown>) => (await timed(work)).ms;
  const byHand = () => runByHand(launches, { python, workspace, settings });
  const seen: Record<"by-hand" | RunnerExecutor, number[]> = await interleave(
    {
      "by-hand": () => timeOf(byHand),
      process: () => timeOf(() => grade("process")),
      bwrap: missing === null ? () => timeOf(() => grade("bwrap")) : async () => Number.NaN,
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
      what: "grading, checkout to signed bundle, against its ranks started by hand",
      value: measured ? median(ratios) : null,
      unit: "x",
      quartiles: measured ? quartilesOf(ratios) : null,
      repeats: measured ? repeats : 0,
      budget: `at most ${limit} x or ${limitMsPerLaunch} ms a launch`,
      met: measured ? median(ratios) <= limit || overMs <= limitMsPerLaunch : null,
      detail: measured
        ? `${median(ms).toFixed(0)} ms against ${median(hand).toFixed(0)} ms, ${overMs.toFixed(0)} ms more a launch of ${launches.length}`
        : (missing ?? ""),
    };
  });
}

async function makeGrader(session: Session, task: LoadedTask, patch: Buffer, python: PythonRuntime) {
  const { signer } = await generateKeyPair();
  const bundles = join(session.dir, "bundles");
  await mkdir(bundles);
  return async (executor: RunnerExecutor): Promise<Launch[]> => {
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
    return result.launches;
  };
}

async function runByHand(
  launches: readonly Launch[],
  { python, workspace, settings }: { python: PythonRuntime; workspace: Workspace; settings: string },
): Promise<void> {
  for (const launch of launches) {
    const port = await freePort();
    const usesProbes = launch.tests.some((id) => id.startsWith("probes/"));
    const ids = launch.tests.map((id) =>
      id.startsWith("probes/") ? join(workspace.probes, id.slice("probes/".length)) : join(workspace.repository, id),
    );
    const ranks = Array.from({ length: launch.nproc }, (_, rank) =>
      capture(
        python.executable,
        [
          ...["-B", "-s", "-m", "pytest", "-c", settings],
          `--rootdir=${usesProbes ? workspace.probes : workspace.repository}`,
          ...["-p", "no:cacheprovider", "--capture=no", "--tb=short", "--color=no", "-q", ...ids],
        ],
        {
          cwd: workspace.repository,
          timeoutMs: 300_000,
          env: {
            ...launchEnv,
            PATH: "/usr/bin:/bin",
            LC_ALL: "C.UTF-8",
            TZ: "UTC",
            PYTHONPATH: `${workspace.repository}:${launcherFolder}`,
            RANK: String(rank),
            LOCAL_RANK: String(rank),
            WORLD_SIZE: String(launch.nproc),
            LOCAL_WORLD_SIZE: String(launch.nproc),
            MASTER_ADDR: "127.0.0.1",
            MASTER_PORT: String(port),
          },
        },
      ),
    );
    for (const [rank, { code, stdout }] of (await Promise.all(ranks)).entries()) {
      if (code !== 0)
        throw new Error(`by hand, rank ${rank} of ${launch.group} ended with ${code}: ${stdout.slice(-2000)}`);
    }
  }
}
