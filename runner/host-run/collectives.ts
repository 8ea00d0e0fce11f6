import type { FailureDetail, Result, TestOutcome } from "@/lib/contract/result";
import { namesOpenCollective } from "../grading/flight-recorder";
import {
  collectivesTask,
  type Expectation,
  expectations,
  heldMb,
  theoreticalBytes,
  withoutSharedMemoryTask,
} from "./collectives-task";
import { gradeKnownTask, idOf, type KnownGrading } from "./known-task";
import type { HostRun } from "./state";

export type CollectivesReport = NonNullable<HostRun["collectives"]>;

/**
 * Grades two ranks that do known things: move known amounts, hold known memory, hang, abort, crash, leave, raise, time
 * out. Compares what the grader says with what they do. Where the ranks talk through NCCL in a sandbox, which gives a
 * launch a /dev/shm of its own, they also try to without the shared memory that NCCL needs.
 */
export async function runCollectives(options: KnownGrading): Promise<CollectivesReport> {
  const gpus = options.gpus?.uuids.length ?? 0;
  const result = await gradeKnownTask(options, collectivesTask(gpus));
  const narrow = gpus >= 2 && options.executor === "bwrap";
  const withoutSharedMemory = narrow
    ? withoutSharedMemoryOf(await gradeKnownTask(options, withoutSharedMemoryTask(gpus)))
    : null;
  return { ...reportOf(result, gpus), withoutSharedMemory };
}

/** What a grading says whose ranks had no shared memory: the host's fault, by a gold that lacks it too. */
export function withoutSharedMemoryOf({
  status,
  reason,
  tests,
}: Pick<Result, "status" | "reason" | "tests">): NonNullable<CollectivesReport["withoutSharedMemory"]> {
  const failure = tests.flatMap(({ ranks }) => ranks.flatMap((rank) => rank.failure ?? []))[0];
  const log = (failure?.evidence ?? []).filter(({ kind }) => kind === "nccl-log").map(({ excerpt }) => excerpt);
  const said = [...(failure === undefined ? [] : [saidBy(failure)]), ...log, ...(reason?.evidence ?? [])];
  const byGold = reason?.evidence.some((line) => / gold: .*(\/dev\/shm|shared memory)/i.test(line)) ?? false;
  return {
    status,
    reason: reason?.code ?? null,
    said: said.map((text) => text.slice(0, 1000)),
    holds: status === "infra" && reason?.code === "host.control-failed" && byGold,
  };
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
    rows: expectationsOn(gpus).map((expectation) => rowOf(expectation, outcomeOf(expectation.test), gpus)),
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

const expectationsOn = (gpus: number): Expectation[] => expectations.filter(({ onGpus }) => gpus > 0 || !onGpus);

/** What the grader must say of one test, in words. */
const expectedOf = ({ status, rootRank, recorded, says }: Expectation, gpus: number): string =>
  [
    status,
    ...(rootRank === undefined ? [] : [`root rank ${rootRank}`]),
    ...(recorded && gpus >= 2 ? ["flight recording"] : []),
    ...(says === undefined ? [] : [`a rank says ${says.name}`]),
  ].join(", ");

/** Tests of which a report states otherwise, or nothing, than what the grader must say of them today. */
export function outdatedRows({ gpus, rows }: Pick<CollectivesReport, "gpus" | "rows">): string[] {
  const stated = new Map(rows.map(({ test, expected }) => [test, expected]));
  return expectationsOn(gpus)
    .filter((expectation) => stated.get(expectation.test) !== expectedOf(expectation, gpus))
    .map(({ test }) => test);
}

const mebibyte = 1024 ** 2;

/** What a report measured otherwise than it is known to be: bytes that moved, memory that was held, and how it ended. */
export function collectivesProblems({
  gpus,
  status,
  traffic,
  memory: { heldMb, nvmlMb, allocatorMb },
}: Omit<CollectivesReport, "rows" | "withoutSharedMemory">): string[] {
  const moved = traffic.flatMap(({ test, meter, bytes, theoreticalBytes: lowerBound }) => {
    // Without a GPU for each rank gloo carries it, whose reduce-scatter sends what an all-reduce sends.
    const asAllReduce = gpus < 2 && test === "test_moves_by_reduce_scatter";
    const sent = asAllReduce ? 2 * lowerBound : lowerBound;
    if (Math.abs(bytes - sent) <= 0.05 * sent + mebibyte) return [];
    return [`${test}: ${meter} measured ${inMebibytes(bytes)} MiB where ${inMebibytes(sent)} MiB are sent`];
  });
  const held = Object.entries({ NVML: nvmlMb, "the allocator": allocatorMb }).flatMap(([meter, mb]) =>
    mb !== null && mb < heldMb ? [`${meter} says ${mb} MiB where a rank holds ${heldMb} MiB`] : [],
  );
  return [...(status === "completed" ? [] : [`the grading ended as ${status}`]), ...moved, ...held];
}

const inMebibytes = (bytes: number): string => (bytes / mebibyte).toFixed(2);

/** What the grader said of one test, beside what it must say. */
export function rowOf(
  expectation: Expectation,
  outcome: TestOutcome | undefined,
  gpus: number,
): CollectivesReport["rows"][number] {
  const { test, status, rootRank, recorded = false, says } = expectation;
  const observed = outcome?.status ?? "not-run";
  const statusHolds = status === "not-passed" ? observed !== "passed" && observed !== "not-run" : observed === status;
  const failed = outcome?.ranks.filter(({ failure }) => failure !== null) ?? [];
  const evidence = failed.flatMap(({ failure }) => failure?.evidence ?? []);
  const recording = evidence.find(({ kind, excerpt }) => kind === "flight-recorder" && namesOpenCollective(excerpt));
  const saying = says && failed.find(({ failure }) => failure !== null && says.text.test(saidBy(failure)))?.failure;
  const said = saying ?? (failed.find(({ rank }) => rank === outcome?.rootRank) ?? failed[0])?.failure;
  return {
    test,
    expected: expectedOf(expectation, gpus),
    observed,
    holds:
      statusHolds &&
      (rootRank === undefined || outcome?.rootRank === rootRank) &&
      (!recorded || gpus < 2 || recording !== undefined) &&
      (says === undefined || saying !== undefined),
    rootRank: outcome?.rootRank ?? null,
    evidence: [...new Set(evidence.map(({ kind }) => kind))],
    durationMs: outcome?.durationMs ?? null,
    ...(said == null ? {} : { said: saidBy(said).slice(0, 600) }),
    ...(recording === undefined ? {} : { recording: recording.excerpt.slice(0, 1500) }),
  };
}
