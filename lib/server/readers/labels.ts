import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findLabelSums, listAgreementCounts, listLabelHistory } from "@/db/queries/labels";
import {
  type ExportedLabel,
  exportedLabelSchema,
  type LabelAgreement,
  labelAgreementSchema,
  labelExportLimit,
} from "@/lib/contract/labels-api";
import { prepareAgreement } from "@/lib/prepare/label-agreement";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

/** Agreement between people, and of people with the rules. */
export async function getLabelAgreement(): Promise<LabelAgreement> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.labels, cacheTags.failures);
  cacheLife("hours");
  const { sql } = getDatabase();
  const [sums, counts] = await Promise.all([findLabelSums(sql), listAgreementCounts(sql)]);
  return labelAgreementSchema.parse(prepareAgreement(sums, counts));
}

/** Every label of the failures that people have labelled, for the export: not kept. Null where they are too many. */
export async function listExportedLabels(): Promise<ExportedLabel[] | null> {
  const rows = await listLabelHistory(getDatabase().sql, labelExportLimit);
  return rows.length > labelExportLimit ? null : rows.map((row) => exportedLabelSchema.parse(row));
}
