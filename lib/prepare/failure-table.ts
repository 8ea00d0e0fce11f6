import type {
  FailureFilter,
  FailureGroup,
  FailureGrouping,
  FailureOverview,
  FailureTally,
} from "@/lib/contract/failures-api";
import { countWord, formatPctUnit, plural } from "@/lib/format/numbers";

/** A publication's table of the taxonomy, as printed: rows by `class.type`, the sum of a class by `class.any`. */
export interface PublishedTaxonomy {
  title: string;
  url: string;
  missing: string[];
  columns: { key: string; label: string }[];
  rows: { key: string; label: string; cells: Record<string, string> }[];
}

interface Publication {
  source: { title: string; url: string };
  tables: {
    key: string;
    missing: string[];
    columns: { key: string }[];
    rows: { key: string; label: string; cells: Record<string, { printed: string }> }[];
  }[];
}

const columnLabels: Record<string, string> = { "megatron-lm": "Megatron-LM", verl: "verl", vllm: "vLLM", all: "All" };

/** The published table of the taxonomy; null where no publication here has one. */
export function publishedTaxonomyOf(publications: readonly Publication[]): PublishedTaxonomy | null {
  for (const { source, tables } of publications) {
    const table = tables.find(({ key }) => key === "table7");
    if (!table) continue;
    return {
      title: source.title,
      url: source.url,
      missing: table.missing,
      columns: table.columns.map(({ key }) => ({ key, label: columnLabels[key] ?? key })),
      rows: table.rows.map(({ key, label, cells }) => ({
        key,
        label,
        cells: Object.fromEntries(Object.entries(cells).map(([column, { printed }]) => [column, printed])),
      })),
    };
  }
  return null;
}

/** A row of the taxonomy's table: a type, or the attempts with any failure of a class. */
export interface TaxonomyRow {
  key: string;
  class: string;
  /** Null: any of the class. */
  type: string | null;
  label: string;
  meaning: string | null;
  /** Distinct attempts, by column in the order of `TaxonomyTable.columns`. */
  counts: number[];
  total: number;
  /** Of the failing attempts, in per cent; null where none fails. */
  pct: number | null;
  /** As printed by column; null where the publication has no such row. */
  published: Record<string, string> | null;
}

export interface TaxonomyTable {
  columns: { key: string; label: string; failing: number }[];
  rows: TaxonomyRow[];
}

/** Repositories that are columns of their own; the others count in the sum only. */
const mostColumns = 5;

const attemptsOf = (tally: FailureTally, of: { class: string; type: string | null }): number =>
  (of.type === null
    ? tally.classes.find((one) => one.class === of.class)
    : tally.types.find((one) => one.class === of.class && one.type === of.type)
  )?.attempts ?? 0;

/** Counts of distinct attempts by type and repository, with the published figures of the same row. */
export function taxonomyTable(overview: FailureOverview, published: PublishedTaxonomy | null): TaxonomyTable {
  const groups = (overview.groups.repository ?? []).slice(0, mostColumns);
  const { total } = overview;
  const rowOf = (one: { class: string; type: string | null; label: string; meaning: string | null }): TaxonomyRow => {
    const key = `${one.class}.${one.type ?? "any"}`;
    const attempts = attemptsOf(total, one);
    return {
      ...one,
      key,
      counts: groups.map((group) => attemptsOf(group, one)),
      total: attempts,
      pct: total.failing === 0 ? null : (100 * attempts) / total.failing,
      published: published?.rows.find((row) => row.key === key)?.cells ?? null,
    };
  };
  const titles = new Map(overview.taxonomy.types.map((type) => [`${type.class}.${type.type}`, type]));
  const rows = total.classes.flatMap(({ class: name }) => {
    const types = total.types.filter((type) => type.class === name);
    const ofTypes = types.map(({ class: of, type }) => {
      const known = titles.get(`${of}.${type}`);
      return rowOf({ class: of, type, label: known?.title ?? type, meaning: known?.meaning ?? null });
    });
    return types.length > 1
      ? [...ofTypes, rowOf({ class: name, type: null, label: `Any ${name} failure`, meaning: null })]
      : ofTypes;
  });
  return {
    columns: groups.map(({ key, label, failing }) => ({ key, label, failing })),
    rows,
  };
}

/** How dark a cell of the heat table is: 0 for none, else 1 to 5 by its share of the greatest. */
export function heatLevel(count: number, greatest: number): number {
  return count <= 0 || greatest <= 0 ? 0 : Math.max(1, Math.min(5, Math.ceil((5 * count) / greatest)));
}

/** Entries by types: failing ones first. */
export function heatRows(overview: FailureOverview): { groups: FailureGroup[]; greatest: number } {
  const groups = [...(overview.groups.entry ?? [])].sort((a, b) => b.failing - a.failing);
  return { groups, greatest: Math.max(0, ...groups.flatMap(({ types }) => types.map(({ attempts }) => attempts))) };
}

/** The filter that a group stands for. */
export function groupFilter(by: FailureGrouping, key: string): FailureFilter {
  return { [by]: key } as FailureFilter;
}

/** What the counts say, in two sentences. */
export function failuresLead({ total, entryKind, suites, filter }: FailureOverview): string {
  const whose = entryKind === "model" ? "models" : "reference patch sets";
  const filtered = Object.keys(filter).some((key) => key !== "entryKind");
  if (suites.length === 0 || total.graded === 0)
    return filtered
      ? `No graded attempt of ${whose} is let through by these filters.`
      : `No attempt of ${whose} is graded here yet.`;
  const of = `${countWord(total.graded)} graded ${plural(total.graded, "attempt")} of ${whose}`;
  if (total.failing === 0)
    return `None of ${of} ${filtered ? "fails in a way that these filters let through" : "has failed"}.`;
  const most = [...total.classes]
    .filter(({ class: name }) => name !== "unclassified")
    .sort((a, b) => b.attempts - a.attempts)[0];
  const share =
    most && most.attempts > 0 && most.pct !== null
      ? `; ${formatPctUnit(most.pct)} of these in a ${most.class} way`
      : "";
  const text = `${countWord(total.failing)} of ${of} ${plural(total.failing, "fails", "fail")}${share}.`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
