import type { EntryStanding } from "@/lib/contract/entry-api";
import { capitalize, countWord, formatInterval, formatPctUnit, formatRankSet, plural } from "@/lib/format/numbers";

const isolate = (name: string) => `\u2068${name}\u2069`;

function resolvedText({ row, figures }: EntryStanding): string {
  if (!row) return "";
  const { resolved, pct, total } = row.resolved;
  const interval = figures.find(({ key }) => key === "resolved")?.interval ?? row.resolved.interval;
  const tasks = `${total} ${plural(total, "task")}`;
  const repeated = resolved === null && row.tasks ? "a mean over repeated attempts" : null;
  const details = [
    resolved === null ? repeated : formatPctUnit(pct),
    interval ? `95\u202f% interval ${formatInterval(interval)}` : null,
  ].filter((part) => part !== null);
  return `${resolved === null ? formatPctUnit(pct) : resolved} of ${tasks} resolved${details.length > 0 ? ` (${details.join(", ")})` : ""}`;
}

/** How many of the others are told apart from a rank set of `ranked` rows. */
function apartText([best, worst]: readonly [number, number], ranked: number): string {
  if (ranked < 2) return "It is the only ranked entry there.";
  const better = best - 1;
  const worse = ranked - worst;
  if (better + worse === 0) return "None of the other ranked entries can be told apart from it.";
  const counted = (count: number, word: string) => `${countWord(count)} ${plural(count, "is", "are")} ${word}`;
  const parts = [
    better > 0 ? counted(better, "significantly better") : null,
    worse > 0 ? counted(worse, "significantly worse") : null,
  ].filter((part) => part !== null);
  return `Of the other ${countWord(ranked - 1)}, ${parts.join(" and ")}.`;
}

/** Where an entry stands on one suite version, in a sentence or two. */
export function standingSentence(standing: EntryStanding): string {
  const { suite, row, ranked } = standing;
  const where = `${isolate(suite.title)} ${suite.version}`;
  if (!row) return `Submitted to ${where}; nothing of it is graded yet.`;
  const resolved = capitalize(resolvedText(standing));
  if (row.entry.kind === "reference") {
    return `${resolved} on ${where}. A reference patch set, unranked: it shows that the grading tells right from wrong.`;
  }
  if (row.provisional || !row.rankSet) {
    return `${resolved} on ${where} so far. Provisional: a host’s fault or a grading under way awaits its end, so it is not ranked.`;
  }
  const rank = `Rank ${formatRankSet(row.rankSet)} of ${ranked} on ${where}: ${resolvedText(standing)}.`;
  return `${rank} ${apartText(row.rankSet, ranked)}`;
}
