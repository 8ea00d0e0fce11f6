import type { ExportedLabel } from "@/lib/contract/labels-api";
import { csvText } from "@/lib/format/tables";

type Cell = string | number | null;

/** Columns of the CSV, in this order. */
const columns: readonly [name: string, value: (row: ExportedLabel) => Cell][] = [
  ["label", (row) => row.id],
  ["at", (row) => row.at],
  ["suite", (row) => row.suite],
  ["suite_version", (row) => row.suiteVersion],
  ["task", (row) => row.task],
  ["submission", (row) => row.submission],
  ["entry", (row) => row.entry],
  ["grading", (row) => row.grading],
  ["test_number", (row) => row.testNumber],
  ["test", (row) => row.test],
  ["class", (row) => row.class],
  ["type", (row) => row.type],
  ["tags", (row) => row.tags.join(" ")],
  ["source", (row) => row.source],
  ["by", (row) => row.by],
  ["rules_version", (row) => row.rulesVersion],
  ["confidence", (row) => row.confidence],
  ["evidence_field", (row) => row.evidence?.field ?? null],
  ["evidence_from", (row) => row.evidence?.from ?? null],
  ["evidence_to", (row) => row.evidence?.to ?? null],
  ["note", (row) => row.note],
  ["batch", (row) => row.batch],
  ["adjudicates", (row) => (row.adjudicates ? "yes" : "no")],
  ["withdrawn_at", (row) => row.withdrawnAt],
  ["counts", (row) => (row.counts ? "yes" : "no")],
];

/** One line a label, oldest first. */
export function labelCsv(rows: readonly ExportedLabel[]): string {
  return csvText([columns.map(([name]) => name), ...rows.map((row) => columns.map(([, value]) => value(row)))]);
}
