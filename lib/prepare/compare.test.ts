import { describe, expect, it } from "vitest";
import type { BoardFacts } from "@/lib/contract/board-facts";
import { compareAnswerSchema } from "@/lib/contract/compare-api";
import type { ComparisonFacts, RunFigures } from "@/lib/contract/compare-facts";
import { prepareBoard } from "./board";
import { prepareCompare } from "./compare";
import { compareCsv, compareMarkdown } from "./compare-table";
import { compareFinding, differenceText, optionText, pairNames } from "./compare-words";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 4, inference: 4, rl: 4 });
const half = (fill: number, count: number) => Array.from({ length: count }, () => fill);

const alpha = gradedRow(suite, "Alpha", [...half(1, 8), 0, 0, 0, 0]);
const beta = gradedRow(suite, "Beta", [0, 0, 0, ...half(1, 5), 1, 0, 0, 0]);
const gamma = gradedRow(suite, "Gamma", half(0, 12));
const gold = { ...gradedRow(suite, "reference: gold", half(1, 12)) };
gold.entry = { ...gold.entry, kind: "reference" };
const nop = { ...gradedRow(suite, "reference: nop", half(0, 12)) };
nop.entry = { ...nop.entry, kind: "reference" };

const none = { timeMin: null, costUsd: null, tokensM: null, steps: null };
const facts = (boards: BoardFacts[], change: Partial<ComparisonFacts> = {}): ComparisonFacts => ({
  boards,
  runs: new Map(),
  failures: [],
  ...change,
});
const board = factsOf(suite, [alpha, beta, gamma, gold, nop]);
const prepared = (boards: BoardFacts[], a: string | null, b: string | null, change: Partial<ComparisonFacts> = {}) =>
  compareAnswerSchema.parse({ ...prepareCompare(facts(boards, change), { a, b }), ran: null });
const compared = (...given: Parameters<typeof prepared>) => {
  const { comparison, state } = prepared(...given);
  if (state !== "compared" || !comparison) throw new Error("nothing was compared");
  return comparison;
};

describe("two graded entries", () => {
  const comparison = compared([board], "alpha", "beta");

  it("count the tasks by who resolves them, and test the discordant ones exactly", () => {
    expect(comparison.test).toMatchObject({ method: "mcnemar", counts: { both: 5, onlyA: 3, onlyB: 1, neither: 3 } });
    // 2 * (C(4,0) + C(4,1)) / 2^4
    expect(comparison.test.p).toEqual([0.625, 0.625]);
    expect(comparison.test.verdict).toBe("not-separated");
    // p of the board's three pairs: 0.625, 2^-7 (8 to 0), 2^-5 (6 to 0); Holm leaves the largest as it is
    expect(comparison.test.adjusted).toEqual({ p: [0.625, 0.625], pairs: 3 });
  });

  it("agree with their board about every pair", () => {
    const { pairs } = prepareBoard(board);
    for (const { a, b, p, pAdjusted, verdict } of pairs) {
      const { test } = compared([board], b, a);
      expect(test.p[0]).toBe(p);
      expect(test.adjusted?.p[0]).toBe(pAdjusted);
      expect(test.verdict).toBe(verdict);
    }
    expect(pairs).toHaveLength(3);
  });

  it("name the tasks of each group in the suite's order", () => {
    const groups = comparison.tasks?.map(({ group }) => group);
    expect(groups).toEqual([
      ...half(0, 3).map(() => "only-a"),
      ...half(0, 5).map(() => "both"),
      "only-b",
      ...half(0, 3).map(() => "neither"),
    ]);
  });

  it("read as one sentence with its test, whichever side stands first", () => {
    const text = {
      headline: expect.stringContaining(
        "resolves three tasks that \u2068Beta\u2069 does not, \u2068Beta\u2069 one: not separable.",
      ),
    };
    expect(compareFinding(comparison)).toMatchObject(text);
    expect(compareFinding(compared([board], "beta", "alpha"))).toMatchObject(text);
    expect(compareFinding(comparison).lead).toBe(
      "By exact McNemar, p = 0.625 raw, 0.625 Holm over the board’s 3 pairs.",
    );
  });

  it("differ in what their runs took over the tasks that both state", () => {
    const run = (values: readonly (number | null)[]) =>
      new Map(
        values.map((timeMin, index): [string, RunFigures] => [suite.tasks[index]?.slug ?? "", { ...none, timeMin }]),
      );
    const runs = new Map([
      [alpha.submissionId, run([10, 20, 30, 40])],
      [beta.submissionId, run([20, 20, null, 10])],
    ]);
    const [time, ...others] = compared([board], "alpha", "beta", { runs }).deltas;
    // differences -10, 0, 30
    expect(time).toMatchObject({ metric: "time", tasks: 3, difference: 20 / 3 });
    expect(time?.a).toBeCloseTo(70 / 3, 12);
    expect(time?.b).toBeCloseTo(50 / 3, 12);
    const [low, high] = time?.interval ?? [0, 0];
    expect([low, high]).toEqual([-10, 30]);
    expect(others).toEqual([]);
    expect(compared([board], "alpha", "beta", { runs }).deltas[0]?.interval).toEqual(time?.interval);
  });

  it("fail by the types that their attempts' labels name", () => {
    const failure = { class: "structural", type: "execution-api", title: "Execution / API" };
    const failures = [
      { ...failure, submissionId: alpha.submissionId, attempts: 2 },
      { ...failure, submissionId: beta.submissionId, attempts: 3 },
    ];
    expect(compared([board], "beta", "alpha", { failures }).failures).toEqual([{ ...failure, a: 3, b: 2 }]);
  });
});

