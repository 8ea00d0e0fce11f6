import "server-only";
import { InfraDevError } from "@/lib/contract/errors";
import { type ExportedLabel, labelExportLimit } from "@/lib/contract/labels-api";
import { listExportedLabels } from "./readers";

/** Labels for an export. Throws `labels.too-many` where one answer would be too long. */
export async function exportedLabels(): Promise<ExportedLabel[]> {
  const labels = await listExportedLabels();
  if (labels) return labels;
  throw new InfraDevError("too-large", {
    code: "labels.too-many",
    message: "there are more labels than one export holds",
    rule: `one export holds at most ${labelExportLimit} labels, and never a part of them`,
    remedy: "read the labels that count with /api/v1/failures.csv, a suite at a time",
  });
}
