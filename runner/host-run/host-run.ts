import { join } from "node:path";
import type { VerificationKey } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { collectHostFacts } from "../grading/host";
import type { PythonRuntime } from "../grading/python-runtime";
import { runSelfTest } from "../selftest/selftest";
import { readEarlier, refuseOtherProfile, refuseOtherSoftware, runGate } from "../suites/gate-run";
import type { LoadedTask } from "../suites/load";
import { holdReport } from "../suites/signed-report";
import { exploitsOf, gateItems, type Validation } from "../suites/validate";
import { runnerVersion } from "../version";
import { withinTime } from "../within-time";
import { outdatedRows, runCollectives } from "./collectives";
import { failedSteps } from "./failed-steps";
import { inWords, isNothing, type Leftovers, leftoversSince, takeStock, wasLooked, watchGpus } from "./leftovers";
import { measureOverhead } from "./overhead";
import { runPacking } from "./packing";
import { type HostRun, readHostRun, writeHostRun } from "./state";
import { rowOf, type TaskRow } from "./table";

/** In the order in which a run makes them. */
export const hostRunSteps = ["selftest", "collectives", "packing", "gate", "overhead"] as const;
export type HostRunStep = (typeof hostRunSteps)[number];

/** Waits for GPUs and locks them, until `signal` aborts. */
type AcquireGpus = (count: number, signal: AbortSignal) => Promise<GpuGrant>;

export type HostRunOptions = {
  tasks: readonly LoadedTask[];
  pythonOf: (task: LoadedTask) => Promise<PythonRuntime>;
  executor: RunnerExecutor;
  signer: Signer;
  /** Whoever signed with one of these is gone on from. */
  keys: readonly VerificationKey[];
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
  /** What gradings left on the host, in words. */
  left: string[];
};

/**
 * Everything that has to be seen on a host, in steps that are each made once, unless they are to be made `again`: the
 * self-test; two ranks that do known things; gradings packed onto the host's GPUs; the gate of every task, with GPUs one
 * grading after the other and a look at the host after each; the runner's overhead on the first task of each suite that
 * uses torchrun. Side by side, all but packing and overhead go on at once, each grading on GPUs of its own. Ends in time
 * and says whether something is left. Refuses before anything is made what `readEarlier` refuses, and a folder that
 * another process writes to (`report.in-use`).
 */
export async function runOnHost(options: HostRunOptions): Promise<HostRunOutcome> {
  const path = join(options.out, "host-run.json");
  const held = await holdReport(path);
  try {
    return await makeSteps(path, options);
  } finally {
    await held.release();
  }
}

/** What a host run begins with: the report that it goes on with, or a new one. Throws where something speaks against it. */
async function beginRun(path: string, options: HostRunOptions): Promise<HostRun> {
  const { tasks, executor, gpus, keys } = options;
  const [firstTask] = tasks;
  if (firstTask === undefined) throw new Error("a host run has at least one task");
  const earlier = await readHostRun(path, keys);
  const reports = new Map<LoadedTask, Validation | null>();
  for (const task of tasks) reports.set(task, await readEarlier(task, { ...options, ...gateOf(task, options) }));
  if (earlier !== null) refuseOtherProfile("host-run.profile", earlier, { gpus, executor, runnerVersion }, path);
  for (const task of tasks) {
    const facts = await collectHostFacts(await options.pythonOf(task));
    const report = reports.get(task);
    if (report != null) refuseOtherSoftware(report, facts, gateOf(task, options).out);
  }
  const host = await collectHostFacts(await options.pythonOf(firstTask));
  if (earlier !== null) {
    // Of the software each report of a task tells: here it is that of the first task, whichever is named first.
    refuseOtherSoftware(earlier, { ...earlier.host, gpus: host.gpus }, path);
    return earlier;
  }
  return {
    format: "infradev-host-run/1",
    runnerVersion,
    executor,
    gpus,
    host,
    startedAt: new Date().toISOString(),
    finishedAt: new Date().toISOString(),
    selftest: null,
    collectives: null,
    packing: null,
    calls: [],
    overhead: [],
  };
}

