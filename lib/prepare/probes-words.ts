import type { PooledRejection, ProbesAnswer, PublishedProbes } from "@/lib/contract/probes-api";
import { countWord, formatInterval, formatNumber, formatPctUnit, plural } from "@/lib/format/numbers";
import { bootstrapDraws } from "@/lib/stats/bootstrap";

const attemptsThat = ({ rejected, officialResolved }: PooledRejection, noun: string) =>
  rejected === officialResolved && officialResolved > 1
    ? `all ${officialResolved} ${noun}`
    : `${rejected} of ${officialResolved} ${plural(officialResolved, noun.replace(/s$/, ""), noun)}`;

/** Ranked rows whose rank set by official tests alone is another than with probes. */
function shifted({ rows }: ProbesAnswer): { shifted: number; known: number } {
  const known = rows.filter(({ rankSet, officialRankSet }) => rankSet && officialRankSet);
  return {
    known: known.length,
    shifted: known.filter(({ rankSet, officialRankSet }) => rankSet?.join() !== officialRankSet?.join()).length,
  };
}

/** What the probes of a board do, in one sentence and one with its uncertainty. */
export function probesFinding(answer: ProbesAnswer): { headline: string; lead: string } {
  const { pooled, mutants, rows, suite } = answer;
  const mutantText =
    mutants.officialResolved > 0
      ? `Of the suite’s own wrong changes the probes reject ${attemptsThat(mutants, "mutants")} that pass every official test.`
      : "";
  if (pooled.pct !== null) {
    const interval = pooled.interval ? ` (95 % interval ${formatInterval(pooled.interval)}, bootstrap over tasks)` : "";
    const { shifted: moved, known } = shifted(answer);
    const shift =
      known > 1
        ? ` By official tests alone ${moved === 0 ? "every rank set would be the same" : `${countWord(moved)} of ${countWord(known)} rank sets would be another`}.`
        : "";
    return {
      headline: `Probes reject ${attemptsThat(pooled, "attempts")} that pass every official test.`,
      lead: `${formatPctUnit(pooled.pct)}${interval}, pooled over ${countWord(pooled.rows)} ranked ${plural(pooled.rows, "entry", "entries")} of ${suite.title} ${suite.version}.${shift} ${mutantText}`.trim(),
    };
  }
  if (mutants.officialResolved > 0)
    return {
      headline: `Probes reject ${attemptsThat(mutants, "mutants")} that pass every official test.`,
      lead: `Mutants are the suite’s own wrong changes, mistakes that a good engineer could make. ${rows.length === 0 ? `No model is ranked on ${suite.title} ${suite.version} yet` : "No ranked entry has per-task data here"}, so the share for models is open.`,
    };
  return {
    headline: `What the probes of ${suite.title} ${suite.version} reject is not known here.`,
    lead:
      rows.length > 0
        ? "The rows are copied from a publication that states no official-only results for the whole suite. What it does state stands below."
        : "The first graded attempt that passes every official test is counted here.",
  };
}

/** How the pooled share and its interval come about. */
export const pooledNote = `Pooled: rejected attempts over official-resolved ones, summed over entries; its interval resamples tasks (${formatNumber(bootstrapDraws)} seeded draws), which says nothing where all or none are rejected. Intervals of single rows are Wilson’s, or resample tasks too where a task has several attempts.`;

/** What a printed table comes to in counts, and what of the stated share cannot be recomputed. */
export function recomputedInWords({ recomputed, statedPct, table }: PublishedProbes): string {
  const counted = recomputed
    ? `Over the ${recomputed.tasks} tasks of the repository the percentages stand for ${recomputed.officialResolved} official-resolved attempts of ${countWord(recomputed.rows)} models; the probes reject ${recomputed.rejected} of them, ${formatPctUnit((100 * recomputed.rejected) / recomputed.officialResolved)}.`
    : "The counts behind the percentages cannot be told.";
  const stated = statedPct
    ? ` The ${statedPct}\u202f% that the text states for all repositories cannot be recomputed from this table${table.missing.length > 0 ? ", which lacks the others" : ""}.`
    : "";
  return `${counted}${stated}`;
}

/** `3 by it alone`: how many attempts only probes of one property reject. */
export function aloneInWords({ attempts, alone }: { attempts: number; alone: number }): string {
  return attempts === 0 ? "" : `${alone} by it alone`;
}
