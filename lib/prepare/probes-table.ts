import type { ProbedRow, ProbesAnswer } from "@/lib/contract/probes-api";
import { formatPct, formatRankSet } from "@/lib/format/numbers";
import { csvText, markdownRow, markdownText } from "@/lib/format/tables";
import { probesFinding } from "./probes-words";

/** What the probes reject as CSV: a line per row, reference sets last, numbers unrounded. Published figures are not in it. */
export function probesCsv({ rows, references }: ProbesAnswer): string {
  return csvText([
    [
      ...["entry", "kind", "model", "agent", "evidence", "official_pct", "resolved_pct", "official_resolved_attempts"],
      ...["rejected_attempts", "rejected_pct", "rejected_low_pct", "rejected_high_pct"],
      ...["official_rank_best", "official_rank_worst", "rank_best", "rank_worst", "submission"],
    ],
    ...[...rows, ...references].map(({ entry, tier, officialResolved, resolved, rejected, ...row }) => [
      ...[entry.slug, entry.kind, entry.model, entry.agent, tier, officialResolved?.pct ?? null, resolved.pct],
      ...[rejected?.officialResolved ?? null, rejected?.rejected ?? null, rejected?.pct ?? null],
      ...(rejected?.interval ?? [null, null]),
      ...[...(row.officialRankSet ?? [null, null]), ...(row.rankSet ?? [null, null]), row.submissionId],
    ]),
  ]);
}

function line({ entry, officialResolved, resolved, rejected, officialRankSet, rankSet }: ProbedRow): string {
  return markdownRow([
    markdownText(entry.model),
    formatPct(officialResolved?.pct),
    formatPct(resolved.pct),
    formatPct(rejected?.pct),
    rejected ? `${rejected.rejected}/${rejected.officialResolved}` : "",
    formatRankSet(officialRankSet),
    formatRankSet(rankSet),
  ]);
}

/** The same as a Markdown table with the page's roundings. */
export function probesMarkdown(answer: ProbesAnswer): string {
  const { headline, lead } = probesFinding(answer);
  const { rows, references, suite } = answer;
  const header = ["Entry", "Official, %", "With probes, %", "Rejected, %", "Rejected", "Rank, official", "Rank"];
  return [
    `# ${markdownText(headline)}`,
    "",
    markdownText(lead),
    "",
    markdownRow(header),
    markdownRow(header.map((_, index) => (index === 0 ? "---" : "---:"))),
    ...[...rows, ...references].map(line),
    "",
    `${markdownText(suite.title)} ${suite.version}`,
    "",
  ].join("\n");
}
