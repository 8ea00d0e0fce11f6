import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displayNameSchema } from "@/lib/contract/scalars";
import {
  boardColumns,
  boardTests,
  categories,
  paretoAxes,
  promptConditions,
  sortKeys,
  taskChoices,
  tiers,
} from "@/lib/contract/vocabulary";
import { config } from "@/proxy";
import { prepareBoard } from "./board";
import { noFilters } from "./board-filters";
import {
  type BoardView,
  changedHref,
  defaultView,
  isFormQuery,
  parseView,
  parseViewPath,
  sortRows,
  viewHref,
  viewKeys,
  viewPath,
} from "./board-view";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 ./%&#?+-]{0,30}$/);
const displayName = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
  .filter((text) => text === text.trim() && displayNameSchema.safeParse(text).success);
const inOrder = <T>(words: readonly T[], some: readonly T[]) => words.filter((word) => some.includes(word));
const view: fc.Arbitrary<BoardView> = fc
  .record({
    suite: fc.option(fc.stringMatching(/^[a-z0-9]{1,8}([.-][a-z0-9]{1,8}){0,3}$/)),
    version: fc.option(fc.stringMatching(/^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$/)),
    condition: fc.constantFrom(...promptConditions),
    skill: fc.option(name),
    category: fc.option(fc.constantFrom(...categories)),
    tests: fc.constantFrom(...boardTests),
    sort: fc.constantFrom(...sortKeys),
    direction: fc.constantFrom("asc" as const, "desc" as const),
    pareto: fc.option(fc.constantFrom(...paretoAxes)),
    matrix: fc.option(fc.constantFrom(...taskChoices)),
    columns: fc.subarray([...boardColumns]),
    filters: fc.record({
      model: fc.option(displayName),
      organization: fc.option(displayName),
      agent: fc.option(displayName),
      effort: fc.option(displayName),
      tiers: fc.subarray([...tiers], { maxLength: tiers.length - 1 }).map((some) => inOrder(tiers, some)),
      perTask: fc.boolean(),
      configuration: fc.option(fc.constantFrom("standard" as const, "custom" as const)),
    }),
    page: fc.integer({ min: 1, max: 9999 }),
  })
  .map((given) => ({
    ...given,
    matrix: given.pareto ? null : given.matrix,
    page: given.pareto ? 1 : given.page,
    columns: inOrder(boardColumns, given.columns),
  }));

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
    expect(parseViewPath(["-sort=nonsense"])).toBeNull();
    expect(parseViewPath(["%E0%A4%A"])).toBeNull();
    expect(parseView(new URLSearchParams("suite=..&version=."))).toEqual(defaultView);
  });

  it("never carries a name that no suite, version or skill can have", () => {
    for (const key of ["suite", "version", "skill"]) {
      for (const value of ["\0x", "a\nb", "\u202ea", "a".repeat(121), "..", ""]) {
        expect(parseView(new URLSearchParams({ [key]: value }))).toEqual(defaultView);
      }
    }
    expect(parseViewPath(["-suite=a~00x"])).toBeNull();
    expect(parseViewPath(["-skill=~E2~80~AEa"])).toBeNull();
  });

  it("is the only path of a view: what would read as the same view is refused", () => {
    expect(parseViewPath(["-"])).toEqual(defaultView);
    expect(parseViewPath(["-sort=cost"])).toEqual({ ...defaultView, sort: "cost", direction: "asc" });
    for (const other of [["-sort=cost&dir=asc"], ["-sort=", "-cost"], ["sort=cost"], ["-sort=cost", "-"], [""], []])
      expect(parseViewPath(other), other.join("/")).toBeNull();
  });

  it("has no segment that is longer than the name of a file", () => {
    const long = { ...noFilters, model: "模".repeat(120), organization: "\u0645".repeat(120) };
    const segments = viewPath({ ...defaultView, filters: long })
      .split("/")
      .slice(2);
    expect(Math.max(...segments.map((segment) => segment.length))).toBeLessThan(200);
    expect(parseViewPath(segments)?.filters).toEqual(long);
  });

  it("reaches the page by every parameter", () => {
    const rewritten = config.matcher.flatMap((one) =>
      typeof one === "object" && one.source === "/" ? one.has.map(({ key }) => key) : [],
    );
    expect(viewKeys.filter((key) => !["x", "tasks"].includes(key) && !rewritten.includes(key))).toEqual([]);
  });

  it("says what a form sent, less what is empty or the default", () => {
    const sent = new URLSearchParams("model=&organization=&tier=signed&tier=verified&cols=&cols=time&cols=cost");
    expect(isFormQuery(sent)).toBe(true);
    expect(viewHref(parseView(sent))).toBe("/?tier=signed,verified&cols=time,cost");
    expect(viewHref(parseView(new URLSearchParams("cols=")))).toBe("/?cols=none");
    expect(isFormQuery(new URLSearchParams("tier=signed,verified&cols=time,cost"))).toBe(false);
    const defaults = new URLSearchParams(defaultView.columns.map((key) => ["cols", key]));
    expect(viewHref(parseView(defaults))).toBe("/");
    expect(parseView(new URLSearchParams("cols=nonsense&tier=nonsense&page=0"))).toEqual(defaultView);
  });

  it("begins at the first page when something else changes", () => {
    expect(changedHref({ ...defaultView, page: 3 }, { category: "rl" })).toBe("/?category=rl");
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
