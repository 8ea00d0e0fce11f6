import type { Board, BoardRow } from "@/lib/contract/api";
import type { TaskList } from "@/lib/contract/task-api";
import { categories, taskTypes } from "@/lib/contract/vocabulary";
import { formatNumber, formatPct, missingValue, plural } from "@/lib/format/numbers";

import { defaultView, viewHref } from "./board-view";
import { categoryLabels, taskTypeLabels } from "./labels";
import { taskListHref } from "./task-list-view";

/** Figures of our own gradings that are of the same kind as a published table's. */
interface OwnTable {
  suite: { title: string; version: string };
  href: string;
  columns: readonly { key: string; label: string; unit: string }[];
  rows: readonly { key: string; label: string; note: string; cells: readonly string[] }[];
}

/** What stands beside a published table: tables of ours, or why there is none; and the page that holds more. */
export interface OwnFigures {
  tables: readonly OwnTable[];
  /** What tells ours from what was published. */
  note: string;
  more: { href: string; label: string } | null;
}

type Column = OwnTable["columns"][number] & { value: (row: BoardRow) => string };

const pct = { unit: "%" };
const resolved: Column = { key: "resolved", label: "Resolved", ...pct, value: (row) => formatPct(row.resolved.pct) };
const passed: Column = { key: "passed", label: "Passed", ...pct, value: (row) => formatPct(row.passedPct) };
const figures: Record<"time" | "cost" | "tokens" | "steps", Column> = {
  time: { key: "time", label: "Time", unit: "min", value: (row) => formatNumber(row.timeMin) },
  cost: { key: "cost", label: "Cost", unit: "USD", value: (row) => formatNumber(row.costUsd, 2) },
  tokens: { key: "tokens", label: "Tokens", unit: "M", value: (row) => formatNumber(row.tokensM, 1) },
  steps: { key: "steps", label: "Steps", unit: "", value: (row) => formatNumber(row.steps) },
};
const byCategory: Column[] = categories.map((category) => ({
  key: category,
  label: categoryLabels[category],
  unit: "resolved",
  value: (row) => {
    const share = row.byCategory.find((one) => one.category === category)?.share;
    return share ? `${formatNumber(share.resolved)}/${share.total}` : missingValue;
  },
}));
const probes: Column[] = [
  { key: "official", label: "Official tests", ...pct, value: (row) => formatPct(row.officialResolved?.pct) },
  { key: "both", label: "With probes", ...pct, value: (row) => formatPct(row.resolved.pct) },
];

/** Columns of ours by the published table that they are of one kind with. */
const columnsByTable: Readonly<Record<string, readonly Column[]>> = {
  table2: [resolved, passed, figures.time, figures.cost, figures.tokens],
  table3: byCategory,
  table4: probes,
  table5: [resolved, passed, figures.time, figures.steps, figures.cost, figures.tokens],
};

function ownRows(board: Board, columns: readonly Column[]): OwnTable {
  const { suite } = board;
  return {
    suite,
    href: viewHref({ ...defaultView, suite: suite.slug, version: suite.version }),
    columns: columns.map(({ key, label, unit }) => ({ key, label, unit })),
    rows: [...board.rows, ...board.references].map((row) => ({
      key: row.submissionId,
      label: row.entry.model,
      note: row.tier,
      cells: columns.map(({ value }) => value(row)),
    })),
  };
}

function ownTasks({ suite, tasks }: TaskList): OwnTable {
  const repositories = [...new Set(tasks.map(({ repo }) => repo))];
  return {
    suite,
    href: taskListHref({ suite: suite.slug, version: suite.version }),
    columns: [...taskTypes, "total" as const].map((type) => ({
      key: type,
      label: type === "total" ? "Total" : taskTypeLabels[type],
      unit: "tasks",
    })),
    rows: repositories.map((repo) => {
      const own = tasks.filter((task) => task.repo === repo);
      return {
        key: repo,
        label: repo,
        note: "",
        cells: [...taskTypes.map((type) => own.filter((task) => task.type === type).length), own.length].map((count) =>
          formatNumber(count),
        ),
      };
    }),
  };
}

const more: Readonly<Record<string, OwnFigures["more"]>> = {
  table4: { href: "/probes", label: "Probes: official tests against official tests and probes" },
  table7: { href: "/failures", label: "Failures: our counts in the same table" },
  claims: { href: "/conditions", label: "Conditions and skills, in pairs of our own gradings" },
};

const none: Readonly<Record<string, string>> = {
  table6: "Nothing of ours is comparable: boards hold the sum of a run’s tokens, and no row states its parts.",
  table7:
    "Our failures have the same classes and types, given by rules of our own; they stand in a table of their own.",
  claims: "What of these can be set against our own gradings stands on the pages of conditions and of probes.",
};

/** What our own gradings give of the same kind as a published table. `boards` and `lists` are of suites graded here. */
export function ownFigures(key: string, boards: readonly Board[], lists: readonly TaskList[]): OwnFigures {
  const columns = columnsByTable[key];
  const tables =
    key === "table1"
      ? lists.filter(({ tasks }) => tasks.length > 0).map(ownTasks)
      : columns
        ? boards
            .filter(({ rows, references }) => rows.length + references.length > 0)
            .map((board) => ownRows(board, columns))
        : [];
  const sameKind =
    tables.length === 0
      ? "Nothing of this kind has been graded here yet."
      : `${plural(tables.length, "Another suite", "Other suites")} with other tasks${key === "table1" ? "" : ", graded here"}: the same kind of figure, not the same figure.`;
  return { tables, note: none[key] ?? sameKind, more: more[key] ?? null };
}
