import type { Board, BoardRow } from "@/lib/contract/api";
import { displayNameSchema } from "@/lib/contract/scalars";
import { type Tier, tiers } from "@/lib/contract/vocabulary";
import { customReasons } from "./entry-custom";

/** Filters that hold one name out of the rows' own. */
const nameFilters = ["organization", "agent", "effort"] as const;
type NameFilter = (typeof nameFilters)[number];

/** Which of a board's rows are shown. Null, and no tier, mean every row; rank sets know nothing of filters. */
export interface BoardFilters extends Record<NameFilter, string | null> {
  /** Part of the model's name, in any case. */
  model: string | null;
  /** Rows of these tiers; of any where none stands here. */
  tiers: readonly Tier[];
  /** Rows with per-task data only. */
  perTask: boolean;
  /** Rows whose configuration is the suite's standard, or is not. */
  configuration: "standard" | "custom" | null;
}

export const noFilters: BoardFilters = {
  model: null,
  organization: null,
  agent: null,
  effort: null,
  tiers: [],
  perTask: false,
  configuration: null,
};

function nameIn(query: URLSearchParams, key: string): string | null {
  const parsed = displayNameSchema.safeParse(query.get(key)?.trim());
  return parsed.success ? parsed.data : null;
}

/** Reads filters from query parameters; what is none of their words is no filter. */
export function parseFilters(query: URLSearchParams): BoardFilters {
  const named = query.getAll("tier").flatMap((value) => value.split(","));
  const chosen = tiers.filter((tier) => named.includes(tier));
  const configuration = query.get("configuration");
  return {
    model: nameIn(query, "model"),
    organization: nameIn(query, "organization"),
    agent: nameIn(query, "agent"),
    effort: nameIn(query, "effort"),
    tiers: chosen.length === tiers.length ? [] : chosen,
    perTask: query.get("data") === "per-task",
    configuration: configuration === "standard" || configuration === "custom" ? configuration : null,
  };
}

/** Query parameters of filters, in a fixed order; those that are not set are left out. */
export function filterQuery(filters: BoardFilters): [string, string][] {
  const given: [string, string | null][] = [
    ["model", filters.model],
    ["organization", filters.organization],
    ["agent", filters.agent],
    ["effort", filters.effort],
    ["tier", filters.tiers.length > 0 ? filters.tiers.join(",") : null],
    ["data", filters.perTask ? "per-task" : null],
    ["configuration", filters.configuration],
  ];
  return given.flatMap(([key, value]) => (value === null ? [] : [[key, value]]));
}

/** Whether a row differs from its suite's standard configuration, as far as both state it. */
function isCustom(row: Pick<BoardRow, "entry">, suite: Board["suite"]): boolean {
  return customReasons(row.entry, suite.standard).length > 0;
}

const nameOf: Record<NameFilter, (row: BoardRow) => string | null> = {
  organization: (row) => row.organization,
  agent: (row) => row.entry.agent,
  effort: (row) => row.entry.reasoningEffort,
};

/** The rows that filters let through, in the order given. */
export function filterRows(rows: readonly BoardRow[], filters: BoardFilters, suite: Board["suite"]): BoardRow[] {
  const model = filters.model?.toLowerCase();
  return rows.filter(
    (row) =>
      (!model || row.entry.model.toLowerCase().includes(model)) &&
      nameFilters.every((key) => filters[key] === null || nameOf[key](row) === filters[key]) &&
      (filters.tiers.length === 0 || filters.tiers.includes(row.tier)) &&
      (!filters.perTask || row.tasks !== null) &&
      (filters.configuration === null || isCustom(row, suite) === (filters.configuration === "custom")),
  );
}

/** A filter that is set: what it says, and the filters without it. */
export interface ActiveFilter {
  key: string;
  label: string;
  value: string;
  without: BoardFilters;
}

/** The filters that are set, each with what remains when it is taken away. */
export function activeFilters(filters: BoardFilters): ActiveFilter[] {
  const one = (key: string, label: string, value: string | null, change: Partial<BoardFilters>): ActiveFilter[] =>
    value === null ? [] : [{ key, label, value, without: { ...filters, ...change } }];
  return [
    ...one("model", "Model contains", filters.model, { model: null }),
    ...one("organization", "Organization", filters.organization, { organization: null }),
    ...one("agent", "Agent", filters.agent, { agent: null }),
    ...one("effort", "Effort", filters.effort, { effort: null }),
    ...filters.tiers.flatMap((tier) =>
      one(`tier-${tier}`, "Evidence", tier, { tiers: filters.tiers.filter((other) => other !== tier) }),
    ),
    ...one("data", "Data", filters.perTask ? "per task" : null, { perTask: false }),
    ...one("configuration", "Configuration", filters.configuration, { configuration: null }),
  ];
}

/** A value that a filter can take, with the rows of the whole board that have it. */
export interface FilterOption {
  value: string;
  count: number;
}

/** What a board's rows offer to filter by. A list with fewer than two values decides nothing and is empty. */
export interface FilterOptions extends Record<NameFilter, FilterOption[]> {
  tiers: (FilterOption & { value: Tier })[];
  /** Rows with per-task data; null where all or none have it. */
  perTask: number | null;
  /** Rows that differ from the suite's standard; null where all or none do. */
  custom: number | null;
}

function counted(values: readonly (string | null)[]): FilterOption[] {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  const options = [...counts].map(([value, count]) => ({ value, count }));
  const decides = options.length > 1 || options.some(({ count }) => count < values.length);
  return decides ? options.sort((a, b) => a.value.localeCompare(b.value, "en", { numeric: true })) : [];
}

const some = (count: number, of: number) => (count > 0 && count < of ? count : null);

/** Everything that the rows of a board can be filtered by. */
export function filterOptions({ rows, suite }: Board): FilterOptions {
  const byTier = tiers
    .map((value) => ({ value, count: rows.filter((row) => row.tier === value).length }))
    .filter(({ count }) => count > 0);
  return {
    organization: counted(rows.map(nameOf.organization)),
    agent: counted(rows.map(nameOf.agent)),
    effort: counted(rows.map(nameOf.effort)),
    tiers: byTier.length > 1 ? byTier : [],
    perTask: some(rows.filter((row) => row.tasks).length, rows.length),
    custom: some(rows.filter((row) => isCustom(row, suite)).length, rows.length),
  };
}
