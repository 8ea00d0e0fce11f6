import type { FailureCount, FailureOverviewFacts } from "@/lib/contract/failure-facts";
import {
  type FailureGroup,
  type FailureGrouping,
  type FailureOverview,
  type FailureTally,
  failureGroupings,
  unclassified,
} from "@/lib/contract/failures-api";
import { categories, promptConditions, taskTypes } from "@/lib/contract/vocabulary";
import { wilsonInterval } from "@/lib/stats/intervals";

/** Words stand in the vocabulary's order, everything else by how many attempts fail. */
const orders: Partial<Record<FailureGrouping, readonly string[]>> = {
  category: categories,
  taskType: taskTypes,
  condition: promptConditions,
};

const place = (by: FailureGrouping | null, key: string | null) => `${by ?? ""} ${key ?? ""}`;

/** Counts and shares for everything and for every group. An attempt counts under every type that it has a case of. */
export function prepareFailureOverview(facts: FailureOverviewFacts, rulesVersion: string): FailureOverview {
  const counts = new Map<string, FailureCount[]>();
  for (const count of facts.counts) {
    const key = place(count.by, count.key);
    counts.set(key, [...(counts.get(key) ?? []), count]);
  }
  const graded = new Map(facts.graded.map(({ by, key, attempts }) => [place(by, key), attempts]));
  const types = typesOf(facts);
  const tallyOf = (by: FailureGrouping | null, key: string | null) =>
    tally(counts.get(place(by, key)) ?? [], graded.get(place(by, key)) ?? 0, types);
  const groupsOf = (by: FailureGrouping): FailureGroup[] => {
    const keys = facts.graded.flatMap((row) => (row.by === by && row.key !== null ? [row.key] : []));
    const groups = keys.map((key) => ({
      key,
      label: labelOf(facts, by, key),
      entry: by === "entry" ? (facts.entries.find(({ slug }) => slug === key) ?? null) : null,
      ...tallyOf(by, key),
    }));
    const order = by === "suite" ? facts.suites.map(({ slug }) => slug) : orders[by];
    return groups.sort((a, b) =>
      order
        ? order.indexOf(a.key) - order.indexOf(b.key)
        : b.failing - a.failing || a.label.localeCompare(b.label, "en") || (a.key < b.key ? -1 : 1),
    );
  };
  return {
    filter: facts.filter,
    entryKind: facts.entryKind,
    suites: facts.suites,
    rulesVersion,
    taxonomy: facts.taxonomy,
    total: tallyOf(null, null),
    leftOut: facts.leftOut,
    groups: Object.fromEntries(failureGroupings.map((by) => [by, groupsOf(by)])) as FailureOverview["groups"],
  };
}

type TypeName = { class: string; type: string };

/** The taxonomy's types, then what the counts hold beside them: `unclassified`, and types of other versions. */
function typesOf({ taxonomy, counts }: FailureOverviewFacts): TypeName[] {
  const known: TypeName[] = taxonomy.types.map(({ class: name, type }) => ({ class: name, type }));
  for (const { class: name, type } of counts) {
    if (name === null || type === null || known.some((one) => one.type === type && one.class === name)) continue;
    known.push({ class: name, type });
  }
  return known.sort((a, b) => Number(a.type === unclassified) - Number(b.type === unclassified));
}

function tally(counts: readonly FailureCount[], graded: number, types: readonly TypeName[]): FailureTally {
  const find = (name: string | null, type: string | null) =>
    counts.find((count) => count.class === name && count.type === type) ?? { attempts: 0, cases: 0 };
  const all = find(null, null);
  const classes = [...new Set(types.map((type) => type.class))].map((name) => {
    const { attempts, cases } = find(name, null);
    return {
      class: name,
      attempts,
      cases,
      pct: all.attempts === 0 ? null : (100 * attempts) / all.attempts,
      interval: all.attempts === 0 ? null : inPerCent(wilsonInterval(attempts, all.attempts)),
    };
  });
  return {
    graded,
    failing: all.attempts,
    cases: all.cases,
    classes,
    types: types.map((type) => {
      const { attempts, cases } = find(type.class, type.type);
      return { ...type, attempts, cases };
    }),
  };
}

const inPerCent = ([low, high]: [number, number]): [number, number] => [100 * low, 100 * high];

function labelOf({ entries, suites }: FailureOverviewFacts, by: FailureGrouping, key: string): string {
  if (by === "suite") {
    const suite = suites.find(({ slug }) => slug === key);
    return suite ? `${suite.title} ${suite.version}` : key;
  }
  const entry = by === "entry" ? entries.find(({ slug }) => slug === key) : undefined;
  return entry ? [entry.model, entry.reasoningEffort, entry.agent].filter(Boolean).join(" · ") : key;
}
