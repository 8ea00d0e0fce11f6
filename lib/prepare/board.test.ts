import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boardSchema } from "@/lib/contract/api";
import { prepareBoard } from "./board";
import { prepareFinding } from "./finding";
import { factsOf, gradedRow, publishedCounts, publishedRows, reportedRow, syntheticSuite } from "./testing";

const published = syntheticSuite(publishedCounts);
const emptyHidden = { ...published, tasks: [] };
const ones = (won: number, of: number) => Array.from({ length: of }, (_, index) => (index < won ? 1 : 0));

describe("the published rows", () => {
  const board = prepareBoard(factsOf(emptyHidden, publishedRows()));

  it("form one tie group, ordered by % resolved", () => {
    expect(board.rows.map((row) => row.resolved.resolved)).toEqual([14, 13, 11, 11, 11, 9]);
    expect(board.rows.map((row) => row.rankSet)).toEqual(new Array(6).fill([1, 6]));
    expect(board.pairs).toHaveLength(15);
    expect(new Set(board.pairs.map((pair) => pair.verdict))).toEqual(new Set(["not-separated"]));
    expect(board.power).toEqual({ pairs: 15, winsNeeded: 10, winsNeededSinglePair: 6 });
  });

  it("invent no per-task data", () => {
    expect(board.rows.every((row) => row.tasks === null && row.probeRejected === null && row.missing === 0)).toBe(true);
  });

  it("read as the finding", () => {
    expect(prepareFinding(board)).toEqual({
      headline: "Six models, one tie: no pair can be told apart on 36 tasks.",
      lead: "\u2068GPT-6 Sol\u2069 resolves most, 14 of 36 (38.9\u202f%), yet the largest gap is five tasks; among six models, telling two apart takes ten tasks won and none lost.",
    });
  });

  it("keep the contract", () => {
    expect(() =>
      boardSchema.parse({
        ...board,
        rows: board.rows.map((row) => ({ ...row, submissionId: "7b6a2f0e-58cf-4d49-9f0e-2f4a1f9d8a11" })),
      }),
    ).not.toThrow();
  });
});

