import type { Board, BoardAnswer, BoardRow } from "@/lib/contract/api";
import { boardColumns } from "@/lib/contract/vocabulary";
import { formatNumber, formatRankSet } from "@/lib/format/numbers";
import { csvText, markdownRow, markdownText } from "@/lib/format/tables";
import { formatDay } from "@/lib/format/times";
import { type BoardColumn, categoryColumns, columnsOf, figureColumns, resolvedColumn } from "./board-columns";
import { filterQuery } from "./board-filters";
import { matrixChoice, prepareMatrix } from "./board-matrix";
import { prepareShown, type ShownBoard } from "./board-shown";
import { type BoardView, defaultColumns } from "./board-view";
import { preparePareto } from "./pareto";

type Value = string | number | null;

/** A column of the board as data: its key in CSV and JSON, and a row's value in it, unrounded. */
interface TableColumn {
  key: string;
  label: string;
  unit: string | null;
  meaning: string;
  value: (row: BoardRow) => Value;
}

const plain = (key: string, label: string, meaning: string, value: (row: BoardRow) => Value): TableColumn => ({
  key,
  label,
  unit: null,
  meaning,
  value,
});

const unitWords: Readonly<Record<string, string>> = { "%": "pct", $: "usd", M: "m", min: "min" };

const figure = ({ key, label, unit, meaning, value }: BoardColumn): TableColumn => ({
  key: unit ? `${key}_${unitWords[unit] ?? unit}` : key,
  label,
  unit,
  meaning,
  value,
});

const identity = [
  plain("rank_best", "Rank set, best", "Best place that the data leave open.", (row) => row.rankSet?.[0] ?? null),
  plain("rank_worst", "Rank set, worst", "Worst place that the data leave open.", (row) => row.rankSet?.[1] ?? null),
  plain("kind", "Kind", "A model's entry, or a reference patch set, which is never ranked.", (row) => row.entry.kind),
  plain("model", "Model", "The model.", (row) => row.entry.model),
  plain("agent", "Agent", "What drives the model.", (row) => row.entry.agent),
  plain("agent_version", "Agent version", "Version of the agent.", (row) => row.entry.agentVersion),
  plain("effort", "Effort", "Reasoning effort.", (row) => row.entry.reasoningEffort),
] as const;

const counts = [
  plain("resolved", "Resolved, count", "Tasks resolved, where counts are known.", (row) => row.resolved.resolved),
  plain("tasks", "Tasks", "Tasks of the suite.", (row) => row.resolved.total),
  plain(
    "interval_low_pct",
    "Interval, low",
    "Lower end of the Wilson 95 % interval of % resolved.",
    (row) => row.resolved.interval?.[0] ?? null,
  ),
  plain(
    "interval_high_pct",
    "Interval, high",
    "Upper end of the Wilson 95 % interval of % resolved.",
    (row) => row.resolved.interval?.[1] ?? null,
  ),
] as const;

const officialRanks = [
  plain(
    "official_rank_best",
    "Rank set by official tests, best",
    "Best place that the data leave open, by official tests alone.",
    (row) => row.officialRankSet?.[0] ?? null,
  ),
  plain(
    "official_rank_worst",
    "Rank set by official tests, worst",
    "Worst place that the data leave open, by official tests alone.",
    (row) => row.officialRankSet?.[1] ?? null,
  ),
] as const;

const provenance = [
  plain("evidence", "Evidence", "What the row rests on: reported, signed, verified, reproduced.", (row) => row.tier),
  plain("provisional", "Provisional", "Whether a host's fault awaits its rerun.", (row) =>
    row.provisional ? "yes" : "no",
  ),
  plain("not_graded", "Not graded", "Tasks without a grading.", (row) => row.missing),
  plain("organization", "Organization", "Who submitted the row.", (row) => row.organization),
  plain("date", "Date", "Date of the row, in UTC.", (row) => formatDay(row.date)),
  plain("submission", "Submission", "Id of the submission.", (row) => row.submissionId),
] as const;

/** The columns that a reader chose; every column where the reader did not. */
const dataColumns = ({ columns }: BoardView) => (columns.join() === defaultColumns.join() ? boardColumns : columns);

function tableColumns(board: Board, view: BoardView): TableColumn[] {
  const isChosen = ({ key }: BoardColumn) => dataColumns(view).some((chosen) => chosen === key);
  return [
    ...identity,
    figure(resolvedColumn),
    ...counts,
    ...categoryColumns(board.suite).filter(isChosen).map(figure),
    ...figureColumns.filter(isChosen).map(figure),
    ...officialRanks,
    ...provenance,
  ];
}

/** Rows of a view with every figure as the board has it, whatever the view ranks by. */
function rowsAsTheyAre(board: Board, { rows }: ShownBoard): BoardRow[] {
  const bySlug = new Map(board.rows.map((row) => [row.entry.slug, row]));
  return rows.flatMap((row) => bySlug.get(row.entry.slug) ?? []);
}

