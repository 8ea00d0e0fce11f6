import type { Board } from "@/lib/contract/api";
import { displayNameSchema, slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import {
  type BoardColumnKey,
  type BoardTests,
  boardColumns,
  boardTests,
  type Category,
  categories,
  type ParetoAxis,
  type PromptCondition,
  paretoAxes,
  promptConditions,
  type SortDirection,
  type SortKey,
  sortDirections,
  sortKeys,
  type TaskChoice,
  taskChoices,
  tiers,
} from "@/lib/contract/vocabulary";
import { figureOf } from "./board-columns";
import { type BoardFilters, filterQuery, noFilters, parseFilters } from "./board-filters";

/** Direction of a column's first sort: lower-is-better columns and names ascend. */
export const firstDirection: Record<SortKey, SortDirection> = {
  resolved: "desc",
  model: "asc",
  official: "desc",
  rejected: "asc",
  training: "desc",
  inference: "desc",
  rl: "desc",
  passed: "desc",
  time: "asc",
  cost: "asc",
  tokens: "asc",
  steps: "asc",
  evidence: "desc",
  date: "desc",
};

/**
 * What a leaderboard's address asks for. `suite` null is the site's first suite, `version` null its newest. Of `pareto`
 * and `matrix` one is set at most; both null is the ranking as a table.
 */
export interface BoardView {
  suite: string | null;
  version: string | null;
  condition: PromptCondition;
  skill: string | null;
  category: Category | null;
  /** The tests that the board ranks by. */
  tests: BoardTests;
  sort: SortKey;
  direction: SortDirection;
  pareto: ParetoAxis | null;
  /** Entries by tasks: which tasks. */
  matrix: TaskChoice | null;
  /** Columns shown beside rank set, model and % resolved, in their fixed order. */
  columns: readonly BoardColumnKey[];
  filters: BoardFilters;
  /** From 1. */
  page: number;
}

/** All but two: the date stands under the evidence, and the official share behind the bar. */
export const defaultColumns: readonly BoardColumnKey[] = boardColumns.filter(
  (key) => key !== "date" && key !== "official",
);

export const defaultView: BoardView = {
  suite: null,
  version: null,
  condition: "interface",
  skill: null,
  category: null,
  tests: "all",
  sort: "resolved",
  direction: "desc",
  pareto: null,
  matrix: null,
  columns: defaultColumns,
  filters: noFilters,
  page: 1,
};

const wordIn = <T extends string>(words: readonly T[], value: string | null): T | null =>
  words.find((word) => word === value) ?? null;

/** The value if the names of a suite, a version or a skill may be spelled so, else null: no other reaches the database. */
function nameOf(
  schema: typeof slugSchema | typeof suiteVersionSchema | typeof displayNameSchema,
  value: string | null,
) {
  const parsed = schema.safeParse(value);
  return parsed.success && !/^\.+$/.test(parsed.data) ? parsed.data : null;
}

/** `cols=time,cost`, or once for each as a form sends it. An empty value is no column, so that none can be chosen. */
function parseColumns(query: URLSearchParams): readonly BoardColumnKey[] {
  if (!query.has("cols")) return defaultColumns;
  const named = query.getAll("cols").flatMap((value) => value.split(","));
  const chosen = boardColumns.filter((key) => named.includes(key));
  const isMeant = chosen.length > 0 || named.every((word) => word === "" || word === noColumns);
  const isDefault = chosen.length === defaultColumns.length && chosen.every((key) => defaultColumns.includes(key));
  return !isMeant || isDefault ? defaultColumns : chosen;
}

/** Stands in an address for no column at all. */
const noColumns = "none";

/**
 * Reads a view from query parameters. Words that are none of ours fall back to the default, as do names that no suite,
 * version or skill can have.
 */
export function parseView(query: URLSearchParams): BoardView {
  const sort = wordIn(sortKeys, query.get("sort")) ?? defaultView.sort;
  const form = query.get("view");
  const page = /^[1-9]\d{0,3}$/.exec(query.get("page") ?? "")?.[0];
  return {
    suite: nameOf(slugSchema, query.get("suite")),
    version: nameOf(suiteVersionSchema, query.get("version")),
    condition: wordIn(promptConditions, query.get("condition")) ?? defaultView.condition,
    skill: nameOf(displayNameSchema, query.get("skill")),
    category: wordIn(categories, query.get("category")),
    tests: wordIn(boardTests, query.get("tests")) ?? defaultView.tests,
    sort,
    direction: wordIn(sortDirections, query.get("dir")) ?? firstDirection[sort],
    pareto: form === "pareto" ? (wordIn(paretoAxes, query.get("x")) ?? paretoAxes[0]) : null,
    matrix: form === "matrix" ? (wordIn(taskChoices, query.get("tasks")) ?? taskChoices[0]) : null,
    columns: parseColumns(query),
    filters: parseFilters(query),
    page: page && form !== "pareto" ? Number(page) : 1,
  };
}

/** The query parameters of a view, in a fixed order: only what differs from the default stands in it. */
export function viewQuery(view: BoardView): [string, string][] {
  const given: [string, string | false | null][] = [
    ["suite", view.suite],
    ["version", view.version],
    ["condition", view.condition !== defaultView.condition && view.condition],
    ["skill", view.skill],
    ["category", view.category],
    ["tests", view.tests !== defaultView.tests && view.tests],
    ...filterQuery(view.filters),
    ["sort", view.sort !== defaultView.sort && view.sort],
    ["dir", view.direction !== firstDirection[view.sort] && view.direction],
    ["cols", !isDefaultColumns(view.columns) && (view.columns.join(",") || noColumns)],
    ["view", view.pareto ? "pareto" : view.matrix && "matrix"],
    ["x", view.pareto !== paretoAxes[0] && view.pareto],
    ["tasks", view.matrix !== taskChoices[0] && view.matrix],
    ["page", view.page > 1 && String(view.page)],
  ];
  return given.flatMap(([key, value]) => (value ? [[key, value]] : []));
}

const isDefaultColumns = (columns: readonly BoardColumnKey[]) => columns.join() === defaultColumns.join();

/** Parameters that can have any number of values. */
const freeKeys = ["model", "organization", "agent", "effort", "tier", "data", "configuration", "cols"] as const;

/** A comma needs no escape in a query, and lists are read by people. */
const queryText = (parts: [string, string][]) => new URLSearchParams(parts).toString().replaceAll("%2C", ",");

/** The address of a view on `/`. */
export function viewHref(view: BoardView): string {
  const text = queryText(viewQuery(view));
  return text ? `/?${text}` : "/";
}

/** The address of a view with something else in it: from its first page on. */
export function changedHref(view: BoardView, change: Partial<BoardView>): string {
  return viewHref({ ...view, page: 1, ...change });
}

/** The address under which search engines keep a view: its order, columns and filters make no other page. */
export function canonicalHref(view: BoardView): string {
  const { filters, sort, direction, columns } = defaultView;
  return viewHref({ ...view, filters, sort, direction, columns });
}

/** Every parameter of a board's address. */
export const viewKeys = [
  ...["suite", "version", "condition", "skill", "category", "tests", "sort", "dir", "view", "x", "tasks", "page"],
  ...freeKeys,
] as const;

/** Whether a form sent this query: it holds empty fields and one field for each box, which an address leaves out. */
export function isFormQuery(query: URLSearchParams): boolean {
  return viewKeys.some((key) => {
    const values = query.getAll(key);
    return values.length > 1 || values.includes("");
  });
}

/** Longest piece of a page's internal path: a page is kept as a file, and names of files end at 255 bytes. */
const pieceLength = 120;

/**
 * The internal path under which a view is rendered and cached as a page of its own, since a page that reads its query
 * cannot be prerendered: the query, in pieces that each begin with `-`, its escapes written with `~`. What has no end of
 * values stands first, which tells the page cache not to keep a file. `proxy.ts` rewrites `/?...` to it.
 */
export function viewPath(view: BoardView): string {
  const parts = viewQuery(view);
  const isFree = ([key]: [string, string]) => freeKeys.some((free) => free === key);
  const query = queryText([...parts.filter(isFree), ...parts.filter((part) => !isFree(part))]).replaceAll("%", "~");
  const pieces = query.match(new RegExp(`.{1,${pieceLength}}`, "g")) ?? [""];
  return `/board/${pieces.map((piece) => `-${piece}`).join("/")}`;
}

/**
 * Reads the segments of `viewPath`; null where they are not what it writes, so that no view has a second path to be
 * kept under.
 */
export function parseViewPath(segments: readonly string[]): BoardView | null {
  try {
    const words = segments.map((segment) => decodeURIComponent(segment));
    const query = words.map((word) => word.slice(1)).join("");
    const view = parseView(new URLSearchParams(query.replaceAll("~", "%")));
    return viewPath(view) === `/board/${words.join("/")}` ? view : null;
  } catch {
    return null;
  }
}

type Row = Board["rows"][number];

function sortValue(row: Row, sort: SortKey, category: Category | null): number | string | null {
  switch (sort) {
    case "resolved":
      return figureOf(row, category ?? sort);
    case "model":
      return row.entry.model.toLowerCase();
    case "evidence":
      return tiers.indexOf(row.tier);
    case "date":
      return row.date;
    default:
      return figureOf(row, sort);
  }
}

/**
 * Rows in a view's order. Missing values stand last in either direction, provisional rows after ranked ones, and rows
 * that are level keep the board's own order.
 */
export function sortRows(rows: readonly Row[], view: Pick<BoardView, "sort" | "direction" | "category">): Row[] {
  const sign = view.direction === "asc" ? 1 : -1;
  return rows
    .map((row, index) => ({ row, index, value: sortValue(row, view.sort, view.category) }))
    .sort((a, b) => {
      if (a.row.provisional !== b.row.provisional) return a.row.provisional ? 1 : -1;
      if (a.value === null || b.value === null) {
        return a.value === b.value ? a.index - b.index : a.value === null ? 1 : -1;
      }
      if (a.value === b.value) return a.index - b.index;
      return a.value < b.value ? -sign : sign;
    })
    .map(({ row }) => row);
}
