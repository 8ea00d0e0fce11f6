import { join } from "node:path";
import type { Signer } from "@/lib/evidence/keys";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { collectHostFacts } from "../grading/host";
import type { PythonRuntime } from "../grading/python-runtime";
import { runSelfTest } from "../selftest/selftest";
import { keyOf, readEarlier, runGate } from "../suites/gate-run";
import type { LoadedTask } from "../suites/load";
import { gateItems, type Validation } from "../suites/validate";
import { runnerVersion } from "../version";
import { runCollectives } from "./collectives";
import { inWords, isNothing, type Leftovers, leftoversSince, takeStock, watchGpus } from "./leftovers";
import { measureOverhead } from "./overhead";
import { runPacking } from "./packing";
import { failedSteps, type HostRun, readHostRun, writeHostRun } from "./state";
import { rowOf, type TaskRow } from "./table";

export const hostRunSteps = ["selftest", "collectives", "packing", "gate", "overhead"] as const;
export type HostRunStep = (typeof hostRunSteps)[number];

/** Waits for GPUs and locks them, until the run is told to end, or `signal` says so. */
type AcquireGpus = (count: number, signal?: AbortSignal) => Promise<GpuGrant>;

export type HostRunOptions = {
  tasks: readonly LoadedTask[];
  pythonOf: (task: LoadedTask) => Promise<PythonRuntime>;
  executor: RunnerExecutor;
  signer: Signer;
  /** Folder of the run's reports; what stands in it already is not made again. */
  out: string;
  repeats: number;
  /** GPUs that a grading gets at most; as many as its task asks for where that is fewer. */
  gpus: number;
  /** Gradings with GPUs at once. Only one after the other can be looked after for what each left on the host. */
  gpuParallel: number;
  /** Every GPU that the run may use. */
  gpuUuids: readonly string[];
  /** Mutants' gradings end with the first probe that rejects them. */
  untilRejected: boolean;
  steps: ReadonlySet<HostRunStep>;
  /** Whether steps that were made and did not hold are made again: the host was mended, or the grader. */
  again: boolean;
  acquireGpus: AcquireGpus;
  /** The same from a pool that shares nothing with the first but the host's locks. */
  acquireElsewhere: AcquireGpus;
  /** Gradings of tasks without GPUs at once. */
  parallel: number;
  overheadRounds: number;
  /** `performance.now()` at which the run is to be over; what is left is made by the next call. */
  untilMs: number;
  signal: AbortSignal;
  say: (text: string) => void;
};

export type HostRunOutcome = {
  complete: boolean;
  rows: TaskRow[];
  run: HostRun;
  /** What this call's gradings left on the host, in words. */
  left: string[];
};

/**
 * Everything that has to be seen on a host, in steps that are each made once, unless they are to be made `again`: the
 * self-test; two ranks that do known things; gradings packed onto the host's GPUs; the gate of every task, with GPUs one
 * grading after the other and a look at the host after each; the runner's overhead on the first task of each suite that
 * uses torchrun. Side by side, all but packing and overhead go on at once, each grading on GPUs of its own. Ends in time
 * and says whether something is left.
 */