it("official tests alone are tested for themselves", () => {
  const rejected = gradedRow(suite, "Rejected", half(0, 12), () => ({ officialScore: 1, verdict: "probe-rejected" }));
  const { test, officialTest } = compared([factsOf(suite, [alpha, rejected])], "alpha", "rejected");
  expect(test.counts).toMatchObject({ onlyA: 8, onlyB: 0 });
  expect(officialTest).toMatchObject({ counts: { both: 8, onlyA: 0, onlyB: 4, neither: 0 }, p: [0.125, 0.125] });
});

it("several attempts a task are compared by their means, by sign flips", () => {
  const often = gradedRow(suite, "Often", [...half(1, 6), ...half(0, 6)]);
  const seldom = gradedRow(suite, "Seldom", [...half(0.5, 6), ...half(0, 6)]);
  const comparison = compared([factsOf(suite, [often, seldom])], "often", "seldom");
  // six differences of one sign: 2 / 2^6
  expect(comparison.test).toMatchObject({ method: "sign-flip", p: [0.03125, 0.03125] });
  expect(compareFinding(comparison).headline).toContain("resolves six tasks more often than");
});

describe("reported rows", () => {
  const published = factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows());
  const comparison = compared([published], "gpt-6-sol", "glm-5.3".replace(".", "-"));

  it("are bounded by their counts per category", () => {
    // nested: Training 10 to 5, the others level: 5 to 0, p = 2^-4
    expect(comparison.test).toMatchObject({ method: "bounds", counts: null, verdict: "not-separated" });
    expect(comparison.test.p[0]).toBe(0.0625);
    // apart: 10 + 1 + 3 against 5 + 1 + 3
    expect(comparison.test.p[1]).toBeCloseTo(0.40487, 4);
    expect(comparison.test.adjusted?.pairs).toBe(15);
    expect(comparison.strata).toEqual([
      { category: "training", total: 19, a: 10, b: 5, bothLeast: 0, bothMost: 5 },
      { category: "inference", total: 10, a: 1, b: 1, bothLeast: 0, bothMost: 1 },
      { category: "rl", total: 7, a: 3, b: 3, bothLeast: 0, bothMost: 3 },
    ]);
    expect(comparison.tasks).toBeNull();
  });

  it("say in words what the counts leave open", () => {
    const { headline, lead } = compareFinding(comparison);
    expect(headline).toBe(
      "\u2068GPT-6 Sol\u2069 resolves 14 of 36 tasks, \u2068GLM 5.3\u2069 9: inseparable for certain.",
    );
    expect(lead).toContain("even the pairing that tells them apart best does not");
    const open = { ...comparison, test: { ...comparison.test, verdict: "cannot-tell" as const } };
    expect(compareFinding(open).headline).toContain("cannot be told from the published counts");
  });
});