/** The board in a view as `/api/v1/board` gives it: rows in the view's order, and the same rows as a plain table. */
export function boardAnswerOf(board: Board, view: BoardView): BoardAnswer {
  const columns = tableColumns(board, view);
  const shown = prepareShown(board, view);
  const rows = rowsAsTheyAre(board, shown);
  const pareto = view.pareto && preparePareto({ ...shown.board, rows: shown.rows }, view.pareto, view.category);
  const matrix = view.matrix && prepareMatrix(shown.board, shown.rows, matrixChoice(view, view.matrix));
  return {
    ...board,
    rows,
    view: {
      category: view.category,
      tests: view.tests,
      sort: view.sort,
      direction: view.direction,
      pareto: view.pareto,
      matrix: view.matrix,
      columns: [...view.columns],
      filters: Object.fromEntries(filterQuery(view.filters)),
      hidden: shown.hidden,
      unstated: shown.unstated.length,
    },
    table: {
      columns: columns.map(({ key, label, unit, meaning }) => ({ key, label, unit, meaning })),
      rows: [...rows, ...board.references].map((row) => columns.map((column) => column.value(row))),
    },
    pareto: pareto
      ? {
          axis: pareto.axis,
          summary: pareto.summary,
          points: pareto.points.map(({ row, x, y, frontier, dominatedBy }) => ({
            submissionId: row.submissionId,
            x,
            y,
            frontier,
            dominatedBy: dominatedBy?.submissionId ?? null,
          })),
          withoutFigure: pareto.withoutFigure.map((row) => row.submissionId),
        }
      : null,
    matrix: matrix
      ? {
          entries: matrix.entries,
          tasks: matrix.tasks.map(({ slug, resolvedBy }) => ({ task: slug, resolvedBy })),
          hiddenTasks: matrix.hiddenTasks,
        }
      : null,
  };
}

/** The table as CSV, by the keys of its columns. */
export function boardCsv({ table }: BoardAnswer): string {
  return csvText([table.columns.map(({ key }) => key), ...table.rows]);
}

/** The board as a Markdown table with the page's figures and roundings, its notes below. */
export function boardMarkdown(board: Board, view: BoardView): string {
  const shown = prepareShown(board, view);
  const rows = [...shown.rows, ...shown.board.references];
  const official = view.tests === "official";
  const bySlug = new Map([...board.rows, ...board.references].map((row) => [row.entry.slug, row]));
  const chosen = dataColumns(view).filter((key) => !official || key !== "official");
  const figures: BoardColumn[] = [
    resolvedColumn,
    ...categoryColumns(board.suite).filter(({ key }) => chosen.some((column) => column === key)),
    ...columnsOf(rows, chosen).shown,
  ].filter((column) => rows.some((row) => column.value(row) !== null));
  const withProbes = (row: BoardRow) => {
    const both = bySlug.get(row.entry.slug);
    return [formatRankSet(both?.rankSet ?? null), formatNumber(both?.resolved.pct, 1)];
  };
  const header = [
    "Rank set",
    "Model",
    "Agent",
    ...figures.map(({ label, unit }) => (unit ? `${label}, ${unit}` : label)),
    ...(official ? ["Rank set with probes", "Resolved with probes, %"] : []),
    "Evidence",
    "Date",
  ];
  const { suite } = board;
  return [
    `# ${markdownText(suite.title)} ${suite.version}${official ? ", official tests alone" : ""}`,
    "",
    markdownRow(header),
    markdownRow(header.map((_, index) => (index > 2 && index < header.length - 2 ? "---:" : "---"))),
    ...rows.map((row) =>
      markdownRow([
        formatRankSet(row.rankSet),
        markdownText(row.entry.model),
        row.entry.agent ? markdownText([row.entry.agent, row.entry.agentVersion].filter(Boolean).join(" ")) : "",
        ...figures.map((column) => formatNumber(column.value(row), column.decimals)),
        ...(official ? withProbes(row) : []),
        row.tier,
        formatDay(row.date),
      ]),
    ),
    ...(shown.hidden > 0 ? ["", `Rows hidden by filters: ${shown.hidden}.`] : []),
    ...Object.values(board.notes).flatMap((note) => ["", markdownText(note)]),
    "",
  ].join("\n");
}

const texEscapes: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
};
const texText = (text: string) => text.replaceAll(/[\\{}$&#%_~^]/g, (found) => texEscapes[found] ?? `\\${found}`);

/** The publication that the board's reported rows come from, as BibTeX; null where it has none. */
export function boardBibtex({ suite }: Board): string | null {
  const { citation } = suite;
  if (!citation) return null;
  const arxiv = /arxiv\.org\/abs\/(\d{4}\.\d{4,5})/.exec(citation.url)?.[1];
  const [year = "", month = ""] = citation.published.split("-");
  const fields = [
    ["title", `{${texText(citation.title)}}`],
    ["year", year],
    ...(month ? [["month", String(Number(month))]] : []),
    ...(arxiv
      ? [
          ["eprint", arxiv],
          ["archivePrefix", "arXiv"],
        ]
      : []),
    ["url", citation.url],
  ];
  return `@misc{${suite.slug}-${suite.version},\n${fields.map(([name, value]) => `  ${name} = {${value}},\n`).join("")}}\n`;
}
