import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { TestOutcome } from "@/lib/contract/result";
import { collectivesProblems, outdatedRows, rowOf, withoutSharedMemoryOf } from "./collectives";
import { collectivesTask, expectations, heldMb, theoreticalBytes, withoutSharedMemoryTask } from "./collectives-task";
import { idOf, writeKnownTask } from "./known-task";
import type { HostRun } from "./state";

const failure = (message: string, evidence: { kind: "flight-recorder" | "nccl-log"; excerpt: string }[] = []) => ({
  phase: "call" as const,
  exceptionType: null,
  mro: [],
  message,
  frames: [],
  activeCheck: null,
  secondaryOf: null,
  evidence: evidence.map((each) => ({ ...each, file: "evidence/file" })),
});
const outcome = (
  status: TestOutcome["status"],
  rootRank: number | null,
  failures: (ReturnType<typeof failure> | null)[],
): TestOutcome =>
  ({
    status,
    rootRank,
    durationMs: 20_000,
    ranks: failures.map((each, rank) => ({ rank, failure: each })),
  }) as unknown as TestOutcome;

const open = {
  kind: "flight-recorder" as const,
  excerpt: "under way: 1\nnccl:all_reduce sequence 2 of group 0: started",
};
const idle = { kind: "flight-recorder" as const, excerpt: "no collective was under way" };
const unread = { kind: "flight-recorder" as const, excerpt: "a dump of 9 bytes that was not read: opcode 99" };

describe("what the grader says of a test", () => {
  const hangs = { test: "test_hangs[0]", status: "hung", recorded: true } as const;

  it("holds through NCCL where a recording names what is under way, on whichever rank", () => {
    const seen = outcome("hung", 0, [failure("ended", [idle]), failure("ended", [open])]);
    expect(rowOf(hangs, seen, 2)).toMatchObject({ holds: true, observed: "hung", recording: open.excerpt });
    for (const evidence of [[], [idle], [unread]])
      expect(rowOf(hangs, outcome("hung", 0, [failure("ended", evidence)]), 2).holds).toBe(false);
    expect(rowOf(hangs, outcome("hung", 0, [failure("ended")]), 1).holds, "gloo records nothing").toBe(true);
  });

  it("holds where one of the ranks says what is expected, whichever failed first", () => {
    const late = { test: "a", status: "hung", rootRank: 1, says: { name: "a time-out", text: /timed out/ } } as const;
    const silent = failure("ended at the test's limit of 40 s");
    const said = rowOf(late, outcome("hung", 1, [failure("Timed out. timed out after 5 s"), silent]), 2);
    expect(said).toMatchObject({ holds: true, expected: "hung, root rank 1, a rank says a time-out" });
    expect(said.said).toContain("timed out after");
    expect(rowOf(late, outcome("hung", 1, [silent, silent]), 2)).toMatchObject({ holds: false, said: silent.message });
  });

  it("does not hold with another status, another root rank, or without an outcome", () => {
    const raises = { test: "test_raises[1]", status: "error", rootRank: 1 } as const;
    expect(rowOf(raises, outcome("error", 1, [null, failure("ValueError")]), 2).holds).toBe(true);
    expect(rowOf(raises, outcome("error", 0, [failure("lost")]), 2).holds).toBe(false);
    expect(rowOf(raises, outcome("hung", 1, [failure("lost")]), 2).holds).toBe(false);
    expect(rowOf(raises, undefined, 2)).toMatchObject({ holds: false, observed: "not-run" });
    expect(rowOf({ test: "a", status: "not-passed" }, outcome("passed", null, [null]), 2).holds).toBe(false);
  });
});

describe("ranks without shared memory", () => {
  const lacking = "Error while creating shared memory segment /dev/shm/nccl-a (size 9)";
  const tests = [outcome("error", 0, [failure(lacking)])];
  const reason = (code: string, gold: string) => ({
    code,
    message: "a message",
    evidence: [`a: candidate: ${lacking}`, `a: gold: ${gold}`],
  });

  it("are the host's fault where gold says that it lacks it too, and where nothing else ended the grading", () => {
    const said = (status: "infra" | "completed", code: string, gold: string) =>
      withoutSharedMemoryOf({ status, reason: reason(code, gold), tests }).holds;
    expect(said("infra", "host.control-failed", `NCCL error: ${lacking}`)).toBe(true);
    expect(said("infra", "host.control-failed", "another error")).toBe(false);
    expect(said("infra", "host.gpu-not-free", `NCCL error: ${lacking}`)).toBe(false);
    expect(withoutSharedMemoryOf({ status: "completed", reason: null, tests }).holds).toBe(false);
  });
});

