import type { EntrySelfTestFacts, SelfTestsAnswer } from "@/lib/contract/self-tests-api";
import { entryKinds, type Property, properties } from "@/lib/contract/vocabulary";
import { capitalize, countWord, formatInterval, formatPctUnit, plural } from "@/lib/format/numbers";
import { csvText } from "@/lib/format/tables";
import { wilsonInterval } from "@/lib/stats/intervals";
import { propertyLabels } from "./labels";

/** Statements of publications that came without a figure, by the publication's key. */
export const rarelyCheckedByPublication: Readonly<Record<string, readonly Property[]>> = {
  "arxiv:2610.36589": ["resource.memory", "resource.speed", "resource.traffic"],
};

/** What counts as checking a property, in words; the rules themselves are lib/self-tests/rules.ts. */
export const selfTestRuleWords: Record<Property, string> = {
  value: "An assertion of equality or closeness.",
  "shape-layout-dtype": "An assertion that reads a shape, size, stride, layout, dtype or the storage behind a tensor.",
  "state-lifecycle":
    "An assertion about what is held, freed or closed, or one after state is loaded, saved, reset, released or shut down.",
  "resource.memory": "Memory that a meter of the device, the allocator or the process took reaches an assertion.",
  "resource.speed":
    "Time that a clock, an event or a benchmark took reaches an assertion; a deadline to wait for does not.",
  "resource.traffic": "An assertion on bytes or messages sent, or on how often a collective was called.",
  condition: "The same test under several settings, or an input that must be refused.",
};

type Counts = Omit<EntrySelfTestFacts, "entry">;
type Shares = Omit<SelfTestsAnswer["kinds"][number], "kind">;
export type AttemptShare = Shares["withTests"];

function shareOf(attempts: number, read: number): AttemptShare {
  if (read === 0) return { attempts, pct: null, interval: null };
  const [low, high] = wilsonInterval(attempts, read);
  return { attempts, pct: (100 * attempts) / read, interval: [100 * low, 100 * high] };
}

function sharesOf({ attempts, read, tests, commands, trajectories, ...counts }: Counts): Shares {
  const byProperty = (checks: Counts["checks"], of: number) =>
    properties.map((property) => ({ property, ...shareOf(checks[property] ?? 0, of) }));
  return {
    attempts,
    read,
    tests,
    withTests: shareOf(counts.withTests, read),
    checks: byProperty(counts.checks, read),
    trajectories,
    commands,
    withTestRuns: shareOf(counts.withTestRuns, trajectories),
    commandChecks: byProperty(counts.commandChecks, trajectories),
  };
}

function total(facts: readonly Counts[]): Counts {
  const sum = (of: (one: Counts) => number) => facts.reduce((all, one) => all + of(one), 0);
  return {
    attempts: sum((one) => one.attempts),
    read: sum((one) => one.read),
    tests: sum((one) => one.tests),
    withTests: sum((one) => one.withTests),
    checks: Object.fromEntries(properties.map((property) => [property, sum(({ checks }) => checks[property] ?? 0)])),
    trajectories: sum((one) => one.trajectories),
    commands: sum((one) => one.commands),
    withTestRuns: sum((one) => one.withTestRuns),
    commandChecks: Object.fromEntries(
      properties.map((property) => [property, sum(({ commandChecks }) => commandChecks[property] ?? 0)]),
    ),
  };
}

