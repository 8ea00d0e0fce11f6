import type { Candidate } from "@/lib/contract/bundle";
import type { CustomReason } from "@/lib/contract/entry-api";
import type { SuiteStandard } from "@/lib/contract/task";
import type { EntryKind, NetworkPolicy, PromptCondition } from "@/lib/contract/vocabulary";
import { formatNumber, formatUsd } from "@/lib/format/numbers";
import { conditionLabels, networkLabels } from "./labels";

/**
 * What an entry states of its configuration. What is left out is not compared: a board that is of one prompt condition
 * and one skill says these itself, so its rows leave them out.
 */
export interface StatedConfiguration {
  kind: EntryKind;
  promptCondition?: PromptCondition;
  skill?: { name: string } | null;
  networkPolicy: string;
  budget?: Candidate["budget"] | undefined;
}

const limits = [
  { part: "time", of: "timeMin", standard: "time_min", text: (value: number) => `${formatNumber(value)} min` },
  { part: "cost", of: "costUsd", standard: "cost_usd", text: (value: number) => `$ ${formatUsd(value)}` },
  {
    part: "tokens",
    of: "tokensM",
    standard: "tokens_m",
    text: (value: number) => `${formatNumber(value, 1)} M tokens`,
  },
  { part: "steps", of: "steps", standard: "steps", text: (value: number) => `${formatNumber(value)} steps` },
] as const;

/**
 * How an entry's configuration differs from the suite's standard, in a fixed order. Only what both state can differ: an
 * entry that is silent on its budget is not custom, nor is any entry of a suite without a standard, nor a reference set.
 */
export function customReasons(entry: StatedConfiguration, standard: SuiteStandard | null | undefined): CustomReason[] {
  if (!standard || entry.kind === "reference") return [];
  const reasons: CustomReason[] = [];
  if (standard.prompt_condition && entry.promptCondition && entry.promptCondition !== standard.prompt_condition) {
    reasons.push({
      part: "prompt",
      stated: conditionLabels[entry.promptCondition],
      standard: conditionLabels[standard.prompt_condition],
    });
  }
  if (standard.skill === "none" && entry.skill) {
    reasons.push({ part: "skill", stated: `skill ${entry.skill.name}`, standard: "no skill" });
  }
  const network = entry.networkPolicy as NetworkPolicy;
  if (standard.network_policy && network !== "not-stated" && network !== standard.network_policy) {
    reasons.push({
      part: "network",
      stated: `network ${networkLabels[network]}`,
      standard: `network ${networkLabels[standard.network_policy]}`,
    });
  }
  for (const limit of limits) {
    const stated = entry.budget?.[limit.of] ?? null;
    const wanted = standard[limit.standard];
    if (stated !== null && wanted !== undefined && stated !== wanted) {
      reasons.push({ part: limit.part, stated: limit.text(stated), standard: limit.text(wanted) });
    }
  }
  return reasons;
}

/** `120 min (standard: 60 min); skill review (standard: no skill)`. */
export function customSentence(reasons: readonly CustomReason[]): string {
  return reasons.map(({ stated, standard }) => `${stated} (standard: ${standard})`).join("; ");
}
