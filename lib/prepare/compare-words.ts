import type {
  CompareAnswer,
  ComparedEntry,
  Comparison,
  DeltaMetric,
  PairedTest,
  PairReason,
  TaskGroup,
} from "@/lib/contract/compare-api";
import { countWord, formatNumber, formatP, formatPctUnit, plural } from "@/lib/format/numbers";
import { bootstrapDraws } from "@/lib/stats/bootstrap";
import { winsNeeded } from "@/lib/stats/paired-tests";
import { conditionLabels } from "./labels";

const isolate = (name: string) => `\u2068${name}\u2069`;
const plainName = ({ kind, model }: ComparedEntry) =>
  kind === "reference" ? model.replace(/^reference:\s*/, "") : model;

const traits: readonly ((entry: ComparedEntry) => string | null)[] = [
  ({ skill }) => (skill ? `with ${isolate(skill)}` : "without a skill"),
  ({ promptCondition }) => `under the ${conditionLabels[promptCondition]}`,
  ({ agent, agentVersion }) => (agent ? `in ${isolate([agent, agentVersion].filter(Boolean).join(" "))}` : null),
  ({ reasoningEffort }) => (reasoningEffort ? `at effort ${isolate(reasoningEffort)}` : null),
  ({ slug }) => `(${slug})`,
];

/** Names of two entries in running text; where they have one model in common, with the first trait that differs. */
export function pairNames(a: ComparedEntry, b: ComparedEntry): [string, string] {
  const [nameA, nameB] = [plainName(a), plainName(b)];
  if (nameA !== nameB) return [isolate(nameA), isolate(nameB)];
  const differs = traits.find((trait) => trait(a) !== trait(b));
  const named = (entry: ComparedEntry, name: string) => [isolate(name), differs?.(entry)].filter(Boolean).join(" ");
  return [named(a, nameA), named(b, nameB)];
}

/** An entry as an option of a list: everything that tells it from others, without markup. */
export function optionText(entry: CompareAnswer["entries"][number]): string {
  return [
    plainName(entry),
    [entry.agent, entry.agentVersion].filter(Boolean).join(" "),
    entry.reasoningEffort ? `effort ${entry.reasoningEffort}` : "",
    entry.promptCondition === "interface" ? "" : conditionLabels[entry.promptCondition],
    entry.skill ? `skill ${entry.skill}` : "",
    formatPctUnit(entry.resolvedPct),
  ]
    .filter(Boolean)
    .join(", ");
}

/** `p = 0.625`, `p < 0.001`. */
function pIs(p: number): string {
  const text = formatP(p);
  return text.startsWith("<") ? `p ${text}` : `p = ${text}`;
}

const isKnown = ({ p }: PairedTest) => p[0] === p[1];

/** The names of the tests. */
export const methodLabels: Record<PairedTest["method"], string> = {
  mcnemar: "exact McNemar",
  "sign-flip": "paired sign flips",
  bounds: "bounds by published counts",
};

/** What the test says, in one phrase. */
export function verdictInWords(test: PairedTest): string {
  if (test.method !== "bounds") return test.verdict === "separated" ? "separable" : "not separable";
  return {
    separated: "separable for certain",
    "not-separated": "inseparable for certain",
    "cannot-tell": "cannot be told from the published counts",
  }[test.verdict];
}

function over({ adjusted }: PairedTest): string {
  if (!adjusted) return "";
  return adjusted.pairs === 1 ? "Holm, the board’s only pair" : `Holm over the board’s ${adjusted.pairs} pairs`;
}

/** The p-value, raw and adjusted, or the bounds that counts set it. */
export function pInWords(test: PairedTest): string {
  const { p, adjusted } = test;
  if (isKnown(test))
    return adjusted
      ? `${pIs(p[0])} raw, ${formatP(adjusted.p[0])} ${over(test)}`
      : `${pIs(p[0])}, this pair looked at alone`;
  const raw = `p between ${formatP(p[0])} and ${formatP(p[1])} raw`;
  return adjusted
    ? `${raw}, ${formatP(adjusted.p[0])} to ${formatP(adjusted.p[1])} ${over(test)}`
    : `${raw}, this pair looked at alone`;
}

function gradedHeadline({ test, a, b }: Comparison, [nameA, nameB]: [string, string]): string {
  const { both, onlyA, onlyB } = test.counts ?? { both: 0, onlyA: 0, onlyB: 0 };
  const often = test.method === "sign-flip";
  if (onlyA + onlyB === 0) {
    if (both === 0) return `Neither ${nameA} nor ${nameB} resolves a task`;
    const tasks = both === 1 ? "the same task" : `the same ${countWord(both)} tasks`;
    return `${nameA} and ${nameB} resolve ${tasks}${often ? ", equally often" : ""}`;
  }
  const aLeads = onlyA > onlyB || (onlyA === onlyB && a.row.resolved.pct >= b.row.resolved.pct);
  const [leader, other, won, lost] = aLeads ? [nameA, nameB, onlyA, onlyB] : [nameB, nameA, onlyB, onlyA];
  const count = `${countWord(won)} ${plural(won, "task")}`;
  return often
    ? `${leader} resolves ${count} more often than ${other}, ${other} ${lost === 0 ? "none" : countWord(lost)}`
    : `${leader} resolves ${count} that ${other} does not, ${other} ${lost === 0 ? "none" : countWord(lost)}`;
}