describe("graded rows", () => {
  it("carry shares, probe rejection, % passed and missing tasks", () => {
    const suite = syntheticSuite({ training: 2, inference: 1, rl: 1 });
    const row = gradedRow(suite, "Alpha", [1, 0, 0], (task, index) =>
      index === 1
        ? {
            verdict: "probe-rejected",
            officialScore: 1,
            officialResolvedAttempts: 1,
            probeRejectedAttempts: 1,
            requiredPassed: 3,
            passedShare: 3 / 4,
          }
        : task,
    );
    const facts = {
      ...row,
      evidence: {
        kind: "graded" as const,
        tasks: row.evidence.kind === "graded" ? row.evidence.tasks.slice(0, 3) : [],
      },
    };
    const [prepared] = prepareBoard(factsOf(suite, [facts])).rows;
    expect(prepared?.resolved).toMatchObject({ resolved: 1, total: 4, pct: 25 });
    expect(prepared?.officialResolved).toMatchObject({ resolved: 2, total: 4 });
    expect(prepared?.probeRejected).toEqual({ rejected: 1, officialResolved: 2 });
    expect(prepared?.passedPct).toBeCloseTo((100 * (1 + 3 / 4 + 1 / 4)) / 4, 10);
    expect(prepared?.missing).toBe(1);
    expect(prepared?.tasks?.map((task) => task.verdict)).toEqual(["resolved", "probe-rejected", "failed", "missing"]);
    expect(prepared?.byCategory.map(({ share }) => share.resolved)).toEqual([1, 0, 0]);
  });

  it("are told apart by exact McNemar with ten won and none lost, and not with five", () => {
    const won = (count: number) =>
      prepareBoard(
        factsOf(published, [gradedRow(published, "Alpha", ones(count, 36)), gradedRow(published, "Beta", ones(0, 36))]),
      );
    expect(won(10).rows.map((row) => row.rankSet)).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(won(6).pairs[0]).toMatchObject({ method: "mcnemar", verdict: "separated", p: 0.03125 });
    expect(won(5).pairs[0]).toMatchObject({ method: "mcnemar", verdict: "not-separated", p: 0.0625 });
  });

  it("are compared by sign flips where attempts are several", () => {
    const board = prepareBoard(
      factsOf(published, [
        gradedRow(published, "Alpha", new Array(36).fill(0.75)),
        gradedRow(published, "Beta", ones(0, 36)),
      ]),
    );
    expect(board.pairs[0]?.method).toBe("sign-flip");
    expect(board.rows[0]?.resolved).toMatchObject({ resolved: 27, interval: null });
  });

  it("of several attempts keep a whole sum despite rounding, and have no interval", () => {
    const suite = syntheticSuite({ training: 10, inference: 0, rl: 0 });
    const [row] = prepareBoard(factsOf(suite, [gradedRow(suite, "Alpha", new Array(10).fill(0.1))])).rows;
    expect(new Array(10).fill(0.1).reduce((total, score) => total + score, 0)).not.toBe(1);
    expect(row?.resolved).toEqual({ resolved: 1, total: 10, pct: 10, interval: null });
    const halves = syntheticSuite({ training: 2, inference: 0, rl: 0 });
    const [half] = prepareBoard(factsOf(halves, [gradedRow(halves, "Alpha", [0.5, 0.5])])).rows;
    expect(half?.resolved).toEqual({ resolved: 1, total: 2, pct: 50, interval: null });
  });

  it("count the attempts that the probes reject, not their tasks", () => {
    const suite = syntheticSuite({ training: 2, inference: 0, rl: 0 });
    const rows = [
      gradedRow(suite, "Alpha", [0.25, 1], (_, index) =>
        index === 0 ? { officialScore: 1, officialResolvedAttempts: 4, probeRejectedAttempts: 3 } : {},
      ),
    ];
    expect(prepareBoard(factsOf(suite, rows)).rows[0]?.probeRejected).toEqual({ rejected: 3, officialResolved: 5 });
  });

  it("of several attempts are not bounded by counts against a row that has counts only", () => {
    const board = prepareBoard(
      factsOf(published, [
        gradedRow(published, "Alpha", new Array(36).fill(0.5)),
        reportedRow("Beta", { training: 0, inference: 0, rl: 0 }),
      ]),
    );
    expect(board.pairs[0]).toMatchObject({ method: "bounds", verdict: "cannot-tell", p: null });
  });

  it("of a host's fault are provisional: shown, unranked, in no pair", () => {
    const board = prepareBoard(
      factsOf(published, [
        gradedRow(published, "Alpha", ones(4, 36)),
        gradedRow(published, "Beta", ones(30, 36), (_, index) =>
          index === 35 ? { status: "infra", verdict: "missing" } : {},
        ),
      ]),
    );
    expect(board.rows.map((row) => [row.entry.model, row.rankSet, row.provisional])).toEqual([
      ["Alpha", [1, 1], false],
      ["Beta", null, true],
    ]);
    expect(board.pairs).toEqual([]);
  });

  it("of reference sets stand apart", () => {
    const gold = gradedRow(published, "gold", ones(36, 36));
    const board = prepareBoard(factsOf(published, [{ ...gold, entry: { ...gold.entry, kind: "reference" } }]));
    expect(board.rows).toEqual([]);
    expect(board.references).toHaveLength(1);
  });
});

describe("official tests alone", () => {
  const official = (won: number, alone: number) =>
    gradedRow(published, `Of ${won} and ${alone}`, ones(won, 36), (_, index) =>
      index >= won && index < won + alone ? { verdict: "probe-rejected", officialScore: 1 } : {},
    );

  it("rank the rows a second time, by the same tests", () => {
    const board = prepareBoard(factsOf(published, [official(12, 0), official(2, 20), official(1, 0)]));
    expect(board.rows.map((row) => [row.entry.model, row.rankSet, row.officialRankSet])).toEqual([
      ["Of 12 and 0", [1, 1], [2, 2]],
      ["Of 2 and 20", [2, 3], [1, 1]],
      ["Of 1 and 0", [2, 3], [3, 3]],
    ]);
    expect(board.rows[1]?.officialByCategory?.map(({ share }) => share.resolved)).toEqual([19, 3, 0]);
    expect(board.official?.pairCounts).toEqual({ all: 3, separated: 3, cannotTell: 0, notSeparated: 0 });
  });

  it("rank nobody where no row states them", () => {
    const board = prepareBoard(factsOf(emptyHidden, publishedRows()));
    expect(board.official).toBeNull();
    expect(board.rows.every((row) => row.officialRankSet === null)).toBe(true);
  });
});

