import { expect, it } from "vitest";
import type { GateGrading } from "../suites/validate";
import type { HostRun } from "./state";
import { hostRunTable, type TaskRow } from "./table";

const host = {
  python: "3.12.3",
  torch: "2.11.0",
  nccl: "2.28.9",
  gpus: [0, 1].map((index) => ({ index, model: "NVIDIA H200", driver: "580.1" })),
};
const run = (seen: Partial<HostRun>): HostRun =>
  ({
    gpus: 2,
    executor: "bwrap",
    runnerVersion: "0.1.0",
    finishedAt: "2026-11-30T10:00:00.000Z",
    host,
    selftest: null,
    collectives: null,
    packing: null,
    calls: [],
    overhead: [],
    ...seen,
  }) as unknown as HostRun;
const row = (test: string, holds: boolean) => ({
  test,
  expected: "hung, root rank 1",
  observed: holds ? "hung" : "passed",
  holds,
  rootRank: holds ? 1 : null,
  evidence: [],
  durationMs: 1,
});
/** A task's report of these gradings, with so many GPUs each. */
const rowOn = (gpus: number, gradings: Partial<GateGrading>[] = []): TaskRow =>
  ({
    task: { metadata: { slug: "a-task" }, mutants: [], manifest: { tests: [] } },
    report: { ...run({ gpus }), repeats: 5, gradings: gradings.map((each) => ({ patch: "gold", ...each })) },
    verdict: { admitted: true, holds: true, rules: [], tests: [] },
  }) as unknown as TaskRow;
const mebibyte = 1024 ** 2;
const collectives: NonNullable<HostRun["collectives"]> = {
  gpus: 2,
  status: "completed",
  rows: [row("test_hangs", true), row("test_times_out", false)],
  withoutSharedMemory: { status: "infra", reason: "host.control-failed", said: [], holds: true },
  traffic: [
    { test: "test_moves_by_all_gather", meter: "nvlink", bytes: 65 * mebibyte, theoreticalBytes: 64 * mebibyte },
    { test: "test_moves_by_broadcast", meter: "nvlink", bytes: 64 * mebibyte - 9, theoreticalBytes: 64 * mebibyte },
    { test: "test_moves_nothing", meter: "nvlink", bytes: 0, theoreticalBytes: 0 },
  ],
  memory: { heldMb: 1024, nvmlMb: 2484.9, allocatorMb: 1026 },
};
const packed = (pool: string, gpus: number[], startedMs: number, endedMs: number) => ({
  pool,
  asked: gpus.length,
  gpus,
  askedMs: 4,
  startedMs,
  endedMs,
  resolved: true,
});

it("says on what the run was made, and nothing of steps that were not", () => {
  expect(hostRunTable([], null)).toBe("");
  const [first, ...rest] = hostRunTable([], run({})).trimEnd().split("\n");
  expect(first).toBe(
    "2026-11-30, 2 NVIDIA H200 a grading, torch 2.11.0, NCCL 2.28.9, driver 580.1, Python 3.12.3, executor bwrap, runner 0.1.0:",
  );
  expect(rest.filter((line) => line !== "")).toHaveLength(2);
});

it("names each number of GPUs that gradings had", () => {
  const numbers = (...gpus: number[]) =>
    hostRunTable(
      gpus.map((count) => rowOn(count)),
      null,
    ).split(", ")[1];
  expect(numbers(2)).toBe("2 NVIDIA H200 a grading");
  expect(numbers(2, 1, 2)).toBe("1 or 2 NVIDIA H200 a grading");
  expect(numbers(0)).toBe("no GPU a grading");
  expect(numbers(2, 0)).toBe("no GPU or 2 NVIDIA H200 a grading");
});

it("gives the median, of an even number the mean of the two in the middle", () => {
  const gold = [1000, 2000, 4000, 9000].map((durationMs) => ({ durationMs, resolved: true }));
  expect(hostRunTable([rowOn(0, gold)], null)).toContain("| 4/5 | — | 0/0 | 3.0 |");
  const overhead = { task: "a-task", launches: 2, handMs: [1000, 2000], launchMs: [2000, 3000], gradingMs: [] };
  expect(hostRunTable([], run({ overhead: [overhead] }))).toContain(
    "2 launches 2.5 s against 1.5 s by hand (1.75 x, median of 2 rounds in turns); the whole grading — s.",
  );
});

