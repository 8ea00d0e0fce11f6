import type { Board } from "@/lib/contract/api";
import { displayNameSchema, slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import {
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
  tiers,
} from "@/lib/contract/vocabulary";
import { figureOf } from "./board-columns";

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
 * What a leaderboard's address asks for. `suite` null is the site's first suite, `version` null its newest, `pareto`
 * null the ranking as a table.
 */
export interface BoardView {
  suite: string | null;
  version: string | null;
  condition: PromptCondition;
  skill: string | null;
  category: Category | null;
  sort: SortKey;
  direction: SortDirection;
  pareto: ParetoAxis | null;
}

export const defaultView: BoardView = {
  suite: null,
  version: null,
  condition: "interface",
  skill: null,
  category: null,
  sort: "resolved",
  direction: "desc",
  pareto: null,
};

const wordIn = <T extends string>(words: readonly T[], value: string | null): T | null =>
  words.find((word) => word === value) ?? null;

/** The value if the names of a suite, a version or a skill may be spelled so, else null: no other reaches the database. */
function nameOf(
  schema: typeof slugSchema | typeof suiteVersionSchema | typeof displayNameSchema,
  value: string | null,
) {
  const parsed = schema.safeParse(value);
  // nothing but dots would climb in the internal path
  return parsed.success && !/^\.+$/.test(parsed.data) ? parsed.data : null;
}

/**
 * Reads a view from query parameters. Words that are none of ours fall back to the default, as do names that no suite,
 * version or skill can have.
 */
export function parseView(query: URLSearchParams): BoardView {
  const sort = wordIn(sortKeys, query.get("sort")) ?? defaultView.sort;
  return {
    suite: nameOf(slugSchema, query.get("suite")),
    version: nameOf(suiteVersionSchema, query.get("version")),
    condition: wordIn(promptConditions, query.get("condition")) ?? defaultView.condition,
    skill: nameOf(displayNameSchema, query.get("skill")),
    category: wordIn(categories, query.get("category")),
    sort,
    direction: wordIn(sortDirections, query.get("dir")) ?? firstDirection[sort],
    pareto: query.get("view") === "pareto" ? (wordIn(paretoAxes, query.get("x")) ?? paretoAxes[0]) : null,
  };
}

/** The address of a view on `/`: only what differs from the default stands in it. */
export function viewHref(view: BoardView): string {
  const query = new URLSearchParams();
  if (view.suite) query.set("suite", view.suite);
  if (view.version) query.set("version", view.version);
  if (view.condition !== defaultView.condition) query.set("condition", view.condition);
  if (view.skill) query.set("skill", view.skill);
  if (view.category) query.set("category", view.category);
  if (view.sort !== defaultView.sort) query.set("sort", view.sort);
  if (view.direction !== firstDirection[view.sort]) query.set("dir", view.direction);
  if (view.pareto) query.set("view", "pareto");
  if (view.pareto && view.pareto !== paretoAxes[0]) query.set("x", view.pareto);
  const text = query.toString();
  return text ? `/?${text}` : "/";
}

const absent = "-";

/**
 * The internal path under which a view is rendered and cached as a page of its own, since a page that reads its query
 * cannot be prerendered. `proxy.ts` rewrites `/?...` to it.
 */
export function viewPath(view: BoardView): string {
  const part = (value: string | null) => encodeURIComponent(value ?? absent);
  return `/board/${[
    part(view.suite),
    part(view.version),
    view.condition,
    part(view.skill),
    view.category ?? absent,
    view.sort,
    view.direction,
    view.pareto ?? absent,
  ].join("/")}`;
}

function decodedSegments(segments: readonly string[]): string[] | null {
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return null;
  }
}

/**
 * Reads the segments of `viewPath`; null where they are not what it writes, so that no view has a second path to be
 * kept under.
 */
export function parseViewPath(segments: readonly string[]): BoardView | null {
  const words = decodedSegments(segments);
  if (!words) return null;
  const [suite, version, condition, skill, category, sort, direction, pareto] = words.map((word) =>
    word === absent ? null : word,
  );
  const knownCondition = wordIn(promptConditions, condition ?? null);
  const knownSort = wordIn(sortKeys, sort ?? null);
  const knownDirection = wordIn(sortDirections, direction ?? null);
  if (!knownCondition || !knownSort || !knownDirection) return null;
  const view: BoardView = {
    suite: nameOf(slugSchema, suite ?? null),
    version: nameOf(suiteVersionSchema, version ?? null),
    condition: knownCondition,
    skill: nameOf(displayNameSchema, skill ?? null),
    category: wordIn(categories, category ?? null),
    sort: knownSort,
    direction: knownDirection,
    pareto: wordIn(paretoAxes, pareto ?? null),
  };
  const written = decodedSegments(viewPath(view).split("/").slice(2));
  return written?.length === words.length && written.every((word, index) => word === words[index]) ? view : null;
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
