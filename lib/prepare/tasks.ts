import type { TaskFacts } from "@/lib/contract/board-facts";
import type { ManifestTest } from "@/lib/contract/task";
import type { TaskDetail, TaskList, TaskListItem, TaskResult, TaskSolving, TaskTest } from "@/lib/contract/task-api";
import type { TaskDetailFacts, TaskListFacts, TaskRowFacts } from "@/lib/contract/task-facts";
import { type Property, properties, type TestKind, taskVerdicts } from "@/lib/contract/vocabulary";
import { capitalize, countWord, formatMeasure, formatNumber, formatPctUnit, plural } from "@/lib/format/numbers";
import { itemRestCorrelation } from "@/lib/stats/discrimination";
import { scoredShare } from "./board";
import { categoryLabels, meterLabels, propertyLabels } from "./labels";

const noBreakSpace = "\u00a0";

const isRanked = (row: TaskRowFacts) => row.entry.kind === "model" && !row.provisional;
const isReference = (row: TaskRowFacts) => row.entry.kind === "reference";
const factsOn = (row: TaskRowFacts, task: string): TaskFacts | undefined => row.tasks.find((one) => one.task === task);

/** `infradev-mini gold` as `gold`: a reference set's name without its suite's. */
function referenceName(model: string): string {
  return model.split(" ").at(-1) ?? model;
}

const byName = (a: TaskRowFacts, b: TaskRowFacts) =>
  referenceName(a.entry.model).localeCompare(referenceName(b.entry.model), "en", { numeric: true });

function solvingOf(rows: readonly TaskRowFacts[], task: string, taskCount: number): TaskSolving {
  const ranked = rows.filter(isRanked);
  const solvers = ranked.filter((row) => (factsOn(row, task)?.score ?? 0) > 0);
  const [alone] = ranked.length > 1 && solvers.length === 1 ? solvers : [];
  const scores = ranked.map((row) => factsOn(row, task)?.score ?? 0);
  const rests = ranked.map((row) => {
    const sum = row.tasks.reduce((total, one) => total + (one.task === task ? 0 : one.score), 0);
    return taskCount > 1 ? sum / (taskCount - 1) : 0;
  });
  return {
    entries: ranked.length,
    resolved: ranked.length > 0 ? scoredShare(scores, ranked.length) : null,
    officialResolved:
      ranked.length > 0
        ? scoredShare(
            ranked.map((row) => factsOn(row, task)?.officialScore ?? 0),
            ranked.length,
          )
        : null,
    discrimination: itemRestCorrelation(scores, rests),
    onlyBy: alone ? { slug: alone.entry.slug, model: alone.entry.model, submissionId: alone.submissionId } : null,
  };
}

/** A suite's tasks with what its ranked entries made of each, and apart from it what the reference sets did. */
export function prepareTaskList({ suite, tasks, rows }: TaskListFacts): TaskList {
  const references = rows.filter(isReference).sort(byName);
  return {
    suite,
    entries: rows.filter(isRanked).length,
    ranked: rows.filter(isRanked).map(({ entry }) => entry.slug),
    tasks: tasks.map(({ tests, ...task }): TaskListItem => {
      const count = (kind: "official" | "probe") =>
        tests.filter((one) => one.kind === kind).reduce((sum, one) => sum + one.count, 0);
      return {
        ...task,
        officialTests: count("official"),
        probes: count("probe"),
        probesByProperty: properties.flatMap((property) => {
          const found = tests.find((one) => one.kind === "probe" && one.property === property);
          return found ? [{ property, count: found.count }] : [];
        }),
        solving: solvingOf(rows, task.slug, tasks.length),
        references: references.flatMap((row) => {
          const facts = factsOn(row, task.slug);
          return facts
            ? [{ submissionId: row.submissionId, name: referenceName(row.entry.model), verdict: facts.verdict }]
            : [];
        }),
      };
    }),
  };
}

function resultOf(
  { tasks: _tasks, ...row }: TaskRowFacts,
  facts: TaskFacts | undefined,
  attempted: boolean,
): TaskResult {
  return {
    ...row,
    attempted,
    verdict: facts?.verdict ?? "missing",
    score: facts?.score ?? 0,
    requiredPassed: facts?.requiredPassed ?? null,
    requiredTotal: facts?.requiredTotal ?? null,
  };
}

