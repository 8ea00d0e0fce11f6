import type { Board, BoardRow } from "@/lib/contract/api";
import type { CompareAnswer } from "@/lib/contract/compare-api";
import type { EntryDetail } from "@/lib/contract/entry-api";
import type { TaskDetail } from "@/lib/contract/task-api";
import type { TaskVerdict } from "@/lib/contract/vocabulary";
import { formatPctUnit, formatRankSet, plural } from "@/lib/format/numbers";
import { compareFinding, entryOf, methodLabels, pairNames, pInWords } from "./compare-words";
import { prepareFinding } from "./finding";
import { categoryLabels, conditionLabels, taskTypeLabels } from "./labels";

/** A line of a share image: a name, a figure, and the figure as a bar. */
export interface ShareRow {
  label: string;
  /** The label's spelling in ASCII, for a face that lacks its letters. */
  plainLabel: string;
  figure: string;
  /** Length of the bar and of its interval, per cent; null where there is none. */
  pct: number | null;
  interval: readonly [number, number] | null;
  /** `rejected`: what the bar shows did not suffice. */
  tone: "plain" | "rejected";
}

/** What the image of a page shows when its address is shared; `alt` says the same in words. */
export interface ShareCard {
  kicker: string;
  headline: string;
  rows: readonly ShareRow[];
  foot: string;
  alt: string;
}

/** Rows that an image holds. */
const mostRows = 6;

const withAlt = (card: Omit<ShareCard, "alt">): ShareCard => ({
  ...card,
  alt: `${card.kicker}. ${card.headline}${card.rows.length > 0 ? ` ${card.rows.map(({ label, figure }) => `${label}: ${figure}`).join("; ")}.` : ""}`,
});

const standing = (row: BoardRow) =>
  row.rankSet ? `rank ${formatRankSet(row.rankSet)}` : row.entry.kind === "reference" ? "reference" : "unranked";

const boardLine = (row: Omit<BoardRow, "tasks" | "officialRankSet">): ShareRow => ({
  label: row.entry.model,
  plainLabel: row.entry.slug,
  figure: formatPctUnit(row.resolved.pct),
  pct: row.resolved.pct,
  interval: row.resolved.interval,
  tone: "plain",
});

/** A board: its finding, and its first rows, or its reference sets where nothing is ranked. */
export function boardCard(board: Board): ShareCard {
  const rows = board.rows.length > 0 ? board.rows : board.references;
  const left = rows.length - mostRows;
  return withAlt({
    kicker: [
      `${board.suite.title} ${board.suite.version}`,
      conditionLabels[board.promptCondition],
      board.skill ? `skill ${board.skill}` : "",
    ]
      .filter(Boolean)
      .join(" · "),
    headline: prepareFinding(board).headline,
    rows: rows.slice(0, mostRows).map(boardLine),
    foot: `% resolved of ${board.suite.taskCount} ${plural(board.suite.taskCount, "task")}, Wilson 95 % intervals${left > 0 ? `; ${left} more ${plural(left, "row")}` : ""}`,
  });
}

/** A submission: the row's standing and its shares. */
export function rowCard({ row, suite }: { row: BoardRow; suite: { title: string; version: string } }): ShareCard {
  const share = (label: string, of: BoardRow["resolved"] | null): ShareRow[] =>
    of
      ? [
          {
            label,
            plainLabel: label,
            figure: `${of.resolved === null ? "" : `${of.resolved}/${of.total} · `}${formatPctUnit(of.pct)}`,
            pct: of.pct,
            interval: of.interval,
            tone: "plain",
          },
        ]
      : [];
  const agent = [row.entry.agent, row.entry.reasoningEffort && `effort ${row.entry.reasoningEffort}`].filter(Boolean);
  return withAlt({
    kicker: `${suite.title} ${suite.version}`,
    headline: [row.entry.model, ...agent].join(" · "),
    rows: [
      ...share("Resolved", row.resolved),
      ...share("Official tests alone", row.officialResolved),
      ...row.byCategory.flatMap(({ category, share: one }) => share(categoryLabels[category], one)),
    ].slice(0, mostRows),
    foot: `${standing(row)} · ${row.tier}${row.provisional ? " · provisional" : ""}`,
  });
}

/** An entry: its row on the first suite on which it is graded; null where it is on none. */
export function entryCard({ standings }: EntryDetail): ShareCard | null {
  const shown = standings.flatMap(({ row, suite }) => (row ? [{ row, suite }] : []))[0];
  return shown ? rowCard(shown) : null;
}

/** Two entries: who resolves what, and the test; null where none are compared. */
export function compareCard({ comparison, suite }: CompareAnswer): ShareCard | null {
  if (!comparison) return null;
  const { a, b, test } = comparison;
  const names = pairNames(entryOf(a), entryOf(b));
  const part = (label: string, count: number, plainLabel: string): ShareRow => ({
    label,
    plainLabel,
    figure: `${count}`,
    pct: (100 * count) / suite.taskCount,
    interval: null,
    tone: "plain",
  });
  return withAlt({
    kicker: `${suite.title} ${suite.version}`,
    headline: compareFinding(comparison).headline,
    rows: [
      { ...boardLine(a.row), label: names[0] },
      { ...boardLine(b.row), label: names[1] },
      ...(test.counts
        ? [
            part(`Only ${names[0]}`, test.counts.onlyA, `Only ${a.row.entry.slug}`),
            part(`Only ${names[1]}`, test.counts.onlyB, `Only ${b.row.entry.slug}`),
            part("Both", test.counts.both, "Both"),
            part("Neither", test.counts.neither, "Neither"),
          ]
        : []),
    ],
    foot: `${suite.taskCount} ${plural(suite.taskCount, "task")}; ${methodLabels[test.method]}, ${pInWords(test)}`,
  });
}

const verdictWords: Record<TaskVerdict, string> = {
  resolved: "resolved",
  "probe-rejected": "probes reject",
  failed: "fails official tests",
  missing: "no grading",
};

/** A task: what the first entries made of it, or the reference sets where no entry is graded. */
export function taskCard({ suite, task, results, references, tests }: TaskDetail): ShareCard {
  const shown = (results.length > 0 ? results : references).slice(0, mostRows);
  const probes = tests.filter(({ required, kind }) => required && kind === "probe").length;
  const official = tests.filter(({ required, kind }) => required && kind === "official").length;
  return withAlt({
    kicker: `${suite.title} ${suite.version} · ${categoryLabels[task.category]} · ${taskTypeLabels[task.type]}`,
    headline: task.title,
    rows: shown.map(({ entry, verdict, requiredPassed, requiredTotal }) => ({
      label: entry.model.replace(/^reference:\s*/, ""),
      plainLabel: entry.slug,
      figure: verdictWords[verdict],
      pct: requiredTotal ? (100 * (requiredPassed ?? 0)) / requiredTotal : null,
      interval: null,
      tone: verdict === "resolved" ? "plain" : "rejected",
    })),
    foot: `Bars: required tests passed, of ${official} official ${plural(official, "test")} and ${probes} ${plural(probes, "probe")}`,
  });
}
