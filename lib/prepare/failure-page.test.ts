import { describe, expect, test } from "vitest";
import type { RankOutcome } from "@/lib/contract/result";
import { comparisonOf, failingLineOf, markedText, timeLinesOf, touchedPlaces } from "./failure-page";

describe("values of an assertion", () => {
  const sidesOf = (message: string) => {
    const found = comparisonOf(message);
    return found && [found.operator, ...found.sides.map(([, value]) => value)];
  };

  test("are split at the operator that stands outside of brackets and quotes", () => {
    expect(sidesOf("assert [1, 0] == [1, 1]\n  \n  At index 1 diff: 0 != 1")).toEqual(["==", "[1, 0]", "[1, 1]"]);
    expect(sidesOf('losses differ\nassert \'a == b\' != "c\\" == d"')).toEqual(["!=", "'a == b'", '"c\\" == d"']);
    expect(sidesOf("assert f(a < b) not in {1: 2}")).toEqual(["not in", "f(a < b)", "{1: 2}"]);
    expect(sidesOf("assert 0.3 <= 0.2")).toEqual(["<=", "0.3", "0.2"]);
  });

  test("are measured and limit where a limit is exceeded", () => {
    expect(comparisonOf("rows_computed: 20 rows exceeds the limit of 8 rows")?.sides).toEqual([
      ["rows_computed, measured", "20 rows"],
      ["Limit", "8 rows"],
    ]);
  });

  test("are those that the message itself names", () => {
    expect(comparisonOf("Shapes differ\n  Expected: (2, 3)\n  Actual: (3, 2)")?.sides).toEqual([
      ["Expected", "(2, 3)"],
      ["Actual", "(3, 2)"],
    ]);
  });

  test("are none where nothing is compared", () => {
    for (const message of ["", "assert ready()", "No module named 'x'", "assert ((("])
      expect(comparisonOf(message)).toBeNull();
  });
});

test("the evidence of a label is marked in its field only, and never beyond the text", () => {
  const span = { field: "message", index: null, from: 4, to: 7 } as const;
  expect(markedText("CUDA out of memory", span, "message")).toEqual({
    before: "CUDA",
    marked: " ou",
    after: "t of memory",
  });
  expect(markedText("CUDA", span, "message")).toEqual({ before: "CUDA", marked: "", after: "" });
  expect(markedText("abcdefgh", span, "exceptionType").marked).toBe("");
});

const rankOf = (rank: number, startMs: number | null, durationMs: number | null, more: Partial<RankOutcome> = {}) =>
  ({
    rank,
    status: "failed",
    launch: 2,
    startedAt: startMs === null ? null : new Date(1_000_000 + startMs).toISOString(),
    durationMs,
    failure: null,
    logLine: null,
    ...more,
  }) satisfies RankOutcome;

test("the time line says which rank is the root and when each ran", () => {
  const [line, ...rest] = timeLinesOf(
    [
      rankOf(0, 0, 100),
      rankOf(1, 10, 30),
      rankOf(2, 20, 10, { status: "passed" }),
      rankOf(3, null, null, { status: "crashed" }),
    ],
    1,
  );
  expect(rest).toEqual([]);
  expect(line).toMatchObject({ launch: 2, spanMs: 100, untimed: [{ rank: 3, status: "crashed" }] });
  expect(
    line?.bars.map(({ rank, root, failed, startPct, widthPct }) => [rank, root, failed, startPct, widthPct]),
  ).toEqual([
    [0, false, true, 0, 100],
    [1, true, true, 10, 30],
    [2, false, false, 20, 10],
  ]);
});

test("a test of several launches has a time line for each, and none is drawn of nothing", () => {
  expect(timeLinesOf([rankOf(0, 0, 0), rankOf(0, 0, 5, { launch: 4 })], null).map(({ launch }) => launch)).toEqual([
    2, 4,
  ]);
  expect(timeLinesOf([rankOf(0, 0, 0)], 0)[0]?.bars[0]).toMatchObject({ startPct: 0, widthPct: 100 });
  expect(timeLinesOf([], null)).toEqual([]);
});

describe("the line of a log that says why", () => {
  const log = [
    "=== tests/test_a.py::test_x ===",
    "E   assert 1 == 2",
    "____ test_x ____",
    "tests/test_a.py:3: in test_x",
    "E   assert 1 == 2",
    "____ TestB.test_y[a-1] ____",
    "\u001b[31mE   ValueError: bad\u001b[0m",
  ];

  test("stands below the test's own heading", () => {
    expect(failingLineOf(log, { testId: "tests/test_a.py::test_x", message: "assert 1 == 2\n  more" })).toBe(4);
    expect(failingLineOf(log, { testId: "tests/test_a.py::TestB::test_y[a-1]", message: "\nbad" })).toBe(6);
  });

  test("is the first with the message without one, the heading without a message, else none", () => {
    expect(failingLineOf(log, { testId: "script", message: "assert 1 == 2" })).toBe(1);
    expect(failingLineOf(log, { testId: "f.py::test_x", message: "never printed" })).toBe(2);
    expect(failingLineOf(log, { testId: "f.py::test_z", message: "never printed" })).toBeNull();
  });
});

test("a traceback touches the project's own lines, innermost first", () => {
  const frame = { function: "f", code: null, line: 1 };
  expect(
    touchedPlaces([
      { ...frame, file: "tests/t.py", origin: "test" },
      { ...frame, file: "a.py", origin: "project" },
      { ...frame, file: "b.py", line: 7, origin: "project" },
      { ...frame, file: "a.py", origin: "project" },
    ]),
  ).toEqual([
    { file: "a.py", line: 1 },
    { file: "b.py", line: 7 },
  ]);
});
