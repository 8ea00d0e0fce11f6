import type { Board, BoardRow, Share } from "@/lib/contract/api";
import { type BoardColumnKey, boardColumns, type Category, categories, type SortKey } from "@/lib/contract/vocabulary";
import { categoryLabels } from "./labels";
import { metricMeaning } from "./metrics";

/** Columns whose cells are numbers. */
export type FigureKey = Exclude<SortKey, "model" | "evidence" | "date">;

/** A sortable column of figures: what its header says, what the figure means, and whether a row has one. */
export interface BoardColumn {
  key: FigureKey;
  label: string;
  /** The figure in running text. */
  name: string;
  unit: string | null;
  meaning: string;
  value: (row: BoardRow) => number | null;
  decimals: number;
}

const shareOf = (row: BoardRow, key: "resolved" | Category): Share | null =>
  key === "resolved" ? row.resolved : (row.byCategory.find(({ category }) => category === key)?.share ?? null);

/** A column of shares: of the whole suite, or of one category. */
export interface ShareColumn extends BoardColumn {
  key: "resolved" | Category;
  unit: "%";
  share: (row: BoardRow) => Share | null;
}

const shareColumn = (key: ShareColumn["key"], label: string, meaning: string): ShareColumn => ({
  key,
  label,
  name: key === "resolved" ? "% resolved" : `% resolved of ${label}`,
  unit: "%",
  meaning,
  share: (row) => shareOf(row, key),
  value: (row) => shareOf(row, key)?.pct ?? null,
  decimals: 1,
});

/** What the board ranks by. */
export const resolvedColumn = shareColumn("resolved", "Resolved", metricMeaning("resolved"));

/** One column for each category of the suite. */
export function categoryColumns(suite: Board["suite"]): ShareColumn[] {
  return suite.categoryCounts.map(({ category, count }) =>
    shareColumn(
      category,
      categoryLabels[category],
      `Resolved share of the ${count} ${categoryLabels[category]} tasks, per cent.`,
    ),
  );
}

/** Columns of single figures, in their order, right of the bar and the strip. */
export const figureColumns: readonly BoardColumn[] = [
  {
    key: "official",
    label: "Official",
    name: "resolved with official tests alone",
    unit: "%",
    meaning: metricMeaning("official"),
    value: (row) => row.officialResolved?.pct ?? null,
    decimals: 1,
  },
  {
    key: "rejected",
    label: "Rejected",
    name: "share rejected by probes",
    unit: "%",
    meaning: metricMeaning("rejected"),
    value: (row) =>
      row.probeRejected && row.probeRejected.officialResolved > 0
        ? (100 * row.probeRejected.rejected) / row.probeRejected.officialResolved
        : null,
    decimals: 1,
  },
  {
    key: "passed",
    label: "Passed",
    name: "% passed",
    unit: "%",
    meaning: metricMeaning("passed"),
    value: (row) => row.passedPct,
    decimals: 1,
  },
  {
    key: "time",
    label: "Time",
    name: "time",
    unit: "min",
    meaning: metricMeaning("time"),
    value: (row) => row.timeMin,
    decimals: 0,
  },
  {
    key: "cost",
    label: "Cost",
    name: "cost",
    unit: "$",
    meaning: metricMeaning("cost"),
    value: (row) => row.costUsd,
    decimals: 2,
  },
  {
    key: "tokens",
    label: "Tokens",
    name: "tokens",
    unit: "M",
    meaning: metricMeaning("tokens"),
    value: (row) => row.tokensM,
    decimals: 1,
  },
  {
    key: "steps",
    label: "Steps",
    name: "steps",
    unit: null,
    meaning: metricMeaning("steps"),
    value: (row) => row.steps,
    decimals: 0,
  },
];

/** Figure columns that are chosen, split into those that some row fills and those that none does. */
export function columnsOf(
  rows: readonly BoardRow[],
  chosen: readonly string[] = figureColumns.map(({ key }) => key),
): { shown: BoardColumn[]; empty: BoardColumn[] } {
  const columns = figureColumns.filter(({ key }) => chosen.includes(key));
  const filled = (column: BoardColumn) => rows.some((row) => column.value(row) !== null);
  return { shown: columns.filter(filled), empty: columns.filter((column) => !filled(column)) };
}

const plainColumns: Partial<Record<BoardColumnKey, string>> = {
  interval: "bar with 95 % interval",
  tasks: "tasks by category",
  evidence: "evidence",
  date: "date",
};

/** The columns that a reader of a board can choose: those that some row of it fills, in their order. */
export function columnChoices(board: Board): { key: BoardColumnKey; name: string }[] {
  const rows = board.rows.length > 0 ? board.rows : board.references;
  const figures = [...categoryColumns(board.suite), ...columnsOf(rows).shown];
  return boardColumns.flatMap((key) => {
    const name = plainColumns[key] ?? figures.find((column) => column.key === key)?.name;
    return name ? [{ key, name }] : [];
  });
}

const figureReaders = new Map<string, BoardColumn["value"]>([
  ["resolved", resolvedColumn.value],
  ...categories.map((category) => [category, (row: BoardRow) => shareOf(row, category)?.pct ?? null] as const),
  ...figureColumns.map((column) => [column.key, column.value] as const),
]);

/** A row's figure in a column, null where it has none. */
export function figureOf(row: BoardRow, key: FigureKey): number | null {
  return figureReaders.get(key)?.(row) ?? null;
}
