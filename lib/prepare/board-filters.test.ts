import { describe, expect, it } from "vitest";
import { prepareBoard } from "./board";
import { activeFilters, filterOptions, filterRows, noFilters, parseFilters } from "./board-filters";
import { prepareShown } from "./board-shown";
import { defaultView } from "./board-view";
import { factsOf, gradedRow, publishedCounts, reportedRow, syntheticSuite } from "./testing";

const suite = { ...syntheticSuite(publishedCounts), standard: { network_policy: "none" as const } };

function rowOf(
  model: string,
  agent: string | null,
  change: { effort?: string; network?: string; tier?: "signed" } = {},
) {
  const row = gradedRow(suite, model, [1]);
  const entry = {
    ...row.entry,
    agent,
    reasoningEffort: change.effort ?? null,
    networkPolicy: change.network ?? "none",
  };
  return { ...row, tier: change.tier ?? row.tier, entry };
}

const board = prepareBoard(
  factsOf(suite, [
    rowOf("Alpha 2", "one", { effort: "high" }),
    rowOf("alphabet", "two", { network: "open", tier: "signed" }),
    rowOf("نموذج", null),
    reportedRow("Beta", { training: 1, inference: 0, rl: 0 }),
  ]),
);
const modelsOf = (change: Partial<typeof noFilters>) =>
  filterRows(board.rows, { ...noFilters, ...change }, board.suite).map((row) => row.entry.model);

describe("filters", () => {
  it("let through what they name, all of them together", () => {
    expect(modelsOf({})).toHaveLength(4);
    expect(modelsOf({ model: "ALPHA" })).toEqual(["Alpha 2", "alphabet"]);
    expect(modelsOf({ model: "نمو" })).toEqual(["نموذج"]);
    expect(modelsOf({ model: "alpha", agent: "one" })).toEqual(["Alpha 2"]);
    expect(modelsOf({ effort: "high" })).toEqual(["Alpha 2"]);
    expect(new Set(modelsOf({ tiers: ["reported", "signed"] }))).toEqual(new Set(["Beta", "alphabet"]));
    expect(modelsOf({ perTask: true })).not.toContain("Beta");
    expect(modelsOf({ configuration: "custom" })).toEqual(["alphabet"]);
    expect(modelsOf({ organization: "nobody" })).toEqual([]);
  });

  it("leave rank sets those of the whole board, and count what they hide", () => {
    const shown = prepareShown(board, { ...defaultView, filters: { ...noFilters, model: "alpha" } });
    expect(shown.hidden).toBe(2);
    expect(shown.rows.map((row) => row.rankSet)).toEqual([
      [1, 4],
      [1, 4],
    ]);
    expect(shown.board.pairCounts.all).toBe(6);
  });

  it("offer only what tells rows apart", () => {
    const options = filterOptions(board);
    expect(options.organization).toEqual([]);
    expect(options.agent).toEqual([
      { value: "one", count: 1 },
      { value: "two", count: 1 },
    ]);
    expect(options.tiers.map(({ value, count }) => [value, count])).toEqual([
      ["reported", 1],
      ["signed", 1],
      ["verified", 2],
    ]);
    expect([options.perTask, options.custom]).toEqual([3, 1]);
    expect(filterOptions({ ...board, rows: [] })).toMatchObject({ agent: [], tiers: [], perTask: null, custom: null });
  });

  it("are taken away one by one", () => {
    const filters = parseFilters(new URLSearchParams("model= alpha &tier=signed,verified,nonsense&data=per-task"));
    const active = activeFilters(filters);
    expect(active.map(({ label, value }) => `${label}: ${value}`)).toEqual([
      "Model contains: alpha",
      "Evidence: signed",
      "Evidence: verified",
      "Data: per task",
    ]);
    expect(active[1]?.without).toEqual({ ...filters, tiers: ["verified"] });
    expect(parseFilters(new URLSearchParams("tier=reported,signed,verified,reproduced&model=%00&data=x"))).toEqual(
      noFilters,
    );
  });
});
