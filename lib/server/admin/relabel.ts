import "server-only";
import { isDeepStrictEqual } from "node:util";
import {
  type LabelledFailure,
  listLabelledFailures,
  lockRelabelling,
  type Relabelled,
  recordRelabelled,
} from "@/db/queries/relabel";
import { rulesVersion } from "@/lib/taxonomy/failure-types";
import { announceTags } from "../announce";
import type { ServerContext } from "../context";
import { describeFailure } from "../ingest/failures";
import { cacheTags } from "../tags";

/** What a run of the rules over the past says. */
export interface Relabelling {
  rulesVersion: string;
  failures: number;
  /** Failures that have a new label: another version of the rules, or another word of theirs. */
  labels: number;
  /** Failures that fall into another cluster. */
  moved: number;
  /** How many failures went from which type to which, those that stayed too. */
  changes: { from: string; to: string; failures: number }[];
  dryRun: boolean;
}

const batchSize = 2000;

/**
 * Gives every kept failure the label of the rules in force, from the failure's stored detail, in one transaction: who
 * reads sees the old labels or the new ones. Old labels stay as history, labels by people stay and count first. Again
 * under the same rules it changes nothing.
 */
export async function relabel(
  context: Pick<ServerContext, "database">,
  options: { dryRun: boolean },
): Promise<Relabelling> {
  return context.database.sql.begin(async (tx) => {
    await lockRelabelling(tx);
    const report: Relabelling = { rulesVersion, failures: 0, labels: 0, moved: 0, changes: [], dryRun: options.dryRun };
    const counts = new Map<string, number>();
    let written = 0;
    let after: LabelledFailure | null = null;
    for (;;) {
      const batch: LabelledFailure[] = await listLabelledFailures(tx, { after, limit: batchSize });
      const labels: Relabelled[] = [];
      const failures: Relabelled[] = [];
      for (const known of batch) {
        const described = describeFailure(known);
        if (!described) continue;
        const next = { gradingId: known.gradingId, testId: known.testId, ...described };
        const isNew = !isDeepStrictEqual(known.label, { ...described.label });
        const hasMoved = known.signature !== described.signature;
        if (isNew) labels.push(next);
        if (isNew || hasMoved || known.line !== described.line) failures.push(next);
        if (hasMoved) report.moved += 1;
        const change = JSON.stringify([known.label?.type ?? "(none)", described.label.type]);
        counts.set(change, (counts.get(change) ?? 0) + 1);
      }
      report.failures += batch.length;
      report.labels += labels.length;
      written += failures.length;
      if (!options.dryRun) await recordRelabelled(tx, { labels, failures });
      after = batch.at(-1) ?? null;
      if (batch.length < batchSize) break;
    }
    report.changes = [...counts]
      .map(([key, failures]) => {
        const [from = "", to = ""] = JSON.parse(key) as string[];
        return { from, to, failures };
      })
      .sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : a.to < b.to ? -1 : 1));
    if (!options.dryRun && written > 0) await announceTags(tx, [cacheTags.labels, cacheTags.everything]);
    return report;
  });
}

/** The changes as a table: from each type to each other. */
export function describeRelabelling(report: Relabelling): { summary: string; header: string[]; rows: string[][] } {
  const { failures, labels, moved, changes, dryRun } = report;
  const changed = changes.filter(({ from, to }) => from !== to).reduce((sum, { failures: count }) => sum + count, 0);
  const froms = [...new Set(changes.map(({ from }) => from))];
  const tos = [...new Set(changes.map(({ to }) => to))].sort((a, b) => a.localeCompare(b, "en"));
  const count = (from: string, to: string) =>
    changes.find((change) => change.from === from && change.to === to)?.failures;
  return {
    summary:
      `${failures} failures under rules ${report.rulesVersion}: ${labels} ${dryRun ? "would get a new label" : "have a new label"}, ` +
      `${changed} ${dryRun ? "would change" : "changed"} their type, ${moved} ${dryRun ? "would move" : "moved"} to another cluster` +
      `${dryRun ? "; nothing was written" : ""}`,
    header: ["from \\ to", ...tos],
    rows: froms.map((from) => [from, ...tos.map((to) => String(count(from, to) ?? "-"))]),
  };
}
