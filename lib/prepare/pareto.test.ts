import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prepareBoard } from "./board";
import { preparePareto, scaleFor, withoutFigureText } from "./pareto";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const suite = syntheticSuite(publishedCounts);

/** Published figures, in the order of `publishedRows`. */
const published = prepareBoard(
  factsOf(
    suite,
    publishedRows().map((row, index) => ({
      ...row,
      costUsd: [5.37, 17.98, 13.89, 2.09, 1.89, 13.48][index] ?? null,
      timeMin: [43.9, 73.9, 137, 117.9, 94, 136][index] ?? null,
    })),
  ),
);

/** A board of graded rows: each resolves `tasks` tasks and costs `cost`. */
const boardOf = (rows: readonly { tasks: number; cost: number | null }[]) =>
  prepareBoard(
    factsOf(
      suite,
      rows.map(({ tasks, cost }, index) => ({
        ...gradedRow(suite, `Model ${index}`, new Array(tasks).fill(1)),
        costUsd: cost,
      })),
    ),
  );

const names = (points: readonly { row: { entry: { model: string } } }[]) => points.map(({ row }) => row.entry.model);

describe("the frontier", () => {
  it("holds the published rows that nothing cheaper matches, cheapest first", () => {
    const { points, summary } = preparePareto(published, "cost", null);
    expect(names(points.filter((point) => point.frontier))).toEqual(["DeepSeek V4 Pro", "HY4 preview", "GPT-6 Sol"]);
    expect(points.find(({ row }) => row.entry.model === "Kimi K3")?.dominatedBy?.entry.model).toBe("GPT-6 Sol");
    expect(summary.replace(/[\u2068\u2069]/g, "")).toBe(
      "Three of six models are on the frontier of resolved against cost, from DeepSeek V4 Pro (30.6\u202f% at $1.89) to GPT-6 Sol (38.9\u202f% at $5.37); for each of the other three, one on it resolves as much or more and costs no more.",
    );
  });

  it("is one row where that row is best on both axes", () => {
    const { points, summary } = preparePareto(published, "time", null);
    expect(names(points.filter((point) => point.frontier))).toEqual(["GPT-6 Sol"]);
    expect(summary).toContain("each of the other five models resolves no more and takes no less time.");
  });

  it("follows a category's shares", () => {
    const { points, summary } = preparePareto(published, "cost", "rl");
    expect(names(points.filter((point) => point.frontier))).toEqual(["DeepSeek V4 Pro", "HY4 preview"]);
    expect(summary).toContain("resolved RL tasks against cost");
  });

  it("holds both of two rows with the same figures, and each beats what is worse on one axis alone", () => {
    const { points } = preparePareto(
      boardOf([
        { tasks: 9, cost: 2 },
        { tasks: 9, cost: 2 },
        { tasks: 9, cost: 3 },
        { tasks: 8, cost: 2 },
      ]),
      "cost",
      null,
    );
    expect(points.map(({ x, frontier }) => [x, frontier])).toEqual([
      [2, true],
      [2, true],
      [2, false],
      [3, false],
    ]);
  });

  it("separates rows for any figures: nothing dominates what is on it, and a row on it dominates what is not", () => {
    const row = fc.record({ tasks: fc.integer({ min: 0, max: 6 }), cost: fc.integer({ min: 0, max: 6 }) });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 7 }), (rows) => {
        const { points } = preparePareto(boardOf(rows), "cost", null);
        expect(points).toHaveLength(rows.length);
        const beats = (a: (typeof points)[number], b: (typeof points)[number]) =>
          a.x <= b.x && a.y >= b.y && (a.x < b.x || a.y > b.y);
        for (const point of points) {
          const better = points.filter((other) => beats(other, point));
          if (point.frontier) expect(better).toEqual([]);
          else expect(better.some((other) => other.frontier && other.row === point.dominatedBy)).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("leaves out what states no figure, says so, and never draws provisional rows or references", () => {
    const board = boardOf([
      { tasks: 3, cost: 1 },
      { tasks: 5, cost: null },
    ]);
    const pareto = preparePareto(board, "cost", null);
    expect(names(pareto.points)).toEqual(["Model 0"]);
    expect(withoutFigureText(pareto)).toBe("One ranked row does not state its cost, so it is not drawn.");
    expect(pareto.summary).toContain("is the only model here that states its cost.");
    const infra = gradedRow(suite, "Waiting", [1, 1], () => ({ status: "infra" }));
    const provisional = prepareBoard(factsOf(suite, [{ ...infra, costUsd: 1 }]));
    expect(preparePareto(provisional, "cost", null)).toMatchObject({ points: [], summary: "", withoutFigure: [] });
  });
});

describe("an axis", () => {
  it("is logarithmic from a factor of eight on, with 1-2-5 labels that hold every value", () => {
    expect(scaleFor([1.89, 17.98])).toEqual({ kind: "log", domain: [1, 20], ticks: [1, 2, 5, 10, 20] });
    expect(scaleFor([0.05, 0.4])).toEqual({ kind: "log", domain: [0.05, 0.5], ticks: [0.05, 0.1, 0.2, 0.5] });
    expect(scaleFor([0.002, 700]).ticks).toEqual([0.001, 0.01, 0.1, 1, 10, 100, 1000]);
  });

  it("is linear from zero where values lie close, where one is zero, and for one alone", () => {
    expect(scaleFor([43.9, 137])).toEqual({ kind: "linear", domain: [0, 150], ticks: [0, 50, 100, 150] });
    expect(scaleFor([0, 100])).toEqual({ kind: "linear", domain: [0, 100], ticks: [0, 25, 50, 75, 100] });
    expect(scaleFor([0])).toMatchObject({ kind: "linear", domain: [0, 1] });
    expect(scaleFor([7])).toMatchObject({ kind: "linear", domain: [0, 8] });
  });

  it("holds every value between its ends, whatever they are", () => {
    const value = fc.double({ min: 0, max: 1e6, noNaN: true }).map((one) => (one < 1e-6 ? 0 : one));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 20 }), (values) => {
        const { domain, ticks } = scaleFor(values);
        expect(domain[0]).toBeLessThanOrEqual(Math.min(...values));
        expect(domain[1]).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-9));
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks.length).toBeLessThan(16);
        expect([...ticks].sort((a, b) => a - b)).toEqual([...ticks]);
      }),
    );
  });

  it("of % resolved holds the intervals and ends at 100", () => {
    expect(preparePareto(published, "cost", null).y.domain).toEqual([0, 60]);
    const all = preparePareto(boardOf([{ tasks: 36, cost: 1 }]), "cost", null);
    expect(all.y.domain).toEqual([0, 100]);
  });
});