describe("what was measured", () => {
  const mebibyte = 1024 ** 2;
  const all = { heldMb, nvmlMb: 2485, allocatorMb: 1026 };
  const problemsOf = (test: string, bytes: number, gpus = 2): string[] => {
    const traffic = [{ test, meter: "a meter", bytes, theoreticalBytes: theoreticalBytes[test] ?? Number.NaN }];
    return collectivesProblems({ gpus, status: "completed", traffic, memory: all });
  };

  it("is bytes by theory: at most 5 % and 1 MiB more or less", () => {
    for (const bytes of [64 * mebibyte, 68 * mebibyte, 60 * mebibyte])
      expect(problemsOf("test_moves_by_broadcast", bytes)).toEqual([]);
    expect(problemsOf("test_moves_by_broadcast", 69 * mebibyte)).toHaveLength(1);
    expect(problemsOf("test_moves_by_broadcast", 59 * mebibyte)).toHaveLength(1);
    expect(problemsOf("test_moves_by_broadcast", 0)).toEqual([
      "test_moves_by_broadcast: a meter measured 0.00 MiB where 64.00 MiB are sent",
    ]);
    expect(problemsOf("test_moves_nothing", mebibyte)).toEqual([]);
    expect(problemsOf("test_moves_nothing", 2 * mebibyte)).toHaveLength(1);
  });

  it("is as much as an all-reduce's where gloo carries a reduce-scatter", () => {
    const moved = (mb: number, gpus: number) => problemsOf("test_moves_by_reduce_scatter", mb * mebibyte, gpus);
    expect(moved(128.15, 1)).toEqual([]);
    expect(moved(64, 2)).toEqual([]);
    expect(moved(64, 1)).toHaveLength(1);
    expect(moved(128.15, 2)).toHaveLength(1);
  });

  it("is no less memory than is held, where anything says so, of a grading that completed", () => {
    const seen = { gpus: 2, status: "completed" as const, traffic: [], memory: all };
    expect(collectivesProblems(seen)).toEqual([]);
    expect(collectivesProblems({ ...seen, memory: { heldMb, nvmlMb: null, allocatorMb: null } })).toEqual([]);
    expect(collectivesProblems({ ...seen, memory: { heldMb, nvmlMb: 1, allocatorMb: 1000 } })).toEqual([
      "NVML says 1 MiB where a rank holds 1024 MiB",
      "the allocator says 1000 MiB where a rank holds 1024 MiB",
    ]);
    expect(collectivesProblems({ ...seen, status: "infra" })).toEqual(["the grading ended as infra"]);
  });

  it.each(["gpus-1", "gpus-2"])("was as known on the host of %s", async (profile) => {
    const path = new URL(`../suites/infradev-gpu/admission/${profile}/host-run.json`, import.meta.url);
    const { payload } = JSON.parse(await readFile(fileURLToPath(path), "utf8")) as { payload: string };
    const { collectives } = JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as HostRun;
    expect(collectives?.traffic).toHaveLength(5);
    expect(collectives && collectivesProblems(collectives)).toEqual([]);
  });
});

it("rows are outdated that state otherwise than today, or that lack", () => {
  for (const gpus of [0, 1, 2]) {
    const rows = expectations
      .filter(({ onGpus }) => gpus > 0 || !onGpus)
      .map((expectation) => rowOf(expectation, undefined, gpus));
    expect(outdatedRows({ gpus, rows }), `${gpus} GPUs`).toEqual([]);
    const [first, second, ...rest] = rows;
    const older = [{ ...first, expected: "not-passed, root rank 0" } as (typeof rows)[number], ...rest];
    expect(outdatedRows({ gpus, rows: older })).toEqual([first?.test, second?.test]);
  }
  const onOne = expectations.map((expectation) => rowOf(expectation, undefined, 1));
  expect(outdatedRows({ gpus: 2, rows: onOne }), "without flight recordings").toEqual([
    "test_hangs[0]",
    "test_hangs[1]",
    "test_times_out",
  ]);
});

it("the known tasks can be loaded, for no GPU, one and two", async () => {
  const folder = await mkdtemp(join(tmpdir(), "infradev-known-test-"));
  try {
    for (const known of [collectivesTask(0), collectivesTask(1), collectivesTask(2), withoutSharedMemoryTask(2)]) {
      const task = await writeKnownTask(join(folder, `${known.slug}-${known.gpus}`), known);
      expect(task.manifest.task.gpusGrade).toBe(known.gpus);
      const wanted = known.slug === "collectives" ? expectations.map(({ test }) => idOf(test)) : [idOf("test_meets")];
      expect(task.manifest.tests.map(({ id }) => id).toSorted()).toEqual(wanted.toSorted());
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
