import type { BoardRow } from "@/lib/contract/api";
import type { SortKey } from "./board-view";

/** A sortable column of figures: what its header says, what the figure means, and whether a row has one. */
export interface BoardColumn {
  key: SortKey;
  label: string;
  /** The figure in running text. */
  name: string;
  unit: string | null;
  meaning: string;
  value: (row: BoardRow) => number | null;
  decimals: number;
}

/** Columns of single figures, in their order, right of the bar and the strip. */
const figureColumns: readonly BoardColumn[] = [
  {
    key: "official",
    label: "Official",
    name: "resolved with official tests alone",
    unit: "%",
    meaning: "Tasks on which every official test passes, per cent: what the row would resolve without probes.",
    value: (row) => row.officialResolved?.pct ?? null,
    decimals: 1,
  },
  {
    key: "rejected",
    label: "Rejected",
    name: "share rejected by probes",
    unit: "%",
    meaning: "Of the tasks on which every official test passes, those that the probes reject, per cent.",
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
    meaning: "Required tests that pass on a task, per cent, averaged over the suite's tasks.",
    value: (row) => row.passedPct,
    decimals: 1,
  },
  {
    key: "time",
    label: "Time",
    name: "time",
    unit: "min",
    meaning: "The agent's run time, minutes, mean per task. Lower is better.",
    value: (row) => row.timeMin,
    decimals: 0,
  },
  {
    key: "cost",
    label: "Cost",
    name: "cost",
    unit: "$",
    meaning: "API cost at list prices, US dollars, mean per task. Lower is better.",
    value: (row) => row.costUsd,
    decimals: 2,
  },
  {
    key: "tokens",
    label: "Tokens",
    name: "tokens",
    unit: "M",
    meaning: "Tokens consumed, cached input included, millions, mean per task. Lower is better.",
    value: (row) => row.tokensM,
    decimals: 1,
  },
  {
    key: "steps",
    label: "Steps",
    name: "steps",
    unit: null,
    meaning: "Completed model turns, mean per task. Lower is better.",
    value: (row) => row.steps,
    decimals: 0,
  },
];

/** Splits the figure columns into those that some row fills and those that none does. */
export function columnsOf(rows: readonly BoardRow[]): { shown: BoardColumn[]; empty: BoardColumn[] } {
  const filled = (column: BoardColumn) => rows.some((row) => column.value(row) !== null);
  return {
    shown: figureColumns.filter(filled),
    empty: figureColumns.filter((column) => !filled(column)),
  };
}
