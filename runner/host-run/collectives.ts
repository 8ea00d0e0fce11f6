import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FailureDetail, Result, TestOutcome } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import type { LoadedTask } from "../suites/load";
import { readReferencePatch, referenceCandidate } from "../suites/reference";
import { runnerVersion } from "../version";
import { heldMb, theoreticalBytes, writeCollectivesTask } from "./collectives-task";
import { idOf, type KnownTask, writeKnownTask } from "./known-task";
import type { HostRun } from "./state";

export type CollectivesReport = NonNullable<HostRun["collectives"]>;

/** What a test's ranks do, and what the grader must say of it. */
type Expectation = {
  test: string;
  status: OutcomeStatus | "not-passed";
  rootRank: number | null;
  /** Seen on GPUs alone. */
  onGpus?: boolean;
  /** What a collective that is waited for leaves where NCCL carries it. */
  recorded?: boolean;
};

const expectations: readonly Expectation[] = [
  ...["test_all_reduce", "test_no_network_outside", "test_moves_nothing", "test_holds_memory"].map(
    (test) => ({ test, status: "passed", rootRank: null }) as const,
  ),
  ...["all_reduce", "all_gather", "reduce_scatter", "broadcast"].map(
    (name) => ({ test: `test_moves_by_${name}`, status: "passed", rootRank: null }) as const,
  ),
  ...[0, 1].flatMap((rank): Expectation[] => [
    { test: `test_hangs[${rank}]`, status: "hung", rootRank: null, recorded: true },
    { test: `test_aborts[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_crashes[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_exits[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_raises[${rank}]`, status: "error", rootRank: rank },
  ]),
  { test: "test_asserts_on_the_device", status: "not-passed", rootRank: 1, onGpus: true },
  { test: "test_times_out", status: "not-passed", rootRank: 0, recorded: true },
];

type Options = {
  executor: RunnerExecutor;
  python: PythonRuntime;
  gpus: GpuGrant | null;
  signal: AbortSignal;
  onTest?: (id: string, status: OutcomeStatus) => void;
};

/**
 * Grades two ranks that do known things: move known amounts, hold known memory, hang, abort, crash, leave, raise, time
 * out. Compares what the grader says with what they do. Where the ranks talk through NCCL, they also try to without the
 * shared memory that NCCL needs.
 */
export async function runCollectives(options: Options): Promise<CollectivesReport> {
  const gpus = options.gpus?.uuids.length ?? 0;
  const result = await gradeKnownTask(options, "nop", (dir) => writeCollectivesTask(dir, gpus));
  const withoutSharedMemory = gpus < 2 ? null : await runWithoutSharedMemory(options, gpus);
  return { ...reportOf(result, gpus), withoutSharedMemory };
}

