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

/** A launch of one rank whose channels say what `play` lets them say. */
function launchOf(play: (handlers: LaunchRequest["handlers"], emit: (event: object) => void) => Promise<void>) {
  const session = {
    start: async ({ handlers, openings }: LaunchRequest) => {
      const { key } = JSON.parse(openings[0] ?? "");
      let seq = 0;
      const emit = (event: object): void => {
        const body = JSON.stringify({ seq, time: 1, mono: 1, ...event });
        const mac = createHmac("sha256", Buffer.from(key, "hex")).update(`${seq} `).update(body).digest("hex");
        handlers.onEventLine(0, Buffer.from(`${mac.slice(0, 32)} ${body}`));
        seq += 1;
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
    group: { id: "g", launcher: "pytest", nproc: 1, isolation: "group", timeout_sec: 60, test_timeout_sec: 30 },
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
    observer: new Observer({ nproc: 1, gated: false, onBoundary: () => undefined }),
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

function beginTest(handlers: LaunchRequest["handlers"], emit: (event: object) => void): void {
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