export async function runOnHost(options: HostRunOptions): Promise<HostRunOutcome> {
  const { out, signer, say } = options;
  const path = join(out, "host-run.json");
  const [firstTask] = options.tasks;
  if (firstTask === undefined) throw new Error("a host run has at least one task");
  // What would be refused is refused before anything is made.
  for (const task of options.tasks) {
    await readEarlier(task, { ...options, ...gateOf(task, options) });
    await options.pythonOf(task);
  }
  const python = await options.pythonOf(firstTask);
  const facts = await collectHostFacts(python);
  const earlier = await readHostRun(path, [keyOf(signer)]);
  const fresh: HostRun = {
    format: "infradev-host-run/1",
    runnerVersion,
    executor: options.executor,
    gpus: options.gpus,
    host: facts,
    startedAt: new Date().toISOString(),
    finishedAt: new Date().toISOString(),
    selftest: null,
    collectives: null,
    packing: null,
    calls: [],
    overhead: [],
  };
  const continues =
    earlier !== null &&
    earlier.runnerVersion === runnerVersion &&
    earlier.executor === options.executor &&
    earlier.gpus === options.gpus;
  let run: HostRun = continues ? earlier : fresh;
  let saving: Promise<void> = Promise.resolve();
  const save = (changes: Partial<HostRun>): Promise<void> => {
    run = { ...run, ...changes, finishedAt: new Date().toISOString() };
    saving = saving.then(() => writeHostRun(path, run, signer));
    return saving;
  };
  const inTime = (neededMs: number): boolean => performance.now() + neededMs < options.untilMs;
  const sideBySide = options.gpuParallel > 1;
  const toMake = (step: "selftest" | "collectives" | "packing"): boolean =>
    options.steps.has(step) && (run[step] === null || (options.again && failedSteps(run).has(step)));
  /** Whether there is time for a step that is made whole or not at all. */
  const hasTime = (step: string, neededMs: number): boolean => {
    const enough = inTime(neededMs);
    if (!enough) say(`${step}: not begun, it may take ${(neededMs / 60_000).toFixed(1)} min`);
    return enough;
  };

  const selfTest = async (): Promise<void> => {
    if (!toMake("selftest")) return;
    say("self-test");
    const { controlResolved, results } = await withGpus(options, 1, (gpus) =>
      runSelfTest({
        executor: options.executor,
        python,
        gpus,
        signal: options.signal,
        parallel: options.parallel,
        onResult: (result, done, total) => say(`self-test ${done}/${total}  ${result.name}: ${result.verdict}`),
      }),
    );
    await save({
      selftest: {
        controlResolved,
        results: results.map(({ name, verdict, seen, durationMs }) => ({ name, verdict, seen, durationMs })),
      },
    });
  };
  const exploitsSeen = (): Validation["exploits"] =>
    run.selftest && {
      run: run.selftest.results.length,
      passed: run.selftest.results.filter(({ verdict }) => verdict === "passed").map(({ name }) => name),
      controlResolved: run.selftest.controlResolved,
    };

  const torchTask = options.tasks.find(usesTorchrun);
  const packs = options.gpuUuids.length >= 2;
  const collectives = async (): Promise<void> => {
    if (torchTask === undefined || !toMake("collectives")) return;
    if (!hasTime("collectives", collectivesMs)) return;
    const torch = await options.pythonOf(torchTask);
    const seen = await withGpus(options, 2, (gpus) =>
      runCollectives({
        executor: options.executor,
        python: torch,
        gpus,
        signal: options.signal,
        onTest: (id, status) => say(`collectives  ${status}  ${id}`),
      }),
    );
    await save({ collectives: seen });
  };

  /** Asks for every GPU there is, so nothing else goes on meanwhile. */
  const packing = async (): Promise<void> => {
    if (!packs || torchTask === undefined || !toMake("packing")) return;
    if (!hasTime("packing", packingMs)) return;
    const { executor, gpuUuids, signal } = options;
    const seen = await runPacking({
      executor,
      python: await options.pythonOf(torchTask),
      gpus: gpuUuids.length,
      pools: new Map([
        ["first", options.acquireGpus],
        ["second", options.acquireElsewhere],
      ]),
      signal,
      onGraded: ({ pool, gpus, startedMs, endedMs, resolved }) =>
        say(
          `packing  ${pool} pool, GPU ${gpus.join(", ")}, ${startedMs} to ${endedMs} ms: ${resolved ? "resolved" : "not resolved"}`,
        ),
    });
    await save({ packing: seen });
  };

  const before = await takeStock(options.gpuUuids);
  let made = 0;
  let longestMs = 0;
  const left: string[] = [];
  const gate = async (task: LoadedTask, exploits: () => Promise<Validation["exploits"]>): Promise<TaskRow> => {
    const { gpus, out: reportPath } = gateOf(task, options);
    const report = await runGate(task, {
      repeats: options.repeats,
      shard: { index: 1, count: 1 },
      executor: options.executor,
      python: await options.pythonOf(task),
      signer,
      out: reportPath,
      signal: options.signal,
      exploits: async (known) => (await exploits()) ?? known,
      onGrading: () => {},
      onGraded: (grading, done, total) => {
        made += 1;
        longestMs = Math.max(longestMs, grading.durationMs);
        if (grading.leftovers !== undefined && !isNothing(grading.leftovers)) {
          left.push(`${task.metadata.slug}, ${grading.patch} #${grading.repeat}: ${inWords(grading.leftovers)}`);
        }
        say(
          `${task.metadata.slug}  ${done}/${total}  ${grading.patch} #${grading.repeat}: ${grading.status}, ` +
            `${grading.tests.filter(({ status }) => status === "passed").length}/${grading.tests.length} pass, ` +
            `${(grading.durationMs / 1000).toFixed(1)} s`,
        );
      },
      gpus,
      acquireGpus: options.acquireGpus,
      untilMs: options.untilMs,
      maxGradings: options.steps.has("gate") ? Infinity : 0,
      parallel: gpus === 0 ? options.parallel : options.gpuParallel,
      expectMs: () => longestMs,
      untilRejected: options.untilRejected,
      ...(gpus === 0 ? {} : { watchHost: sideBySide ? watchGpus : watchWhole }),
    });
    return rowOf(task, report);
  };

  const onGpus = options.tasks.filter((task) => gateOf(task, options).gpus > 0);
  const rows: TaskRow[] = [];
  if (sideBySide) {
    const exploits = selfTest().then(exploitsSeen);
    const gates = onGpus.map((task) => gate(task, () => exploits));
    rows.push(
      ...(await allOrFirstError([...gates, exploits.then(() => null), collectives().then(() => null)])).flatMap(
        (row) => row ?? [],
      ),
    );
  } else {
    await selfTest();
    await collectives();
  }
  await packing();
  for (const task of sideBySide ? options.tasks.filter((each) => !onGpus.includes(each)) : options.tasks) {
    rows.push(await gate(task, async () => exploitsSeen()));
  }
  let complete =
    run.selftest !== null &&
    (run.collectives !== null || torchTask === undefined) &&
    (run.packing !== null || torchTask === undefined || !packs) &&
    rows.every(({ task, report }) => report.gradings.length === gateItems(task, options.repeats).length);

  if (made > 0) {
    const found = await leftoversSince(before, options.gpuUuids);
    if (!isNothing(found)) left.push(`at the end: ${inWords(found)}`);
    const { processes, paths, gpuMemoryMb } = found;
    const call = { gradings: made, processes: processes ?? [], paths: paths ?? [], gpuMemoryMb };
    await save({ calls: [...run.calls, call] });
  }
  const measured = new Set(run.overhead.map(({ task }) => task));
  for (const task of firstOfEachSuite(options.tasks)) {
    const { slug } = task.metadata;
    if (measured.has(slug) || options.overheadRounds === 0) continue;
    if (!options.steps.has("overhead")) {
      complete = false;
      continue;
    }
    const gold = rows.find((row) => row.task === task)?.report.gradings.find(({ patch }) => patch === "gold");
    if (gold === undefined || !inTime(gold.durationMs * (2 * options.overheadRounds + 1))) {
      complete = false;
      continue;
    }
    const taskPython = await options.pythonOf(task);
    const overhead = await withGpus(options, task.manifest.task.gpusGrade, (gpus) =>
      measureOverhead({
        task,
        executor: options.executor,
        python: taskPython,
        gpus,
        rounds: options.overheadRounds,
        signal: options.signal,
        onRound: (done) => say(`overhead  ${slug}  round ${done} of ${options.overheadRounds}`),
      }),
    );
    await save({ overhead: [...run.overhead, overhead] });
  }
  await save({});
  return { complete, rows, run, left };
}

