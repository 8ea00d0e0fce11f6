import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outcomeStatuses, properties, testKinds } from "@/lib/contract/vocabulary";
import {
  defaultOutcomeView,
  matchesText,
  type OutcomeRow,
  type OutcomeView,
  outcomeQuery,
  outcomeSeverity,
  outcomeSorts,
  parseOutcomeView,
  shownText,
} from "./outcomes";

const row: OutcomeRow = {
  id: "tests/train/test_mesh.py::TestMesh::test_uneven[3]",
  kind: "probe",
  expectation: "f2p",
  required: true,
  notRequiredReason: null,
  requirement: "Every rank holds its own shard.",
  property: "state-lifecycle",
  condition: "world size 3",
  status: "failed",
  ranks: [[0, "failed"]],
  rootRank: 0,
  durationMs: 12,
  anchor: "failure-1",
};

const view: fc.Arbitrary<OutcomeView> = fc
  .record({
    kind: fc.option(fc.constantFrom(...testKinds)),
    status: fc.option(fc.constantFrom(...outcomeStatuses)),
    property: fc.option(fc.constantFrom(...properties)),
    text: fc.string({ maxLength: 40 }),
    sort: fc.option(fc.constantFrom(...outcomeSorts)),
    direction: fc.constantFrom("asc" as const, "desc" as const),
  })
  .map((given) => (given.sort ? given : { ...given, direction: "asc" as const }));

describe("the address of outcomes", () => {
  it("gives back the view", () => {
    fc.assert(
      fc.property(view, (given) => {
        expect(parseOutcomeView(new URLSearchParams(outcomeQuery(given)))).toEqual(given);
      }),
    );
  });

  it("holds what differs from the default only, and words that are none of ours ask for nothing", () => {
    expect(outcomeQuery(defaultOutcomeView)).toBe("");
    expect(outcomeQuery({ ...defaultOutcomeView, status: "failed", sort: "time", direction: "desc" })).toBe(
      "?status=failed&sort=time&dir=desc",
    );
    expect(parseOutcomeView(new URLSearchParams("kind=x&status=y&property=z&sort=w&dir=desc"))).toEqual(
      defaultOutcomeView,
    );
  });
});

describe("the text filter", () => {
  it("looks for every word in name, file, condition and requirement, in any case", () => {
    expect(matchesText(row, "UNEVEN shard")).toBe(true);
    expect(matchesText(row, "  world  ")).toBe(true);
    expect(matchesText(row, "train/test_mesh")).toBe(true);
    expect(matchesText(row, "uneven optimizer")).toBe(false);
    expect(matchesText({ ...row, requirement: null, condition: null }, "null")).toBe(false);
  });
});

it("every outcome but passed is worse than passed", () => {
  expect(Math.max(...outcomeStatuses.map((status) => outcomeSeverity[status]))).toBe(outcomeSeverity.passed);
  expect(new Set(Object.values(outcomeSeverity)).size).toBe(outcomeStatuses.length);
});

it("says what the filters hide", () => {
  expect(shownText(32, 32)).toBe("All 32 tests are shown.");
  expect(shownText(1, 32)).toBe("1 of 32 tests is shown; the filters hide 31.");
  expect(shownText(0, 32)).toBe("0 of 32 tests are shown; the filters hide 32.");
  expect(shownText(0, 1)).toBe("The filters hide the one test.");
});
