import { describe, expect, it } from "vitest";
import type { AttemptDetail } from "@/lib/contract/api";
import type { Frame, RankOutcome, TestOutcome } from "@/lib/contract/result";
import {
  evidenceOf,
  failureAnchor,
  failuresOf,
  framesOf,
  resourcesOf,
  splitTestId,
  testsOf,
  usedOf,
  verdictOf,
  verdictSentence,
} from "./attempt";
import { outcomeRowsOf } from "./outcomes";

type Grading = NonNullable<AttemptDetail["grading"]>;

function gradingOf(summary: Partial<Grading["summary"]>, change: Partial<Grading> = {}): Grading {
  return {
    id: "11111111-2222-4333-8444-555555555555",
    status: "completed",
    reason: null,
    tier: "verified",
    executor: "bwrap",
    sandboxed: true,
    counts: true,
    late: false,
    startedAt: "2026-11-29T10:00:00Z",
    durationMs: 1000,
    receivedAt: "2026-11-29T10:01:00Z",
    summary: {
      requiredTotal: 6,
      requiredPassed: 6,
      resolved: true,
      officialTotal: 4,
      officialPassed: 4,
      officialResolved: true,
      ...summary,
    },
    bundleSha256: "0".repeat(64),
    bundleBytes: 1,
    keyid: "1".repeat(64),
    ...change,
  };
}

function rankOf(rank: number, status: RankOutcome["status"], secondaryOf: number | null = null): RankOutcome {
  return {
    rank,
    status,
    launch: 0,
    startedAt: null,
    durationMs: 1,
    logLine: null,
    failure:
      status === "passed"
        ? null
        : { phase: "call", exceptionType: "E", mro: ["E"], message: "m", frames: [], activeCheck: null, secondaryOf },
  };
}

function outcomeOf(id: string, change: Partial<TestOutcome> = {}): TestOutcome {
  return {
    id,
    kind: "official",
    expectation: "f2p",
    group: "ranks",
    required: true,
    status: "passed",
    durationMs: 1,
    ranks: [rankOf(0, "passed")],
    rootRank: null,
    resources: [],
    label: null,
    ...change,
  };
}

const detailOf = (tests: TestOutcome[]) =>
  ({ tests, manifestTests: [] as AttemptDetail["manifestTests"] }) as AttemptDetail;

describe("verdict", () => {
  it("follows the counting grading's summary", () => {
    expect(verdictOf(gradingOf({}))).toBe("resolved");
    expect(verdictOf(gradingOf({ resolved: false, requiredPassed: 5 }))).toBe("probe-rejected");
    expect(verdictOf(gradingOf({ resolved: false, officialResolved: false }))).toBe("failed");
  });

  it("is missing where nothing counts: no grading, a late one, a host's fault", () => {
    expect(verdictOf(null)).toBe("missing");
    expect(verdictOf(gradingOf({}, { counts: false, late: true }))).toBe("missing");
    expect(verdictOf(gradingOf({}, { status: "infra" }))).toBe("missing");
  });

  it("reads as a sentence with its counts", () => {
    expect(verdictSentence(gradingOf({}))).toBe("All six required tests pass, on every required rank.");
    expect(verdictSentence(gradingOf({ resolved: false, requiredPassed: 5 }))).toBe(
      "All four official tests pass; one of two probes does not.",
    );
    expect(
      verdictSentence(gradingOf({ resolved: false, officialResolved: false, officialPassed: 3, requiredPassed: 3 })),
    ).toBe("3 of 4 official tests and 0 of 2 probes pass.");
    expect(verdictSentence(gradingOf({}, { status: "patch-rejected" }))).toBe("Patch rejected: no outcome counts.");
  });
});