/** Grades a known task that `write` makes, with one of its reference patches. */
export async function gradeKnownTask(
  { executor, python, gpus, signal, onTest }: Options,
  patch: "nop" | "gold",
  write: (dir: string) => Promise<LoadedTask>,
): Promise<Result> {
  const work = await mkdtemp(join(tmpdir(), "infradev-known-"));
  try {
    const task = await write(join(work, "task"));
    const { result } = await gradeTask({
      task,
      suite: task.suite,
      patch: await readReferencePatch(task, patch),
      candidate: referenceCandidate(patch),
      gradingId: randomUUID(),
      attemptId: null,
      lease: null,
      executor,
      gpus,
      python,
      workDir: join(work, "grading"),
      signal,
      runnerVersion,
      onProgress: (event) => {
        if (event.type === "test") onTest?.(event.id, event.status);
      },
    });
    signal.throwIfAborted();
    return result;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * NCCL between two GPUs through host memory, in a sandbox whose /dev/shm has 1 MiB. What it says then looks like a fault
 * of the host, gold says the same, and the grading is the host's: nobody's patch is blamed.
 */
const withoutSharedMemoryTask = (gpus: number): KnownTask => ({
  slug: "without-shared-memory",
  gpus,
  shmMb: 1,
  source: `from ranks.group import meet, open_group


def test_meets():
    open_group()
    assert meet().item() == 2
`,
  groups: [{ id: "narrow", testTimeoutSec: 60, env: { NCCL_P2P_DISABLE: "1", NCCL_CUMEM_HOST_ENABLE: "0" } }],
  tests: { test_meets: { group: "narrow" } },
  withGold: true,
});

async function runWithoutSharedMemory(
  options: Options,
  gpus: number,
): Promise<NonNullable<CollectivesReport["withoutSharedMemory"]>> {
  const { status, reason, tests } = await gradeKnownTask(options, "nop", (dir) =>
    writeKnownTask(dir, withoutSharedMemoryTask(gpus)),
  );
  const failure = tests.flatMap(({ ranks }) => ranks.flatMap((rank) => rank.failure ?? []))[0];
  const said = [
    ...(failure === undefined ? [] : [saidBy(failure)]),
    ...(failure?.evidence ?? []).filter(({ kind }) => kind === "nccl-log").map(({ excerpt }) => excerpt),
    ...(reason?.evidence ?? []),
  ].map((text) => text.slice(0, 1000));
  const named = said.some((text) => /\/dev\/shm|shared memory/i.test(text));
  return { status, reason: reason?.code ?? null, said, holds: status === "infra" && named };
}

const saidBy = ({ exceptionType, message }: FailureDetail): string =>
  exceptionType === null ? message : `${exceptionType}: ${message}`;

function reportOf(result: Result, gpus: number): Omit<CollectivesReport, "withoutSharedMemory"> {
  const outcomeOf = (test: string): TestOutcome | undefined => result.tests.find(({ id }) => id === idOf(test));
  const measured = result.tests.flatMap((test) =>
    test.resources.map((resource) => ({ test: test.id.slice(idOf("").length), ...resource })),
  );
  const memory = measured.filter(({ test, unit }) => test === "test_holds_memory" && unit === "MiB");
  return {
    gpus,
    status: result.status,
    rows: expectations
      .filter(({ onGpus }) => gpus > 0 || !onGpus)
      .map((expectation) => rowOf(expectation, outcomeOf(expectation.test), gpus)),
    traffic: measured.flatMap(({ test, unit, meter, value }) =>
      unit === "bytes" && meter !== undefined && theoreticalBytes[test] !== undefined
        ? [{ test, meter, bytes: value, theoreticalBytes: theoreticalBytes[test] }]
        : [],
    ),
    memory: {
      heldMb,
      nvmlMb: memory.find(({ meter }) => meter === "gpu-memory")?.value ?? null,
      allocatorMb: outcomeOf("test_holds_memory")?.usage?.allocatorPeakMib ?? null,
    },
  };
}

function rowOf(
  { test, status, rootRank, recorded = false }: Expectation,
  outcome: TestOutcome | undefined,
  gpus: number,
): CollectivesReport["rows"][number] {
  const observed = outcome?.status ?? "not-run";
  const statusHolds = status === "not-passed" ? observed !== "passed" && observed !== "not-run" : observed === status;
  const failed = outcome?.ranks.filter(({ failure }) => failure !== null) ?? [];
  const first = (failed.find(({ rank }) => rank === outcome?.rootRank) ?? failed[0])?.failure;
  const evidence = failed.flatMap(({ failure }) => failure?.evidence ?? []);
  const recording = evidence.find(({ kind }) => kind === "flight-recorder");
  const wanted = [
    ...(rootRank === null ? [] : [`root rank ${rootRank}`]),
    ...(recorded && gpus >= 2 ? ["flight recording"] : []),
  ];
  return {
    test,
    expected: [status, ...wanted].join(", "),
    observed,
    holds:
      statusHolds &&
      (rootRank === null || outcome?.rootRank === rootRank) &&
      (!recorded || gpus < 2 || recording !== undefined),
    rootRank: outcome?.rootRank ?? null,
    evidence: [...new Set(evidence.map(({ kind }) => kind))],
    durationMs: outcome?.durationMs ?? null,
    ...(first == null ? {} : { said: saidBy(first).slice(0, 600) }),
    ...(recording === undefined ? {} : { recording: recording.excerpt.slice(0, 1500) }),
  };
}