function countedHeadline({ a, b }: Comparison, [nameA, nameB]: [string, string]): string {
  const said = ({ row: { resolved } }: Comparison["a"]) =>
    resolved.resolved === null ? formatPctUnit(resolved.pct) : String(resolved.resolved);
  return `${nameA} resolves ${said(a)} of ${a.row.resolved.total} tasks, ${nameB} ${said(b)}`;
}

function boundsText(test: PairedTest): string {
  switch (test.verdict) {
    case "not-separated":
      return "Which tasks they are was not published; even the pairing that tells them apart best does not.";
    case "separated":
      return "Which tasks they are was not published; even the pairing that tells them apart least does.";
    case "cannot-tell":
      return "Which tasks they are was not published: some pairings would tell them apart, others would not.";
  }
}

/** A comparison in one sentence, and the test behind it in the next. */
export function compareFinding(comparison: Comparison): { headline: string; lead: string } {
  const { test, a, b } = comparison;
  const names = pairNames(entryOf(a), entryOf(b));
  const headline = test.counts ? gradedHeadline(comparison, names) : countedHeadline(comparison, names);
  const references = [a, b].some(({ row }) => row.entry.kind === "reference");
  const provisional = [a, b].some(({ row }) => row.provisional);
  const apart = references
    ? " Reference patch sets are compared in full and ranked nowhere."
    : provisional
      ? " A provisional row is ranked nowhere until its gradings are complete."
      : test.adjusted
        ? ""
        : " They stand on two boards, so no adjustment covers the pair.";
  return {
    headline: `${headline}: ${verdictInWords(test)}.`,
    lead: `By ${methodLabels[test.method]}, ${pInWords(test)}.${test.counts ? "" : ` ${boundsText(test)}`}${apart}`,
  };
}

/** A side of a comparison as an entry. */
export function entryOf({ row, promptCondition, skill }: Comparison["a"]): ComparedEntry {
  return { ...row.entry, promptCondition, skill };
}

/** What a difference would need: tasks won with none lost, for this pair as it is adjusted. */
export function needInWords(test: PairedTest, taskCount: number): string {
  const needed = winsNeeded(test.adjusted?.pairs ?? 1);
  const where = test.adjusted && test.adjusted.pairs > 1 ? `Among ${test.adjusted.pairs} pairs` : "Looked at alone";
  return needed > taskCount
    ? `${where}, no difference on ${taskCount} ${plural(taskCount, "task")} could separate a pair.`
    : `${where}, separating a pair takes at least ${countWord(needed)} tasks won with none lost.`;
}

/** A suggested pair's finding in a few words: `3 to 1, not separable`. */
export function pairInWords({ counts, ...test }: PairedTest): string {
  const verdict = verdictInWords({ counts, ...test });
  return counts ? `${counts.onlyA} to ${counts.onlyB}, ${verdict}` : verdict;
}

/** Headings of suggested pairs, by why they are suggested. */
export const reasonLabels: Record<PairReason, string> = {
  skill: "With and without a skill",
  condition: "Under two prompt conditions",
  neighbours: "Next to each other in the ranking",
  ends: "First and last",
  separated: "Told apart",
  open: "Left open by the published counts",
  reference: "Reference patch sets",
  chosen: "With the chosen entry",
};

/** Title of a comparison's page. */
export function compareTitle({ a, b, state }: CompareAnswer): string {
  return state === "compared" && a && b ? pairNames(a, b).join(" against ") : "Compare";
}

/** Headings of the tasks' groups, for one attempt a task and for several. */
export const groupLabels: Record<"once" | "often", Record<TaskGroup, string>> = {
  once: { "only-a": "Only A resolves", "only-b": "Only B resolves", both: "Both resolve", neither: "Neither resolves" },
  often: {
    "only-a": "A resolves more often",
    "only-b": "B resolves more often",
    both: "Both resolve, as often",
    neither: "Neither resolves",
  },
};

/** What the runs are compared by, with its unit and decimals. */
export const metricWords: Record<DeltaMetric, { label: string; decimals: number }> = {
  time: { label: "Time, min", decimals: 1 },
  cost: { label: "Cost, $", decimals: 2 },
  tokens: { label: "Tokens, M", decimals: 2 },
  steps: { label: "Steps", decimals: 1 },
};

/** What the means and intervals of the runs are taken over. */
export function deltaNote(paired: boolean): string {
  return paired
    ? `Means over the tasks that have the figure on both sides; intervals by seeded bootstrap over these tasks (${formatNumber(bootstrapDraws)} draws). Less is better.`
    : "Means as the rows state them: without figures per task no interval can be given. Less is better.";
}

/** A difference with its sign. */
export function differenceText(difference: number, decimals: number): string {
  const text = formatNumber(difference, decimals);
  return difference > 0 && Number(difference.toFixed(decimals)) !== 0 ? `+${text}` : text;
}
