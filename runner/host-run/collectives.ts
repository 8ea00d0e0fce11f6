import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result, TestOutcome } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import { referenceCandidate } from "../suites/reference";
import { runnerVersion } from "../version";
import { heldMb, idOf, theoreticalBytes, writeCollectivesTask } from "./collectives-task";
import type { HostRun } from "./state";

export type CollectivesReport = NonNullable<HostRun["collectives"]>;

/** What a test's ranks do, and what the grader must say of it. */
type Expectation = { test: string; status: OutcomeStatus | "not-passed"; rootRank: number | null };

const expectations: readonly Expectation[] = [
  ...["test_all_reduce", "test_no_network_outside", "test_moves_nothing", "test_holds_memory"].map(
    (test) => ({ test, status: "passed", rootRank: null }) as const,
  ),
  ...["all_reduce", "all_gather", "reduce_scatter", "broadcast"].map(
    (name) => ({ test: `test_moves_by_${name}`, status: "passed", rootRank: null }) as const,
  ),
  ...[0, 1].flatMap((rank): Expectation[] => [
    { test: `test_hangs[${rank}]`, status: "hung", rootRank: null },
    { test: `test_crashes[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_exits[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_raises[${rank}]`, status: "error", rootRank: rank },
  ]),
  { test: "test_times_out", status: "not-passed", rootRank: 0 },
];

/**
 * Grades two ranks that do known things: move known amounts, hold known memory, hang, crash, leave, raise, time out.
 * Compares what the grader says with what they do.
 */
export async function runCollectives(options: {
  executor: RunnerExecutor;
  python: PythonRuntime;
  gpus: GpuGrant | null;
  signal: AbortSignal;
  onTest?: (id: string, status: OutcomeStatus) => void;
}): Promise<CollectivesReport> {
  const work = await mkdtemp(join(tmpdir(), "infradev-collectives-"));
  try {
    const gpus = options.gpus?.uuids.length ?? 0;
    const task = await writeCollectivesTask(join(work, "task"), gpus);
    const { result } = await gradeTask({
      task,
      suite: task.suite,
      patch: new Uint8Array(),
      candidate: referenceCandidate("nop"),
      gradingId: randomUUID(),
      attemptId: null,
      lease: null,
      executor: options.executor,
      gpus: options.gpus,
      python: options.python,
      workDir: join(work, "grading"),
      signal: options.signal,
      runnerVersion,
      onProgress: (event) => {
        if (event.type === "test") options.onTest?.(event.id, event.status);
      },
    });
    options.signal.throwIfAborted();
    return reportOf(result, gpus);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function reportOf(result: Result, gpus: number): CollectivesReport {
  const outcomeOf = (test: string): TestOutcome | undefined => result.tests.find(({ id }) => id === idOf(test));
  const measured = result.tests.flatMap((test) =>
    test.resources.map((resource) => ({ test: test.id.slice(idOf("").length), ...resource })),
  );
  const memory = measured.filter(({ test, unit }) => test === "test_holds_memory" && unit === "MiB");
  return {
    gpus,
    status: result.status,
    rows: expectations.map(({ test, status, rootRank }) => {
      const outcome = outcomeOf(test);
      const observed = outcome?.status ?? "not-run";
      const statusHolds =
        status === "not-passed" ? observed !== "passed" && observed !== "not-run" : observed === status;
      const failures = outcome?.ranks.flatMap(({ failure }) => failure?.evidence ?? []) ?? [];
      return {
        test,
        expected: rootRank === null ? status : `${status}, root rank ${rootRank}`,
        observed,
        holds: statusHolds && (rootRank === null || outcome?.rootRank === rootRank),
        rootRank: outcome?.rootRank ?? null,
        evidence: [...new Set(failures.map(({ kind }) => kind))],
        durationMs: outcome?.durationMs ?? null,
      };
    }),
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