/** A task's report, and the GPUs of its gradings. */
const gateOf = (task: LoadedTask, { out, gpus }: Pick<HostRunOptions, "out" | "gpus">) => ({
  gpus: Math.min(task.manifest.task.gpusGrade, gpus),
  out: join(out, task.suite.slug, `${task.metadata.slug}.validation.json`),
});

/** Does a piece of work with `count` GPUs, or as many as a grading gets at most; null where that is none. */
async function withGpus<T>(
  { gpus, acquireGpus }: Pick<HostRunOptions, "gpus" | "acquireGpus">,
  count: number,
  work: (grant: GpuGrant | null) => Promise<T>,
): Promise<T> {
  const grant = gpus > 0 ? await acquireGpus(Math.min(count, gpus)) : null;
  try {
    return await work(grant);
  } finally {
    await grant?.release();
  }
}

/** Waits for all, so that nothing goes on behind an error. */
async function allOrFirstError<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const failed = settled.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

async function watchWhole(uuids: readonly string[]): Promise<() => Promise<Leftovers>> {
  const before = await takeStock(uuids);
  return () => leftoversSince(before, uuids);
}

/** Some twenty launches, some of which hang to their limit; and six gradings of one launch, four one after the other. */
const collectivesMs = 360_000;
const packingMs = 120_000;

const usesTorchrun = (task: LoadedTask): boolean =>
  task.manifest.groups.some(({ launcher }) => launcher === "torchrun");

/** The first task that torchrun launches in each suite. */
function firstOfEachSuite(tasks: readonly LoadedTask[]): LoadedTask[] {
  const found = new Map<string, LoadedTask>();
  for (const task of tasks) {
    if (!usesTorchrun(task) || found.has(task.suite.slug)) continue;
    found.set(task.suite.slug, task);
  }
  return [...found.values()];
}