/** Best first: the higher score, then the better verdict, then more tests passed, then by name. */
function compareResults(a: TaskResult, b: TaskResult): number {
  const passed = (one: TaskResult) => (one.requiredTotal ? (one.requiredPassed ?? 0) / one.requiredTotal : 0);
  return (
    Number(a.provisional) - Number(b.provisional) ||
    b.score - a.score ||
    taskVerdicts.indexOf(a.verdict) - taskVerdicts.indexOf(b.verdict) ||
    passed(b) - passed(a) ||
    a.entry.model.localeCompare(b.entry.model, "en", { numeric: true })
  );
}

function testOf(test: ManifestTest, facts: TaskDetailFacts): TaskTest {
  const hidden = facts.suite.probes === "hidden" && test.kind === "probe";
  const passes = (row: TaskRowFacts) => facts.passed.get(row.submissionId)?.has(test.id) ?? false;
  return {
    id: test.id,
    kind: test.kind,
    property: test.property,
    required: test.required,
    hidden,
    expectation: hidden ? null : test.expectation,
    condition: hidden ? null : test.condition,
    ranks: hidden ? null : test.ranks,
    needs: hidden ? null : test.needs,
    notRequiredReason: hidden ? null : test.notRequiredReason,
    requirement: hidden ? null : test.requirement,
    limit: hidden ? null : test.limit,
    passedBy: facts.rows.filter((row) => isRanked(row) && passes(row)).length,
    references: facts.rows
      .filter((row) => isReference(row) && facts.passed.has(row.submissionId))
      .sort(byName)
      .map((row) => ({ name: referenceName(row.entry.model), passed: passes(row) })),
  };
}

/** A commit's page on GitHub, alone in a prompt: what is packed in place of a text that is upstream's own. */
const elsewhere =
  /^The message of the merge commit: (https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/commit\/[0-9a-f]{40})\s*$/;

/** A task with its prompts, tests and results. Of hidden probes nothing but id, property and verdicts is passed on. */
export function prepareTask(facts: TaskDetailFacts): TaskDetail {
  const { suite, task } = facts;
  const shown = new Set(facts.tests.filter((test) => test.kind === "official").map((test) => test.id));
  const results = facts.rows.map((row) =>
    resultOf(row, factsOn(row, task.slug), facts.attempted.has(row.submissionId)),
  );
  return {
    suite: {
      slug: suite.slug,
      version: suite.version,
      title: suite.title,
      probes: suite.probes,
      taskCount: suite.taskCount,
    },
    task,
    prompts: facts.prompts
      .map(({ text, ...prompt }) => {
        const source = elsewhere.exec(text)?.[1] ?? null;
        return { ...prompt, text: source ? null : text, source };
      })
      .sort((a, b) => Number(b.isDefault) - Number(a.isDefault)),
    interfaces:
      suite.probes === "hidden"
        ? facts.interfaces.map((entry) => ({ ...entry, used_by: entry.used_by.filter((id) => shown.has(id)) }))
        : facts.interfaces,
    tests: facts.tests.map((test) => testOf(test, facts)),
    solving: solvingOf(facts.rows, task.slug, suite.taskCount),
    results: results.filter((row) => row.entry.kind === "model").sort(compareResults),
    references: results
      .filter((row) => row.entry.kind === "reference")
      .sort((a, b) =>
        referenceName(a.entry.model).localeCompare(referenceName(b.entry.model), "en", { numeric: true }),
      ),
  };
}

/** `19 Training, 10 Inference, 7 RL`; categories without a task are left out. */
export function categoriesInWords(suite: TaskList["suite"]): string {
  return suite.categoryCounts
    .filter(({ count }) => count > 0)
    .map(({ category, count }) => `${count} ${categoryLabels[category]}`)
    .join(", ");
}

/** `2 value; 1 memory`: what a task's probes check; an item never breaks across lines. */
export function probesInWords(task: TaskListItem): string {
  return task.probesByProperty
    .map(({ property, count }) => `${count} ${propertyLabels[property]}`.replaceAll(" ", noBreakSpace))
    .join("; ");
}

/** What a suite's tasks are, in one or two sentences of counts. */
export function taskListLead(list: TaskList): string {
  const { suite, tasks, entries } = list;
  const counted = `${capitalize(countWord(suite.taskCount))} ${plural(suite.taskCount, "task")}: ${categoriesInWords(suite)}.`;
  if (tasks.length === 0) return counted;
  const sum = (of: (task: TaskListItem) => number) => tasks.reduce((total, task) => total + of(task), 0);
  const official = sum((task) => task.officialTests);
  const probes = sum((task) => task.probes);
  return `${counted} ${formatNumber(official)} official ${plural(official, "test")} and ${formatNumber(probes)} ${suite.probes} ${plural(probes, "probe")} are required; ${countWord(entries)} ${plural(entries, "entry is", "entries are")} ranked.`;
}

