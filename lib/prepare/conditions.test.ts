import { describe, expect, it } from "vitest";
import type { BoardFacts } from "@/lib/contract/board-facts";
import { mcnemarExact } from "@/lib/stats/paired-tests";
import { prepareConditions } from "./conditions";
import { conditionsSentence, formatPoints } from "./conditions-finding";
import { factsOf, gradedRow, reportedRow, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 6, inference: 2, rl: 2 });
const scores = (text: string) => [...text].map(Number);

/** A board of `suite` with a row for each slug; every row is of the same configuration. */
function boardOf(rows: Record<string, string>, board: Partial<BoardFacts>): BoardFacts {
  return {
    ...factsOf(
      suite,
      Object.entries(rows).map(([slug, text]) => {
        const row = gradedRow(suite, "Synthetic Alpha", scores(text));
        return {
          ...row,
          entry: { ...row.entry, slug },
          submissionId: `${row.submissionId.slice(0, -2)}${slug.length}`,
        };
      }),
    ),
    ...board,
  };
}
const nothingElse = { runs: new Map(), failures: [] };
const compare = (boards: BoardFacts[], digests = new Map<string, string>()) =>
  prepareConditions({ boards, ...nothingElse }, digests);

const base = boardOf({ base: "1111110000" }, {});

describe("pairs", () => {
  it("are tested by exact McNemar where each task has one attempt, in points of the suite's tasks", () => {
    const description = boardOf({ description: "0000000001" }, { promptCondition: "pr-description" });
    const [pair] = compare([base, description])?.pairs ?? [];
    expect(pair?.test).toMatchObject({
      method: "mcnemar",
      counts: { both: 0, onlyBase: 6, onlyChanged: 1, neither: 3 },
      p: mcnemarExact(6, 1),
      pAdjusted: mcnemarExact(6, 1),
    });
    expect(pair?.resolved.points).toBeCloseTo(-50, 9);
    const [low, high] = pair?.resolved.interval ?? [0, 0];
    expect(low).toBeLessThan(-50);
    expect(high).toBeGreaterThan(-50);
  });

  it("never differ in prompt and skill at once", () => {
    const both = boardOf({ both: "1111111111" }, { promptCondition: "pr-description", skill: "synthetic" });
    expect(compare([base, both], new Map([["both", "d1"]]))).toBeNull();
  });

  it("hold two skills of one name apart", () => {
    const skilled = boardOf({ one: "1111111000" }, { skill: "synthetic" });
    const described = boardOf({ other: "1111111100" }, { skill: "synthetic", promptCondition: "pr-description" });
    const same = new Map([
      ["one", "d1"],
      ["other", "d1"],
    ]);
    expect(compare([skilled, described], same)?.pairs.map(({ differs }) => differs)).toEqual(["prompt"]);
    expect(compare([skilled, described], new Map(same).set("other", "d2"))).toBeNull();
  });

  it("are of graded models of one configuration", () => {
    const other = gradedRow(suite, "Synthetic Alpha", scores("1111111111"));
    const changed = { ...other, entry: { ...other.entry, slug: "changed", agentVersion: "2" } };
    const description = { ...factsOf(suite, [changed]), promptCondition: "pr-description" as const };
    expect(compare([base, description])).toBeNull();
    const reported = { ...factsOf(suite, [reportedRow("Synthetic Alpha", { training: 1, inference: 1, rl: 1 })]) };
    expect(
      compare([reported, boardOf({ description: "0000000001" }, { promptCondition: "pr-description" })]),
    ).toBeNull();
    expect(compare([])).toBeNull();
  });
});

it("says what pairs show together, with Holm's adjustment over all of them", () => {
  const conditions = compare(
    [
      base,
      boardOf({ description: "0000000000" }, { promptCondition: "pr-description" }),
      boardOf({ skilled: "1111111110" }, { skill: "synthetic" }),
    ],
    new Map([["skilled", "d1"]]),
  );
  const of = (differs: "prompt" | "skill") => conditions?.pairs.filter((pair) => pair.differs === differs) ?? [];
  expect(of("prompt")[0]?.test.pAdjusted).toBeCloseTo(2 * mcnemarExact(6, 0), 12);
  expect(conditionsSentence("prompt", of("prompt"))).toBe(
    "One pair: with the pull request’s description, fewer tasks are resolved; the difference is not beyond chance.",
  );
  expect(conditionsSentence("skill", of("skill"))).toBe(
    "One pair: with the skill, more tasks are resolved; the difference is not beyond chance.",
  );
});

it("signs points, and not what rounds to nothing", () => {
  expect([4.24, -4.24, 0, 0.01].map(formatPoints)).toEqual(["+4.2", "\u22124.2", "0.0", "0.0"]);
});