describe("tests and failures", () => {
  it("puts required tests that did not pass first, and what is not required last", () => {
    const detail = detailOf([
      outcomeOf("a"),
      outcomeOf("b", { required: false, status: "skipped" }),
      outcomeOf("c", { status: "failed" }),
    ]);
    expect(testsOf(detail, "official").map(({ outcome }) => outcome.id)).toEqual(["c", "a", "b"]);
  });

  it("makes rows of both kinds that lead to their failure only where there is one", () => {
    const rows = outcomeRowsOf(
      detailOf([
        outcomeOf("p", { kind: "probe", status: "failed", ranks: [rankOf(1, "failed")], rootRank: 1 }),
        outcomeOf("a", { durationMs: null }),
        outcomeOf("b", { required: false, status: "skipped" }),
      ]),
    );
    expect(rows.map(({ id, anchor, rootRank }) => [id, anchor, rootRank])).toEqual([
      ["a", null, null],
      ["b", null, null],
      ["p", "failure-1", 1],
    ]);
    expect(rows[2]?.ranks).toEqual([[1, "failed"]]);
  });

  it("tells the root rank from those that only followed and those that failed by themselves", () => {
    const ranks = [rankOf(0, "error", 2), rankOf(1, "passed"), rankOf(2, "failed"), rankOf(3, "crashed")];
    const [failure] = failuresOf(detailOf([outcomeOf("a", { status: "failed", ranks, rootRank: 2 })]));
    expect(failure?.root?.rank).toBe(2);
    expect(failure?.secondary).toEqual([0]);
    expect(failure?.others.map((rank) => rank.rank)).toEqual([3]);
  });

  it("shows the evidence of the root rank first", () => {
    const evidence = (kind: "nccl-log" | "stack-dump") => [{ kind, file: `ranks/${kind}`, excerpt: "" }];
    const withEvidence = (rank: RankOutcome, kind: "nccl-log" | "stack-dump"): RankOutcome => ({
      ...rank,
      failure: rank.failure === null ? null : { ...rank.failure, evidence: evidence(kind) },
    });
    const ranks = [withEvidence(rankOf(0, "error", 2), "nccl-log"), withEvidence(rankOf(2, "hung"), "stack-dump")];
    const [failure] = failuresOf(detailOf([outcomeOf("a", { status: "hung", ranks, rootRank: 2 })]));
    if (failure === undefined) throw new Error("the test failed");
    expect(evidenceOf(failure).map(({ rank, evidence: { kind } }) => [rank, kind])).toEqual([
      [2, "stack-dump"],
      [0, "nccl-log"],
    ]);
  });

  it("keeps a test that nothing reported, without a root", () => {
    const [failure] = failuresOf(detailOf([outcomeOf("a", { status: "not-run", ranks: [] })]));
    expect(failure?.root).toBeNull();
  });

  it("gives each failure an anchor of its own", () => {
    const detail = detailOf([outcomeOf("a::x"), outcomeOf("a::y")]);
    expect(failureAnchor(detail, "a::x")).not.toBe(failureAnchor(detail, "a::y"));
  });
});

describe("frames, resources, names", () => {
  it("shows the project's frames first, innermost first, and others apart", () => {
    const frame = (line: number, origin: Frame["origin"]): Frame => ({
      file: "f",
      line,
      function: "g",
      origin,
      code: null,
    });
    const { near, rest } = framesOf([frame(1, "other"), frame(2, "test"), frame(3, "project"), frame(4, "project")]);
    expect(near.map(({ line }) => line)).toEqual([4, 3, 2]);
    expect(rest.map(({ line }) => line)).toEqual([1]);
  });

  it("scales value and limit to one bar that holds both", () => {
    const resource = { name: "peak", rank: 0, property: null, value: 30, limit: 10, unit: "B", repeats: 1, met: false };
    const [shown] = resourcesOf(
      detailOf([outcomeOf("a", { resources: [resource, { ...resource, value: 0, limit: 0 }] })]),
    );
    expect(shown?.valuePct).toBeCloseTo(100 / 1.15, 6);
    expect(shown?.limitPct).toBeCloseTo(100 / 3.45, 6);
    expect(
      resourcesOf(detailOf([outcomeOf("a", { resources: [{ ...resource, value: 0, limit: 0 }] })]))[0]?.valuePct,
    ).toBe(0);
  });

  it("holds the spread of the repeats in the bar, and none where they agree", () => {
    const resource = {
      name: "time",
      rank: 0,
      property: null,
      value: 2,
      limit: 4,
      unit: "ratio",
      repeats: 5,
      met: true,
    };
    const [wide, agreed] = resourcesOf(
      detailOf([
        outcomeOf("a", {
          resources: [
            { ...resource, spread: { min: 1, max: 10 } },
            { ...resource, spread: { min: 2, max: 2 } },
          ],
        }),
      ]),
    );
    expect(wide?.spreadPct?.max).toBeCloseTo(100 / 1.15, 6);
    expect(wide?.spreadPct?.min).toBeCloseTo(10 / 1.15, 6);
    expect(agreed?.spreadPct).toBeNull();
  });

  it("lists what tests took where anything was measured", () => {
    const nothing = {
      wallClockS: null,
      gpuPeakMib: null,
      allocatorPeakMib: null,
      hostPeakMib: null,
      transportBytes: null,
      nvlinkBytes: null,
    };
    const usage = { ...nothing, transportBytes: 0 };
    const tests = [outcomeOf("a"), outcomeOf("b", { usage: nothing }), outcomeOf("c", { usage })];
    expect(usedOf(detailOf(tests))).toEqual([{ testId: "c", usage }]);
  });

  it("splits a test's id into file and name", () => {
    expect(splitTestId("tests/a.py::T::test[x::y]")).toEqual({ file: "tests/a.py", name: "T::test[x::y]" });
    expect(splitTestId("whole")).toEqual({ file: "", name: "whole" });
  });
});
