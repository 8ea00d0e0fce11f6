import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import type { ExecutorSession, LaunchEnd, LaunchRequest } from "../executors/executor";
import { Observer } from "../resources/observer";
import { createFrameMapper } from "./frames";
import { type LaunchInput, runLaunch } from "./launch";

const id = "tests/test_a.py::test_a";
const end: LaunchEnd = {
  outputs: [{ stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }],
  launcherOutput: "",
  memoryPeakMb: null,
  outOfMemoryKills: null,
  clean: true,
};
const exit = { event: "exit", time: 2, rank: 0, max_rss_kb: 1, user_s: 0, system_s: 0 } as const;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

type Emit = (event: object, rank?: number) => void;

/** A launch whose channels say what `play` lets them say; of one rank where `group` does not say otherwise. */
function launchOf(
  play: (handlers: LaunchRequest["handlers"], emit: Emit) => Promise<void>,
  group: Partial<LaunchInput["group"]> = {},
  gated: boolean = false,
) {
  const nproc = group.nproc ?? 1;
  const session = {
    start: async ({ handlers, openings }: LaunchRequest) => {
      const keys = openings.map((opening) => Buffer.from(JSON.parse(opening).key, "hex"));
      const next = openings.map(() => 0);
      const emit: Emit = (event, rank = 0) => {
        const seq = next[rank] ?? 0;
        const body = JSON.stringify({ seq, time: 1, mono: 1, ...event });
        const mac = createHmac("sha256", keys[rank] ?? "")
          .update(`${seq} `)
          .update(body)
          .digest("hex");
        handlers.onEventLine(rank, Buffer.from(`${mac.slice(0, 32)} ${body}`));
        next[rank] = seq + 1;
      };
      return {
        pid: undefined,
        release: () => undefined,
        signal: () => undefined,
        wait: async () => {
          await play(handlers, emit);
          return end;
        },
      };
    },
  } as unknown as ExecutorSession;
  const input: LaunchInput = {
    index: 0,
    group: { id: "g", launcher: "pytest", nproc, isolation: "group", timeout_sec: 60, test_timeout_sec: 30, ...group },
    tests: [id],
    session,
    mounts: [],
    cwd: "/",
    searchPath: [],
    args: [],
    env: {},
    roots: [],
    canaries: { folder: "", files: [], canaries: [], order: [id] },
    frames: createFrameMapper({ repository: "/grade/repo", probes: "/grade/probes", isTest: () => false }),
    memoryMb: 1,
    shmMb: 1,
    gpus: null,
    outputBytes: 1,
    deadlineMs: performance.now() + 60_000,
    signal: undefined,
    onTestDone: () => undefined,
    observer: new Observer({ nproc, gated, onBoundary: () => undefined }),
    suspects: new Set(),
  };
  return runLaunch(input);
}

const report = (phase: string) => ({
  event: "report",
  id,
  phase,
  outcome: "passed",
  duration: 0,
  exception: null,
  message: null,
  xfail: false,
  peak_rss_kb: 1,
});

function beginTest(handlers: LaunchRequest["handlers"], emit: Emit): void {
  handlers.onControl({ event: "ready", time: 1, port: 1 });
  emit({ event: "session_start", python: "3", pytest: "9" });
  emit({ event: "collected", ids: [id], extra: [] });
  emit({ event: "test_start", id });
  emit(report("setup"));
}

it("hears what a rank wrote before its end, also where its end is heard first", async () => {
  const { outcomes, launch } = await launchOf(async (handlers, emit) => {
    beginTest(handlers, emit);
    handlers.onControl({ ...exit, code: 0, signal: null });
    await turn();
    emit(report("call"));
    emit(report("teardown"));
    emit({ event: "session_finish", exitstatus: 0 });
    await turn();
    await turn();
    handlers.onControl({ event: "end", time: 3 });
  });
  expect(outcomes.get(id)?.map(({ outcome }) => outcome.status)).toEqual(["passed"]);
  expect(launch.exits).toEqual([{ rank: 0, code: 0, signal: null }]);
});

it("calls a test crashed whose rank ended within it, however soon the launch ends then", async () => {
  for (const turns of [0, 3]) {
    const { outcomes, lost } = await launchOf(async (handlers, emit) => {
      beginTest(handlers, emit);
      handlers.onControl({ ...exit, code: null, signal: "SIGSEGV" });
      for (let at = 0; at < turns; at += 1) await turn();
      handlers.onControl({ event: "end", time: 3 });
    });
    expect(lost).toBeNull();
    expect(outcomes.get(id)?.map(({ outcome }) => outcome.status)).toEqual(["crashed"]);
  }
});

it("takes none of a test's time for waiting until other ranks come to a measured call", async () => {
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const begin = (emit: Emit, rank: number): void => {
    emit({ event: "session_start", python: "3", pytest: "9" }, rank);
    emit({ event: "collected", ids: [id], extra: [] }, rank);
  };
  const { outcomes, launch } = await launchOf(
    async (handlers, emit) => {
      handlers.onControl({ event: "ready", time: 1, port: 1 });
      for (const rank of [0, 1]) begin(emit, rank);
      for (const [rank, waits] of [
        [0, 900],
        [1, 0],
      ] as const) {
        emit({ event: "test_start", id }, rank);
        emit(report("setup"), rank);
        emit({ event: "call_start", id }, rank);
        await sleep(waits);
      }
      await sleep(200);
      for (const rank of [0, 1]) {
        for (const phase of ["call", "teardown"]) emit(report(phase), rank);
        emit({ event: "session_finish", exitstatus: 0 }, rank);
        handlers.onControl({ ...exit, rank, code: 0, signal: null });
      }
      handlers.onControl({ event: "end", time: 3 });
    },
    { launcher: "script", nproc: 2, test_timeout_sec: 0.6 },
    true,
  );
  expect(launch.killed).toBeNull();
  expect(outcomes.get(id)?.map(({ outcome }) => outcome.status)).toEqual(["passed", "passed"]);
});
