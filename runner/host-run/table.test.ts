import { expect, it } from "vitest";
import type { HostRun } from "./state";
import { hostRunTable } from "./table";

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
  expect(text).toContain("Self-test: 1 of 1 exploits prevented or detected; the honest control resolves.");
  const wrong = hostRunTable([], run({ packing: { gradings, problems: ["nobody had to wait"] } }));
  expect(wrong).toContain("or for all: nobody had to wait.");
});