/** Shares of attempts by kind of entry and by entry, with what publications state. Kinds without attempts are left out. */
export function prepareSelfTests(
  facts: readonly EntrySelfTestFacts[],
  publications: readonly { source: { key: string; title: string; url: string } }[],
  rulesVersion: string,
): SelfTestsAnswer {
  return {
    rulesVersion,
    kinds: entryKinds.flatMap((kind) => {
      const own = facts.filter(({ entry }) => entry.kind === kind);
      if (own.length === 0) return [];
      const shares = sharesOf(total(own));
      // entries try the same tasks: pooled over several, attempts are no independent draws
      const bare = (share: AttemptShare) => (own.length > 1 ? { ...share, interval: null } : share);
      const bareChecks = (checks: Shares["checks"]) => checks.map((check) => ({ ...check, ...bare(check) }));
      return [
        {
          kind,
          ...shares,
          withTests: bare(shares.withTests),
          checks: bareChecks(shares.checks),
          withTestRuns: bare(shares.withTestRuns),
          commandChecks: bareChecks(shares.commandChecks),
        },
      ];
    }),
    entries: facts.map((one) => ({ entry: one.entry, ...sharesOf(one) })),
    published: publications.flatMap(({ source: { key, title, url } }) => {
      const rarely = rarelyCheckedByPublication[key];
      return rarely ? [{ title, url, rarelyChecked: [...rarely] }] : [];
    }),
  };
}

/** The page in one sentence with its uncertainty: how many attempts of models check any resource. */
export function selfTestsLead({ kinds }: SelfTestsAnswer): string {
  const models = kinds.find(({ kind }) => kind === "model");
  if (!models || models.read === 0) {
    return "No attempt of a model with a patch is graded here yet; a row appears with the first one.";
  }
  const { read, withTests, checks } = models;
  const adding = withTests.attempts === 0 ? "None" : capitalize(countWord(withTests.attempts));
  const tested = `${adding} of ${countWord(read)} ${plural(read, "attempt")} ${plural(Math.max(1, withTests.attempts), "adds", "add")} tests of ${plural(Math.max(1, withTests.attempts), "its", "their")} own (${formatPctUnit(withTests.pct)}${withTests.interval ? `, 95\u202f% interval ${formatInterval(withTests.interval)}` : ""}).`;
  const resources = checks
    .filter(({ property }) => property.startsWith("resource."))
    .map(({ property, attempts }) => `${propertyLabels[property]} ${attempts}`);
  return `${tested} Attempts that check a resource: ${resources.join(", ")}.${commandsLead(models)}`;
}

/** What those attempts ran of whom that is known; nothing where no trajectory was read. */
function commandsLead({ trajectories, commandChecks }: Shares): string {
  if (trajectories === 0) return "";
  const resources = commandChecks
    .filter(({ property }) => property.startsWith("resource."))
    .map(({ property, attempts }) => `${propertyLabels[property]} ${attempts}`);
  return ` ${capitalize(countWord(trajectories))} ${plural(trajectories, "comes", "come")} with a trajectory; by commands, a resource is checked in: ${resources.join(", ")}.`;
}

/**
 * One line an entry, source and property: `patch` counts tests that the patch adds, over `read` attempts, `commands` what
 * the agent ran, over the attempts whose trajectory was read, if there is one. `with_tests` counts attempts that add
 * tests, or run them.
 */
export function selfTestsCsv({ entries, rulesVersion }: SelfTestsAnswer): string {
  return csvText([
    [
      "entry",
      "entry_kind",
      "model",
      "agent",
      "effort",
      "prompt_condition",
      "skill",
      "attempts",
      "read",
      "tests",
      "with_tests",
      "source",
      "property",
      "attempts_checking",
      "pct",
      "low",
      "high",
      "rules_version",
    ],
    ...entries.flatMap(({ entry, attempts, ...counts }) => {
      const linesOf = (
        source: string,
        read: number,
        tests: number | null,
        withTests: number,
        checks: Shares["checks"],
      ) =>
        checks.map((check) => [
          entry.slug,
          entry.kind,
          entry.model,
          entry.agent,
          entry.reasoningEffort,
          entry.promptCondition,
          entry.skill,
          attempts,
          read,
          tests,
          withTests,
          source,
          check.property,
          check.attempts,
          check.pct,
          check.interval?.[0] ?? null,
          check.interval?.[1] ?? null,
          rulesVersion,
        ]);
      const { read, tests, withTests, checks, trajectories, withTestRuns, commandChecks } = counts;
      return [
        ...linesOf("patch", read, tests, withTests.attempts, checks),
        ...(trajectories > 0 ? linesOf("commands", trajectories, null, withTestRuns.attempts, commandChecks) : []),
      ];
    }),
  ]);
}