it("tells memory that gradings left from processes and files, and from what nobody could read", () => {
  const left = (gpuMemoryMb: number | null, paths: string[] | null) => ({
    leftovers: { processes: paths && [], paths, gpuMemoryMb },
  });
  const lineOf = (...gradings: Partial<GateGrading>[]) =>
    hostRunTable([rowOn(2, gradings)], null)
      .split("\n")
      .find((line) => line.startsWith("The GPUs were looked at"));
  expect(lineOf({}, left(0, ["/tmp/a"]), left(0, null), left(0, []))).toBe(
    "The GPUs were looked at after each of 3 gradings: 0 left memory in use; 2 of 3 were looked at for processes and files too, 1 left some; 2 in a row left nothing.",
  );
  expect(lineOf(left(12, null), left(0, null), left(null, null), left(0, null))).toBe(
    "The GPUs were looked at after each of 4 gradings: 1 left memory in use, after 1 it could not be read; 0 of 4 were looked at for processes and files too, 0 left some; 1 in a row left nothing.",
  );
});

it("says of a call what was left, what could not be read, and where nobody looked", () => {
  const afterwards = (left: Omit<HostRun["calls"][number], "gradings">) =>
    hostRunTable([], run({ calls: [{ gradings: 2, ...left }] }))
      .split("\n")
      .find((line) => line.startsWith("After"));
  expect(afterwards({ processes: [], paths: [], gpuMemoryMb: 0 })).toContain("no process, file or GPU memory was left");
  expect(afterwards({ processes: [], paths: ["/tmp/a"], gpuMemoryMb: null })).toBe(
    "After 2 gradings the host was looked at as a whole: 0 processes, 1 files were there that were not before (host-run.json names them; true only where nothing else runs); GPU memory could not be read.",
  );
  expect(afterwards({ processes: null, paths: null, gpuMemoryMb: null })).toBe(
    "After 2 gradings the host was not looked at: the call was ended before.",
  );
});

it("counts the exploits that this host could try", () => {
  const results = ["detected", "passed", "not-applicable"].map((verdict) => ({
    name: verdict,
    verdict,
    seen: "",
    durationMs: 1,
  }));
  expect(hostRunTable([], run({ selftest: { controlResolved: true, results } }))).toContain(
    "Self-test: 1 of 2 exploits tried were prevented or detected, 1 not applicable on this host; the honest control resolves.",
  );
});

it("says of known ranks what was measured otherwise than it is known to be", () => {
  const [first, ...others] = collectives.traffic;
  const stuck = { ...collectives, traffic: [{ ...first, bytes: 0 } as (typeof others)[number], ...others] };
  expect(hostRunTable([], run({ collectives: stuck }))).toContain(
    "What was measured is not as known: test_moves_by_all_gather: nvlink measured 0.00 MiB where 64.00 MiB are sent.",
  );
  expect(hostRunTable([], run({ collectives }))).not.toContain("What was measured");
});

it("says of known ranks how many were told right and which were not, and bytes beside theory", () => {
  const lines = hostRunTable([], run({ collectives })).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "Two ranks on 2 GPUs that do known things: the grader says the same of 1 of 2 tests (not of test_times_out: passed, root rank none, expected hung, root rank 1).",
      "Without room in /dev/shm the grading ends as infra (host.control-failed): as expected.",
      "| all_gather | nvlink | 65.00 | 64 | 1.6 % |",
      "| broadcast | nvlink | 64.00 | 64 | 0.0 % |",
      "| nothing | nvlink | 0.00 | 0 | — |",
      "A rank that holds 1024 MiB: NVML says 2485 MiB for its GPU, the allocator 1026 MiB.",
    ]),
  );
  const one = hostRunTable([], run({ collectives: { ...collectives, gpus: 1, withoutSharedMemory: null } }));
  expect(one).toContain("Two ranks on 1 GPU that");
  expect(one).not.toContain("/dev/shm");
});

it("says who had which GPU when, what is wrong with it, and what was left on the host", () => {
  const gradings = [packed("first", [0], 900, 9300), packed("second", [0, 1], 9504, 20_000)];
  const text = hostRunTable(
    [],
    run({
      packing: { gradings, problems: [] },
      calls: [{ gradings: 1, processes: [], paths: ["/tmp/a"], gpuMemoryMb: 0 }],
      selftest: { controlResolved: true, results: [{ name: "a", verdict: "detected", seen: "", durationMs: 1 }] },
    }),
  );
  expect(text).toContain("for half of the GPUs or for all: each GPU had one at a time.");
  expect(text).toContain("| second | 0, 1 | 9.5 | 9.5 to 20.0 |");
  expect(text).toContain("After 1 grading the host was looked at as a whole: 0 processes, 1 files");
  expect(text).toContain("Self-test: 1 of 1 exploits tried were prevented or detected; the honest control resolves.");
  const wrong = hostRunTable([], run({ packing: { gradings, problems: ["nobody had to wait"] } }));
  expect(wrong).toContain("or for all: nobody had to wait.");
});
