import type { FailureRow } from "@/lib/contract/failures-api";
import { csvText } from "@/lib/format/tables";

type Cell = string | number | null;

/** Columns of the CSV, in this order. */
const columns: readonly [name: string, value: (row: FailureRow) => Cell][] = [
  ["suite", (row) => row.suite.slug],
  ["suite_version", (row) => row.suite.version],
  ["repository", (row) => row.task.repository],
  ["category", (row) => row.task.category],
  ["task", (row) => row.task.slug],
  ["task_type", (row) => row.task.type],
  ["entry", (row) => row.entry.slug],
  ["entry_kind", (row) => row.entry.kind],
  ["model", (row) => row.entry.model],
  ["agent", (row) => row.entry.agent],
  ["effort", (row) => row.entry.reasoningEffort],
  ["prompt_condition", (row) => row.entry.promptCondition],
  ["skill", (row) => row.entry.skill],
  ["submission", (row) => row.submissionId],
  ["attempt", (row) => row.attemptId],
  ["grading", (row) => row.address.grading],
  ["test_number", (row) => row.address.test],
  ["test", (row) => row.test.id],
  ["test_kind", (row) => row.test.kind],
  ["property", (row) => row.test.property],
  ["status", (row) => row.status],
  ["root_rank", (row) => row.rootRank],
  ["class", (row) => row.label.class],
  ["type", (row) => row.label.type],
  ["tags", (row) => row.label.tags.join(" ")],
  ["label_source", (row) => row.label.source],
  ["rule", (row) => row.label.rule],
  ["rules_version", (row) => row.label.rulesVersion],
  ["confidence", (row) => row.label.confidence],
  ["exception", (row) => row.exceptionType],
  ["line", (row) => row.line],
  ["signature", (row) => row.signature],
];

/** One line a failing case. What a hidden probe must not tell is empty. */
export function failureCsv(rows: readonly FailureRow[]): string {
  return csvText([columns.map(([name]) => name), ...rows.map((row) => columns.map(([, value]) => value(row)))]);
}
