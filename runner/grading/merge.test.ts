import { describe, expect, it } from "vitest";
import type { FailureDetail } from "@/lib/contract/result";
import type { ManifestTest, Ranks } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { TimedOutcome } from "./launch";
import { mergeTest } from "./merge";

const testOf = (ranks: Ranks = "all"): ManifestTest => ({
  id: "tests/test_x.py::test_y",
  kind: "official",
  expectation: "f2p",
  group: "official",
  property: "value",
  condition: null,
  ranks,
  needs: { ranks: 1, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: null,
  limit: null,
});

const failure = (type: string | null): FailureDetail => ({
  phase: "call",
  exceptionType: type,
  mro: type === null ? [] : [type, "Exception", "BaseException"],
  message: "",
  frames: [],
  activeCheck: null,
  secondaryOf: null,
});

function rank(
  index: number,
  status: OutcomeStatus,
  type: string | null = null,
  failedAt: number | null = null,
): TimedOutcome {
  const why = status === "passed" || status === "not-run" ? null : failure(type);
  const outcome = { rank: index, status, launch: 0, startedAt: null, durationMs: 1, failure: why, logLine: null };
  return { outcome, failedAt };
}

const merge = (outcomes: TimedOutcome[], ranks?: Ranks) => mergeTest(testOf(ranks), outcomes, [], true);
const secondaries = (merged: ReturnType<typeof merge>) =>
  merged.ranks.map(({ failure: why }) => why?.secondaryOf ?? null);

describe("a merged test", () => {
  it("passed only where every required rank passed", () => {
    expect(merge([rank(0, "passed"), rank(1, "passed")]).status).toBe("passed");
    expect(merge([rank(0, "passed"), rank(1, "skipped")]).status).toBe("skipped");
    expect(merge([rank(0, "passed"), rank(1, "not-run")]).status).toBe("not-run");
    expect(merge([]).status).toBe("not-run");
    expect(merge([rank(0, "passed"), rank(1, "failed", "AssertionError", 1)], [0]).status).toBe("passed");
    expect(merge([rank(0, "failed", "AssertionError", 1), rank(1, "passed")], "any").status).toBe("passed");
    expect(merge([rank(0, "passed")], [3]).status).toBe("not-run");
  });

  it("has the status of the rank that failed first by wall clock", () => {
    const merged = merge([
      rank(0, "error", "ValueError", 12),
      rank(1, "failed", "AssertionError", 10),
      rank(2, "passed"),
    ]);
    expect(merged).toMatchObject({ status: "failed", rootRank: 1 });
    expect(secondaries(merged)).toEqual([null, null, null]);
  });

  it("counts later errors of communication as consequences", () => {
    const merged = merge([
      rank(0, "error", "CollectiveTimeout", 15),
      rank(1, "error", "PeerLost", 15),
      rank(2, "error", "KeyError", 10),
      rank(3, "hung", null, 40),
    ]);
    expect(merged.rootRank).toBe(2);
    expect(secondaries(merged)).toEqual([2, 2, null, 2]);
  });

  it("finds a silent rank where all the others only miss it", () => {
    const merged = merge([rank(0, "error", "CollectiveTimeout", 15), rank(1, "hung", null, 40)]);
    expect(merged).toMatchObject({ status: "hung", rootRank: 1 });
    expect(secondaries(merged)).toEqual([1, null]);
  });

  describe("of ranks that all hung", () => {
    const endedIn = (index: number, file: string, name: string, more: { recording?: string } = {}) => {
      const ended = rank(index, "hung", null, 40);
      const why = ended.outcome.failure;
      if (why === null) return ended;
      const origin = file.startsWith("tests/") ? "test" : file.startsWith("project/") ? "project" : "other";
      why.frames = [{ file, line: 1, function: name, code: null, origin }];
      if (more.recording !== undefined)
        why.evidence = [{ kind: "flight-recorder", file: "a", excerpt: more.recording }];
      return ended;
    };
    const asleep = (index: number) =>
      endedIn(index, "tests/test_a.py", "sleeps", { recording: "no collective was under way" });

    it.each([
      ["a collective", "torch/distributed/distributed_c10d.py", "all_reduce", {}],
      ["what was started on the device", "torch/cuda/__init__.py", "synchronize", {}],
      ["a transfer of the project", "project/comm/transport.py", "_wait", {}],
      ["a collective that was recorded", "tests/test_a.py", "test_a", { recording: "under way: 1\nnccl:all_reduce" }],
    ])("finds the one that never came where the others wait for %s", (_what, file, name, more) => {
      const merged = merge([endedIn(0, file, name, more), asleep(1)]);
      expect(merged).toMatchObject({ status: "hung", rootRank: 1 });
      expect(secondaries(merged)).toEqual([1, null]);
    });

    it("takes the first where all wait, where none is known to, and where nothing is known", () => {
      const collective = (index: number) => endedIn(index, "torch/distributed/distributed_c10d.py", "all_gather");
      const unknown = (index: number) => rank(index, "hung", null, 40);
      const inLibrary = endedIn(1, "torch/autograd/graph.py", "backward");
      for (const ranks of [
        [collective(0), inLibrary],
        [collective(0), collective(1)],
        [asleep(0), asleep(1)],
        [collective(0), unknown(1)],
        [unknown(0), unknown(1)],
      ]) {
        const merged = merge(ranks);
        expect(merged.rootRank).toBe(0);
        expect(secondaries(merged)).toEqual([null, null]);
      }
    });

    it("does not take a wait within a process for a wait for another rank", () => {
      const merged = merge([endedIn(0, "threading.py", "wait"), endedIn(1, "project/comm/transport.py", "_wait")]);
      expect(merged.rootRank).toBe(0);
      expect(secondaries(merged)).toEqual([null, null]);
    });
  });

  it("finds a rank that died, though its peers noticed before its parent did", () => {
    const merged = merge([rank(0, "error", "PeerLost", 10.0), rank(1, "crashed", null, 10.05)]);
    expect(merged).toMatchObject({ status: "crashed", rootRank: 1 });
    expect(secondaries(merged)).toEqual([1, null]);
  });

  it("does not blame the rank that torch's watchdog ended for the one that never came", () => {
    const aborted = rank(0, "crashed", null, 30);
    if (aborted.outcome.failure !== null) {
      aborted.outcome.failure.message =
        "the rank's process ended by SIGABRT: Watchdog caught collective operation timeout";
    }
    const silent = merge([aborted, rank(1, "hung", null, 40)]);
    expect(silent).toMatchObject({ status: "hung", rootRank: 1 });
    expect(secondaries(silent)).toEqual([1, null]);
    const raised = merge([aborted, rank(1, "error", "KeyError", 10)]);
    expect(raised).toMatchObject({ status: "error", rootRank: 1 });
    expect(secondaries(raised)).toEqual([1, null]);
  });

  it("takes the earliest where every rank lost the others", () => {
    const merged = merge([rank(0, "error", "CollectiveTimeout", 15.2), rank(1, "error", "CollectiveTimeout", 15.1)]);
    expect(merged.rootRank).toBe(1);
  });

  it("is labelled only in a completed grading", () => {
    const outcomes = [rank(0, "crashed", null, 1)];
    expect(mergeTest(testOf(), outcomes, [], true).label?.rule).toBe("crash");
    expect(mergeTest(testOf(), outcomes, [], false).label).toBeNull();
  });
});
