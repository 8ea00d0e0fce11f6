import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { categories, paretoAxes, promptConditions, sortKeys } from "@/lib/contract/vocabulary";
import { prepareBoard } from "./board";
import { type BoardView, defaultView, parseView, parseViewPath, sortRows, viewHref, viewPath } from "./board-view";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 ./%&#?+-]{0,30}$/);
const view: fc.Arbitrary<BoardView> = fc.record({
  suite: fc.option(fc.stringMatching(/^[a-z0-9]{1,8}([.-][a-z0-9]{1,8}){0,3}$/)),
  version: fc.option(fc.stringMatching(/^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$/)),
  condition: fc.constantFrom(...promptConditions),
  skill: fc.option(name),
  category: fc.option(fc.constantFrom(...categories)),
  sort: fc.constantFrom(...sortKeys),
  direction: fc.constantFrom("asc" as const, "desc" as const),
  pareto: fc.option(fc.constantFrom(...paretoAxes)),
});

describe("a view's address", () => {
  it("gives back the view, on the site and inside", () => {
    fc.assert(
      fc.property(view, (given) => {
        expect(parseView(new URL(viewHref(given), "http://site").searchParams)).toEqual(given);
        expect(parseViewPath(new URL(viewPath(given), "http://site").pathname.split("/").slice(2))).toEqual(given);
      }),
    );
  });

  it("is bare for the default view, and words that are none of ours mean the default", () => {
    expect(viewHref(defaultView)).toBe("/");
    expect(parseView(new URLSearchParams("sort=nonsense&category=x&dir=up&condition=y"))).toEqual(defaultView);
    expect(parseViewPath(["-", "-", "interface", "-", "-", "nonsense", "asc", "-"])).toBeNull();
    expect(parseViewPath(["%E0%A4%A"])).toBeNull();
    expect(parseView(new URLSearchParams("suite=..&version=."))).toEqual(defaultView);
  });

  it("never carries a name that no suite, version or skill can have", () => {
    for (const key of ["suite", "version", "skill"]) {
      for (const value of ["\0x", "a\nb", "\u202ea", "a".repeat(121), "..", ""]) {
        expect(parseView(new URLSearchParams({ [key]: value }))).toEqual(defaultView);
      }
    }
    const segments = ["-", "-", "interface", "-", "-", "resolved", "desc", "-"];
    expect(parseViewPath(segments)).toEqual(defaultView);
    for (const index of [0, 1, 3]) expect(parseViewPath(segments.with(index, "%00x"))).toBeNull();
  });

  it("is the only path of a view: what would read as the same view is refused", () => {
    const segments = ["-", "-", "interface", "-", "-", "resolved", "desc", "-"];
    expect(parseViewPath(segments.with(4, "anything"))).toBeNull();
    expect(parseViewPath(segments.with(7, "anything"))).toBeNull();
    expect(parseViewPath([...segments, "more"])).toBeNull();
  });

  it("names the Pareto view, and its axis only where that is not cost", () => {
    expect(viewHref({ ...defaultView, pareto: "cost" })).toBe("/?view=pareto");
    expect(viewHref({ ...defaultView, pareto: "time" })).toBe("/?view=pareto&x=time");
    expect(parseView(new URLSearchParams("view=pareto&x=nonsense"))).toEqual({ ...defaultView, pareto: "cost" });
    expect(parseView(new URLSearchParams("x=time"))).toEqual(defaultView);
  });
});

describe("sorting", () => {
  const suite = syntheticSuite(publishedCounts);
  const rows = prepareBoard(
    factsOf({ ...suite, tasks: [] }, [
      ...publishedRows().map((row, index) => ({
        ...row,
        costUsd: [5.37, 17.98, 13.89, 2.09, null, 13.48][index] ?? null,
      })),
    ]),
  ).rows;

  it("puts missing values last in either direction", () => {
    const costs = (direction: "asc" | "desc") =>
      sortRows(rows, { sort: "cost", direction, category: null }).map((row) => row.costUsd);
    expect(costs("asc")).toEqual([2.09, 5.37, 13.48, 13.89, 17.98, null]);
    expect(costs("desc")).toEqual([17.98, 13.89, 13.48, 5.37, 2.09, null]);
  });

  it("keeps the board's order among equals and provisional rows last", () => {
    expect(sortRows(rows, { sort: "inference", direction: "asc", category: null })).toEqual(rows);
    const mixed = prepareBoard(
      factsOf(suite, [
        gradedRow(suite, "Alpha", [1]),
        gradedRow(suite, "Zeta", new Array(36).fill(1), () => ({ status: "infra" })),
      ]),
    ).rows;
    expect(sortRows(mixed, { sort: "model", direction: "desc", category: null }).map((row) => row.entry.model)).toEqual(
      ["Alpha", "Zeta"],
    );
  });

  it("orders by a category's share inside that category", () => {
    const [first] = sortRows(rows, { sort: "resolved", direction: "desc", category: "rl" });
    expect(first?.entry.model).toBe("HY4 preview");
  });
});
