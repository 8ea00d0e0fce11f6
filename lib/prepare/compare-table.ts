import type { CompareAnswer, ComparedCell, ComparedTask, Comparison } from "@/lib/contract/compare-api";
import { formatInterval, formatNumber, formatPct } from "@/lib/format/numbers";
import { csvText, markdownRow, markdownText } from "@/lib/format/tables";
import { compareFinding, entryOf, pairInWords, pairNames } from "./compare-words";
import { categoryLabels, verdictLabels } from "./labels";

const cellKeys = [
  ["verdict", (cell: ComparedCell) => cell.verdict],
  ["score", (cell: ComparedCell) => cell.score],
  ["official_score", (cell: ComparedCell) => cell.officialScore],
  ["required_passed", (cell: ComparedCell) => cell.requiredPassed],
  ["required_total", (cell: ComparedCell) => cell.requiredTotal],
  ["time_min", (cell: ComparedCell) => cell.timeMin],
  ["cost_usd", (cell: ComparedCell) => cell.costUsd],
  ["tokens_m", (cell: ComparedCell) => cell.tokensM],
  ["steps", (cell: ComparedCell) => cell.steps],
] as const;

function taskCsv(comparison: Comparison, tasks: readonly ComparedTask[]): string {
  const [slugA, slugB] = [comparison.a.row.entry.slug, comparison.b.row.entry.slug];
  const header = ["task", "category", "type", "group", "a", "b"];
  return csvText([
    [...header, ...["a", "b"].flatMap((side) => cellKeys.map(([key]) => `${side}_${key}`))],
    ...tasks.map(({ task, category, type, group, a, b }) => [
      ...[task, category, type, group, slugA, slugB],
      ...[a, b].flatMap((cell) => cellKeys.map(([, value]) => value(cell))),
    ]),
  ]);
}

/**
 * A comparison as CSV: a line per task; per category where one side has counts only; and per suggested pair where no
 * two entries are chosen. Numbers are unrounded.
 */
export function compareCsv({ comparison, pairs }: CompareAnswer): string {
  if (comparison?.tasks) return taskCsv(comparison, comparison.tasks);
  if (comparison)
    return csvText([
      ["category", "tasks", "a", "a_resolved", "b", "b_resolved", "both_at_least", "both_at_most"],
      ...(comparison.strata ?? []).map(({ category, total, a, b, bothLeast, bothMost }) => [
        ...[category, total, comparison.a.row.entry.slug, a, comparison.b.row.entry.slug, b, bothLeast, bothMost],
      ]),
    ]);
  return csvText([
    [
      "a",
      "b",
      "reason",
      "method",
      "only_a",
      "only_b",
      "p_least",
      "p_most",
      "adjusted_least",
      "adjusted_most",
      "verdict",
    ],
    ...pairs.map(({ a, b, reason, test: { method, counts, p, adjusted, verdict } }) => [
      ...[a.slug, b.slug, reason, method, counts?.onlyA ?? null, counts?.onlyB ?? null],
      ...[...p, ...(adjusted?.p ?? [null, null]), verdict],
    ]),
  ]);
}

/** Names of running text are isolated by invisible characters, which a table has no need of. */
const plainText = (text: string) => markdownText(text.replaceAll(/[\u2068\u2069]/g, ""));

const cellText = ({ verdict, requiredPassed, requiredTotal }: ComparedCell) =>
  `${verdictLabels[verdict]}${requiredTotal === null ? "" : ` ${requiredPassed}/${requiredTotal}`}`;

function comparisonMarkdown(comparison: Comparison): string[] {
  const { headline, lead } = compareFinding(comparison);
  const [nameA, nameB] = pairNames(entryOf(comparison.a), entryOf(comparison.b)).map(plainText);
  const resolved = ({ row }: Comparison["a"]) => formatPct(row.resolved.pct);
  const lines = [
    `# ${plainText(headline)}`,
    "",
    plainText(lead),
    "",
    markdownRow(["", `A: ${nameA}`, `B: ${nameB}`]),
    markdownRow(["---", "---:", "---:"]),
    markdownRow(["Resolved, %", resolved(comparison.a), resolved(comparison.b)]),
  ];
  const { counts } = comparison.test;
  if (counts)
    lines.push("", `Both ${counts.both}, only A ${counts.onlyA}, only B ${counts.onlyB}, neither ${counts.neither}\\.`);
  if (comparison.tasks)
    lines.push(
      "",
      markdownRow(["Task", "Category", "A", "B"]),
      markdownRow(["---", "---", "---", "---"]),
      ...comparison.tasks.map(({ title, category, a, b }) =>
        markdownRow([markdownText(title), categoryLabels[category], cellText(a), cellText(b)]),
      ),
    );
  if (comparison.strata?.length)
    lines.push(
      "",
      markdownRow(["Category", "Tasks", "A", "B", "Both"]),
      markdownRow(["---", "---:", "---:", "---:", "---:"]),
      ...comparison.strata.map(({ category, total, a, b, bothLeast, bothMost }) =>
        markdownRow([categoryLabels[category], `${total}`, `${a}`, `${b}`, `${bothLeast} to ${bothMost}`]),
      ),
    );
  if (comparison.deltas.length > 0)
    lines.push(
      "",
      markdownRow(["Per task", "Tasks", "A", "B", "A − B", "95 % interval"]),
      markdownRow(["---", "---:", "---:", "---:", "---:", "---:"]),
      ...comparison.deltas.map(({ metric, tasks, a, b, difference, interval }) =>
        markdownRow([
          ...[metric, tasks > 0 ? `${tasks}` : "", formatNumber(a, 2), formatNumber(b, 2), formatNumber(difference, 2)],
          interval ? formatInterval(interval).replace(/\u202f%$/, "") : "",
        ]),
      ),
    );
  return lines;
}

/** A comparison as Markdown with the page's sentences and roundings. */
export function compareMarkdown({ suite, comparison, pairs }: CompareAnswer): string {
  const lines = comparison
    ? comparisonMarkdown(comparison)
    : [
        "# Pairs of entries",
        "",
        markdownRow(["A", "B", "Finding"]),
        markdownRow(["---", "---", "---"]),
        ...pairs.map(({ a, b, test }) => markdownRow([...pairNames(a, b).map(plainText), pairInWords(test)])),
      ];
  return [...lines, "", `${markdownText(suite.title)} ${suite.version}`, ""].join("\n");
}