describe("choosing", () => {
  it("suggests each pair once, with the first reason that names it", () => {
    const { pairs, state, entries } = prepared([board], null, null);
    expect(state).toBe("pairs");
    expect(pairs.map(({ a, b, reason }) => [a.slug, b.slug, reason])).toEqual([
      ["alpha", "beta", "neighbours"],
      ["beta", "gamma", "neighbours"],
      ["alpha", "gamma", "ends"],
      ["reference-gold", "reference-nop", "reference"],
    ]);
    expect(entries.map(({ slug }) => slug)).toEqual(["alpha", "beta", "gamma", "reference-gold", "reference-nop"]);
  });

  it("suggests pairs of the entry that is chosen, and none of it with itself", () => {
    expect(prepared([board], "beta", null).pairs.map(({ a, b }) => [a.slug, b.slug])).toEqual([
      ["beta", "alpha"],
      ["beta", "gamma"],
    ]);
    expect(prepared([board], "beta", "beta")).toMatchObject({ state: "same", comparison: null });
  });

  it("suggests an entry with and without a skill, and adjusts no pair over two boards", () => {
    const skilled = {
      ...factsOf(suite, [{ ...beta, entry: { ...beta.entry, slug: "alpha-skilled", model: "Alpha" } }]),
      skill: "planner",
    };
    const answer = prepared([board, skilled], null, null);
    expect(answer.pairs[0]).toMatchObject({ a: { slug: "alpha" }, b: { slug: "alpha-skilled" }, reason: "skill" });
    const comparison = compared([board, skilled], "alpha", "alpha-skilled");
    expect(comparison.test.adjusted).toBeNull();
    expect(compareFinding(comparison).lead).toContain("two boards");
  });

  it("compares reference sets in full, and says what they are", () => {
    const comparison = compared([board], "reference-gold", "reference-nop");
    expect(comparison.test).toMatchObject({ counts: { onlyA: 12 }, adjusted: null, verdict: "separated" });
    expect(comparison.a.row.rankSet).toBeNull();
    expect(compareFinding(comparison).lead).toContain("ranked nowhere");
  });
});

describe("names and numbers", () => {
  const [first] = prepared([board], null, null).entries;
  const entry = first ?? raise();

  it("tell entries of one model apart by the first trait that differs", () => {
    expect(pairNames(entry, { ...entry, model: "Other" })).toEqual(["\u2068Alpha\u2069", "\u2068Other\u2069"]);
    expect(pairNames(entry, { ...entry, skill: "planner" })[1]).toBe("\u2068Alpha\u2069 with \u2068planner\u2069");
    expect(pairNames(entry, { ...entry, slug: "alpha-2" })).toEqual([
      "\u2068Alpha\u2069 (alpha)",
      "\u2068Alpha\u2069 (alpha-2)",
    ]);
    expect(optionText({ ...entry, agent: "Coder", agentVersion: "2" })).toBe("Alpha, Coder 2, 66.7\u202f%");
  });

  it("carry their sign", () => {
    expect(differenceText(1.25, 1)).toBe("+1.3");
    expect(differenceText(-1.25, 1)).toBe("\u22121.3");
    expect(differenceText(0.01, 1)).toBe("0.0");
  });
});

describe("as a table", () => {
  it("holds a line a task, or a line a category", () => {
    const lines = compareCsv(prepared([board], "alpha", "beta")).split("\r\n");
    expect(lines).toHaveLength(suite.taskCount + 2);
    expect(lines[1]).toMatch(/^training-1,training,feature,only-a,alpha,beta,resolved,1,1,4,4,,,,,failed,0,0,1,4/);
    const published = factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows());
    expect(compareCsv(prepared([published], "gpt-6-sol", "hy4-preview")).split("\r\n")[1]).toBe(
      "training,19,gpt-6-sol,10,hy4-preview,8,0,8",
    );
    expect(compareCsv(prepared([board], null, null)).split("\r\n")[1]).toBe(
      "alpha,beta,neighbours,mcnemar,3,1,0.625,0.625,0.625,0.625,not-separated",
    );
  });

  it("is Markdown that no name can break", () => {
    const named = { ...alpha, entry: { ...alpha.entry, model: "A | B" } };
    const text = compareMarkdown(prepared([factsOf(suite, [named, beta])], "alpha", "beta"));
    expect(text).toContain("| A: A \\| B | B: Beta |");
    expect(text).toContain("Both 5, only A 3, only B 1, neither 3\\.");
  });
});

function raise(): never {
  throw new Error("there is no entry");
}