/** A task's reference sets for reading: gold, nop, then the mutants together. */
export function referenceGroups(
  references: TaskListItem["references"],
): { label: string; sets: TaskListItem["references"] }[] {
  const mutants = references.filter(({ name }) => name.startsWith("mutant-"));
  return [
    ...references.filter((one) => !mutants.includes(one)).map((one) => ({ label: one.name, sets: [one] })),
    ...(mutants.length > 0 ? [{ label: `${mutants.length} ${plural(mutants.length, "mutant")}`, sets: mutants }] : []),
  ];
}

/** What the ranked entries made of a task, as a sentence. */
export function solvingSentence({ entries, resolved, officialResolved }: TaskSolving): string {
  if (!resolved || !officialResolved) return "No ranked entry has been graded on this suite version yet.";
  const of = `${entries} ranked ${plural(entries, "entry", "entries")}`;
  if (resolved.resolved === null || officialResolved.resolved === null)
    return `Resolved by ${formatPctUnit(resolved.pct)} of ${of}, means over attempts; ${formatPctUnit(officialResolved.pct)} pass every official test.`;
  return `Resolved by ${resolved.resolved} of ${of}; ${officialResolved.resolved} ${plural(officialResolved.resolved, "passes", "pass")} every official test.`;
}

/** Tests of one kind by the property that they check, in the vocabulary's order; of one property in the manifest's. */
export function testsByProperty(
  tests: readonly TaskTest[],
  kind: TestKind,
): { property: Property; tests: TaskTest[] }[] {
  return properties.flatMap((property) => {
    const found = tests.filter((test) => test.kind === kind && test.property === property);
    return found.length > 0 ? [{ property, tests: found }] : [];
  });
}

/** `4 of 6 pass` with the sets that do not: what a test tells apart. */
export function referencesInWords(references: TaskTest["references"]): { passed: string; others: string } | null {
  if (references.length === 0) return null;
  const others = references.filter(({ passed }) => !passed).map(({ name }) => name);
  return { passed: `${references.length - others.length} of ${references.length}`, others: others.join(", ") };
}

/** A limit in words: `at most 1.2 × gold`, `at most 3 microbatches`. */
export function limitInWords(limit: NonNullable<TaskTest["limit"]>): { bound: string; meter: string } {
  const bound = limit.relativeTo
    ? `at most ${formatMeasure(limit.value)} × ${limit.relativeTo}`
    : `at most ${formatMeasure(limit.value)} ${limit.unit}`;
  const repeats = limit.repeats && limit.repeats > 1 ? `, ${limit.repeats} times` : "";
  return { bound, meter: `${limit.resource.replaceAll("_", " ")}, by ${meterLabels[limit.meter ?? "test"]}${repeats}` };
}

/** What a test needs: its ranks, of which it must pass on which, and its GPUs. */
export function needsInWords(needs: NonNullable<TaskTest["needs"]>, ranks: TaskTest["ranks"]): string {
  const parts = [`${needs.ranks} ${plural(needs.ranks, "rank")}`];
  if (needs.gpus > 0) parts.push(`${needs.gpus} ${plural(needs.gpus, "GPU")}`);
  if (ranks === "any" && needs.ranks > 1) parts.push("any one passes");
  if (Array.isArray(ranks)) parts.push(`counted on ${plural(ranks.length, "rank")} ${ranks.join(", ")}`);
  return parts.join(", ");
}

/** Entries that alone resolve some of the tasks, with how many, the most first. */
export function soleSolvers(tasks: readonly TaskListItem[]): { slug: string; model: string; tasks: number }[] {
  const found = new Map<string, { slug: string; model: string; tasks: number }>();
  for (const { solving } of tasks) {
    if (!solving.onlyBy) continue;
    const { slug, model } = solving.onlyBy;
    found.set(slug, { slug, model, tasks: (found.get(slug)?.tasks ?? 0) + 1 });
  }
  return [...found.values()].sort((a, b) => b.tasks - a.tasks || a.model.localeCompare(b.model, "en"));
}