async function makeSteps(path: string, options: HostRunOptions): Promise<HostRunOutcome> {
  const { signer, say } = options;
  let run = await beginRun(path, options);
  const [firstTask] = options.tasks as [LoadedTask, ...LoadedTask[]];
  const python = await options.pythonOf(firstTask);
  let saving: Promise<void> = Promise.resolve();
  const save = (changes: Partial<HostRun>): Promise<void> => {
    run = { ...run, ...changes, finishedAt: new Date().toISOString() };
    saving = saving.then(() => writeHostRun(path, run, signer));
    return saving;
  };
  const leftMs = (): number => options.untilMs - performance.now();
  /** Whether there is time for a step that is made whole or not at all. */
  const hasTime = (step: string, neededMs: number): boolean => {
    const enough = neededMs < leftMs();
    if (!enough) say(`${step}: not begun, it may take ${(neededMs / 60_000).toFixed(1)} min`);
    return enough;
  };
  /** GPUs as soon as they are free; null where the run's time is over first. */
  const acquireInTime = async (count: number): Promise<GpuGrant | null> => {
    try {
      return await withinTime(leftMs(), options.signal, (within) => options.acquireGpus(count, within));
    } catch (error) {
      if (error instanceof DOMException && error.name === "TimeoutError") return null;
      throw error;
    }
  };
  /**
   * Does a step with `count` GPUs, or as many as a grading gets at most, where `neededMs` are left before and once they
   * are free.
   */
  const withGpus = async (
    step: string,
    neededMs: number,
    count: number,
    work: (grant: GpuGrant | null) => Promise<void>,
  ): Promise<void> => {
    if (!hasTime(step, neededMs)) return;
    if (options.gpus === 0) return await work(null);
    const grant = await acquireInTime(Math.min(count, options.gpus));
    if (grant === null) return say(`${step}: not begun, its GPUs were not free in time`);
    try {
      if (hasTime(step, neededMs)) await work(grant);
    } finally {
      await grant.release();
    }
  };
  const sideBySide = options.gpuParallel > 1;
  const isMade = (step: "selftest" | "collectives" | "packing"): boolean =>
    run[step] !== null && (step !== "collectives" || !isOutdated(run.collectives));
  const toMake = (step: "selftest" | "collectives" | "packing"): boolean =>
    options.steps.has(step) && (!isMade(step) || (options.again && failedSteps(run).has(step)));

  const selfTest = async (): Promise<void> => {
    if (!toMake("selftest")) return;
    await withGpus("self-test", selfTestMs, 1, async (gpus) => {
      const { controlResolved, results } = await runSelfTest({
        executor: options.executor,
        python,
        gpus,
        signal: options.signal,
        parallel: options.parallel,
        onResult: (result, done, total) => say(`self-test ${done}/${total}  ${result.name}: ${result.verdict}`),
      });
      await save({
        selftest: {
          controlResolved,
          results: results.map(({ name, verdict, seen, durationMs }) => ({ name, verdict, seen, durationMs })),
        },
      });
    });
  };
  const exploitsSeen = (): Validation["exploits"] => run.selftest && exploitsOf(run.selftest);

  const torchTask = options.tasks.find(usesTorchrun);
  const packs = options.gpuUuids.length >= 2;
  const collectives = async (): Promise<void> => {
    if (torchTask === undefined || !toMake("collectives")) return;
    const torch = await options.pythonOf(torchTask);
    await withGpus("collectives", collectivesMs, 2, async (gpus) => {
      const seen = await runCollectives({
        executor: options.executor,
        python: torch,
        gpus,
        signal: options.signal,
        onTest: (id, status) => say(`collectives  ${status}  ${id}`),
      });
      await save({ collectives: seen });
    });
  };

  /** Asks for every GPU there is, so nothing else goes on meanwhile. */
  const packing = async (): Promise<void> => {
    if (!packs || torchTask === undefined || !toMake("packing")) return;
    if (!hasTime("packing", packingMs)) return;
    const { executor, gpuUuids, signal } = options;
    const within =
      (acquire: AcquireGpus): AcquireGpus =>
      (count, patience) =>
        withinTime(leftMs(), patience, (signal) => acquire(count, signal));
    const seen = await runPacking({
      executor,
      python: await options.pythonOf(torchTask),
      gpus: gpuUuids.length,
      pools: new Map([
        ["first", within(options.acquireGpus)],
        ["second", within(options.acquireElsewhere)],
      ]),
      signal,
      onGraded: ({ pool, gpus, startedMs, endedMs, resolved }) =>
        say(
          `packing  ${pool} pool, GPU ${gpus.join(", ")}, ${startedMs} to ${endedMs} ms: ${resolved ? "resolved" : "not resolved"}`,
        ),
    });
    if (leftMs() <= 0 && seen.problems.length > 0) return say("packing: not made, its GPUs were not free in time");
    await save({ packing: seen });
  };

  const before = await takeStock(options.gpuUuids);
  const earlierCalls = run.calls;
  const notLooked = { processes: null, paths: null, gpuMemoryMb: null };
  let made = 0;
  let longestMs = 0;
  const gate = async (task: LoadedTask, exploits: () => Promise<Validation["exploits"]>): Promise<TaskRow> => {
    const { gpus, out: reportPath } = gateOf(task, options);
    const report = await runGate(task, {
      repeats: options.repeats,
      shard: { index: 1, count: 1 },
      executor: options.executor,
      python: await options.pythonOf(task),
      signer,
      keys: options.keys,
      out: reportPath,
      signal: options.signal,
      exploits: async (known) => (await exploits()) ?? known,
      onGrading: () => {},
      onGraded: async (grading, done, total) => {
        made += 1;
        longestMs = Math.max(longestMs, grading.durationMs);
        // Stands there until the host was looked at: a call that is killed must not look like a clean one.
        await save({ calls: [...earlierCalls, { gradings: made, ...notLooked }] });
        say(
          `${task.metadata.slug}  ${done}/${total}  ${grading.patch} #${grading.repeat}: ${grading.status}, ` +
            `${grading.tests.filter(({ status }) => status === "passed").length}/${grading.tests.length} pass, ` +
            `${(grading.durationMs / 1000).toFixed(1)} s`,
        );
      },
      gpus,
      acquireGpus: acquireInTime,
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
    isMade("selftest") &&
    (isMade("collectives") || torchTask === undefined) &&
    (isMade("packing") || torchTask === undefined || !packs) &&
    rows.every(({ task, report }) => report.gradings.length === gateItems(task, options.repeats).length);

  const measured = new Set(run.overhead.map(({ task }) => task));
  for (const task of firstOfEachSuite(options.tasks)) {
    const { slug } = task.metadata;
    if (measured.has(slug) || options.overheadRounds === 0) continue;
    const gold = rows.find((row) => row.task === task)?.report.gradings.find((each) => each.patch === "gold");
    const neededMs = (gold?.durationMs ?? 0) * (2 * options.overheadRounds + 1);
    if (options.steps.has("overhead") && gold?.resolved === true) {
      const taskPython = await options.pythonOf(task);
      await withGpus("overhead", neededMs, task.manifest.task.gpusGrade, async (gpus) => {
        const overhead = await measureOverhead({
          task,
          executor: options.executor,
          python: taskPython,
          gpus,
          rounds: options.overheadRounds,
          signal: options.signal,
          onRound: (done) => say(`overhead  ${slug}  round ${done} of ${options.overheadRounds}`),
        });
        made += 1 + options.overheadRounds;
        await save({ overhead: [...run.overhead, overhead] });
      });
    }
    complete &&= run.overhead.some((each) => each.task === slug);
  }
  if (made > 0) {
    const found = await leftoversSince(before, options.gpuUuids);
    await save({ calls: [...earlierCalls, { gradings: made, ...found }] });
  }
  await save({});
  return { complete, rows, run, left: leftIn(run, rows) };
}

/** What gradings left on the host, in words: of each that was looked after, and of each call at its end. */
function leftIn(run: HostRun, rows: readonly TaskRow[]): string[] {
  const ofGradings = rows.flatMap(({ task, report }) =>
    report.gradings.flatMap(({ patch, repeat, leftovers }) =>
      leftovers === undefined || isNothing(leftovers)
        ? []
        : [`${task.metadata.slug}, ${patch} #${repeat}: ${inWords(leftovers)}`],
    ),
  );
  const ofCalls = run.calls.flatMap((call) =>
    wasLooked(call) && !isNothing(call) ? [`after ${call.gradings} gradings: ${inWords(call)}`] : [],
  );
  return [...ofGradings, ...ofCalls];
}

/** A task's report, and the GPUs of its gradings. */
const gateOf = (task: LoadedTask, { out, gpus }: Pick<HostRunOptions, "out" | "gpus">) => ({
  gpus: Math.min(task.manifest.task.gpusGrade, gpus),
  out: join(out, task.suite.slug, `${task.metadata.slug}.validation.json`),
});

/** Waits for all, so that nothing goes on behind an error. */
async function allOrFirstError<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const failed = settled.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

/** Whether known ranks were graded by other expectations than today's: it says nothing of today's grader. */
const isOutdated = (seen: HostRun["collectives"]): boolean => seen !== null && outdatedRows(seen).length > 0;

async function watchWhole(uuids: readonly string[]): Promise<() => Promise<Leftovers>> {
  const before = await takeStock(uuids);
  return () => leftoversSince(before, uuids);
}

/** What may be needed: some hundred and fifty short gradings side by side; some twenty launches, some of which hang to
 * their limit; six gradings of one launch, four of them one after the other. */
const selfTestMs = 180_000;
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