describe("a board of many rows", () => {
  const rows = Array.from({ length: 60 }, (_, index) =>
    gradedRow(published, `Model ${index}`, ones(Math.floor(index / 2), 36)),
  );
  const board = prepareBoard(factsOf(published, rows));

  it("lists the pairs that say most, and counts the rest", () => {
    const { all, separated, notSeparated } = board.pairCounts;
    expect([all, separated + notSeparated]).toEqual([1770, 1770]);
    expect(board.pairs).toHaveLength(1225);
    const listed = board.pairs.filter((pair) => pair.verdict === "separated").length;
    expect(listed).toBe(Math.min(separated, 1225));
    expect(board.pairs[0]).toMatchObject({ a: "model-58", b: "model-0", verdict: "separated" });
  });

  it("has rank sets over all of them", () => {
    expect(board.rows[0]?.rankSet?.[0]).toBe(1);
    expect(board.rows.at(-1)?.rankSet?.[1]).toBe(60);
  });
});

describe("rows without per-task data", () => {
  it("cannot be told from their counts between the bounds", () => {
    const board = prepareBoard(
      factsOf(emptyHidden, [
        reportedRow("Alpha", { training: 15, inference: 5, rl: 5 }),
        reportedRow("Beta", { training: 9, inference: 3, rl: 3 }),
      ]),
    );
    expect(board.pairs[0]).toMatchObject({ method: "bounds", verdict: "cannot-tell", p: null });
    expect(prepareFinding(board).headline).toContain("published counts cannot tell");
  });

  it("are separated where even the least favourable pairing is", () => {
    const board = prepareBoard(
      factsOf(emptyHidden, [
        reportedRow("Alpha", { training: 19, inference: 10, rl: 7 }),
        reportedRow("Beta", { training: 5, inference: 1, rl: 1 }),
      ]),
    );
    expect(board.pairs[0]?.verdict).toBe("separated");
  });
});

describe("finding", () => {
  const headline = (...rows: ReturnType<typeof gradedRow>[]) =>
    prepareFinding(prepareBoard(factsOf(published, rows))).headline;

  it("says that nothing is ranked", () => {
    expect(headline()).toBe("No entry is ranked on \u2068Synthetic suite\u2069 yet.");
  });

  it("ranks no single entry", () => {
    const finding = prepareFinding(prepareBoard(factsOf(published, [gradedRow(published, "Alpha", ones(9, 36))])));
    expect(finding.headline).toBe("One entry so far: \u2068Alpha\u2069 resolves 9 of 36 (25.0\u202f%).");
    expect(finding.lead).toContain("13.8 to 41.1");
  });

  it("names two that tie, two that differ, a shared first place, and a leader of many", () => {
    const of = (model: string, won: number) => gradedRow(published, model, ones(won, 36));
    expect(headline(of("A", 9), of("B", 9))).toBe("Two models, one tie: the two cannot be told apart on 36 tasks.");
    expect(headline(of("A", 20), of("B", 9))).toBe(
      "\u2068A\u2069 leads: it resolves more of the 36 tasks than \u2068B\u2069.",
    );
    expect(headline(of("A", 20), of("B", 19), of("C", 2))).toBe("Two of three models share first place on 36 tasks.");
    expect(headline(of("A", 30), of("B", 9), of("C", 8))).toBe(
      "\u2068A\u2069 leads: it resolves more of the 36 tasks than each of the other two models.",
    );
  });
});

describe("any board", () => {
  it("gives rank sets that hold the row's own position and never contradict a separation", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom(0, 1), { minLength: 36, maxLength: 36 }), { maxLength: 8 }),
        (scores) => {
          const board = prepareBoard(
            factsOf(
              published,
              scores.map((of, index) => gradedRow(published, `Model ${index}`, of)),
            ),
          );
          board.rows.forEach((row, index) => {
            const [best, worst] = row.rankSet ?? [0, 0];
            expect(best).toBeGreaterThanOrEqual(1);
            expect(worst).toBeLessThanOrEqual(board.rows.length);
            expect(best).toBeLessThanOrEqual(index + 1);
            expect(worst).toBeGreaterThanOrEqual(index + 1);
          });
          expect(prepareFinding(board).headline).not.toMatch(/undefined|NaN|null/);
        },
      ),
      { numRuns: 40 },
    );
  });
});
