import { describe, expect, it } from "vitest";
import type { ManifestTest } from "@/lib/contract/task";
import { taskDetailSchema, taskListSchema } from "@/lib/contract/task-api";
import type { TaskDetailFacts, TaskListFacts, TaskRowFacts } from "@/lib/contract/task-facts";
import {
  limitInWords,
  needsInWords,
  prepareTask,
  prepareTaskList,
  probesInWords,
  referenceGroups,
  referencesInWords,
  solvingSentence,
  taskListLead,
  testsByProperty,
} from "./tasks";
import { gradedRow, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 2, inference: 1, rl: 0 });

function row(model: string, scores: readonly number[], change: Partial<TaskRowFacts> = {}): TaskRowFacts {
  const { evidence, ...facts } = gradedRow(suite, model, scores);
  return {
    submissionId: facts.submissionId,
    entry: facts.entry,
    promptCondition: "interface",
    skill: null,
    organization: facts.organization,
    tier: facts.tier,
    provisional: false,
    tasks: evidence.kind === "graded" ? evidence.tasks : [],
    ...change,
  };
}

const reference = (name: string, scores: readonly number[]): TaskRowFacts => {
  const facts = row(`Synthetic ${name}`, scores);
  return { ...facts, entry: { ...facts.entry, kind: "reference" } };
};

const { tasks: suiteTasks, ...suiteHead } = suite;
const listFacts = (rows: TaskRowFacts[]): TaskListFacts => ({
  suite: suiteHead,
  tasks: suiteTasks.map((task) => ({
    ...task,
    repo: "synthetic/fleet",
    gpus: 0,
    ranks: 4,
    tests: [
      { kind: "official", property: "value", count: 3 },
      { kind: "probe", property: "state-lifecycle", count: 2 },
      { kind: "probe", property: "value", count: 1 },
    ],
  })),
  rows,
});

const probe = (name: string, change: Partial<ManifestTest> = {}): ManifestTest => ({
  id: `probes/test_it.py::${name}`,
  kind: "probe",
  expectation: "f2p",
  group: "ranks",
  property: "value",
  condition: "two ranks",
  ranks: "all",
  needs: { ranks: 4, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: "The secret sentence.",
  limit: { resource: "bytes_sent", unit: "bytes", value: 26112, relativeTo: null },
  ...change,
});

const official = probe("test_seen", { id: "tests/test_it.py::test_seen", kind: "official" });

const detailFacts = (change: Partial<TaskDetailFacts> = {}): TaskDetailFacts => ({
  suite: suiteHead,
  task: {
    slug: "training-1",
    title: "Synthetic training task 1",
    repo: "synthetic/fleet",
    category: "training",
    type: "feature",
    gpus: 0,
    ranks: 4,
    baseCommit: null,
    baseTree: "a".repeat(40),
    gradingDigest: "b".repeat(64),
    protectedPaths: [],
  },
  prompts: [],
  interfaces: [],
  tests: [official, probe("test_a")],
  rows: [],
  attempted: new Set(),
  passed: new Map(),
  ...change,
});

describe("a list of tasks", () => {
  it("counts required tests by kind and property", () => {
    const [task] = taskListSchema.parse(prepareTaskList(listFacts([]))).tasks;
    expect(task).toMatchObject({ officialTests: 3, probes: 3 });
    expect(task?.probesByProperty).toEqual([
      { property: "value", count: 1 },
      { property: "state-lifecycle", count: 2 },
    ]);
    expect(probesInWords(task ?? raise())).toBe("1\u00a0value; 2\u00a0state,\u00a0lifecycle");
  });

  it("takes rates over ranked entries only; an entry without a grading of the task has not resolved it", () => {
    const partly = row("Partly", [1, 1, 1]);
    const list = prepareTaskList(
      listFacts([
        row("Alpha", [1, 0, 0]),
        { ...partly, tasks: partly.tasks.slice(1) },
        row("Waiting", [1, 1, 1], { provisional: true }),
        reference("gold", [1, 1, 1]),
      ]),
    );
    expect(list.entries).toBe(2);
    expect(list.tasks[0]?.solving.resolved).toMatchObject({ resolved: 1, total: 2, pct: 50 });
    expect(list.tasks[0]?.solving.discrimination).toBeNull();
    expect(list.tasks.map(({ solving }) => solving.onlyBy?.slug ?? null)).toEqual(["alpha", "partly", "partly"]);
    expect(list.ranked).toEqual(["alpha", "partly"]);
    expect(list.tasks[0]?.references.map(({ name, verdict }) => [name, verdict])).toEqual([["gold", "resolved"]]);
  });

  it("correlates a task with the other tasks, leaving its own score out", () => {
    const list = prepareTaskList(listFacts([row("A", [1, 1, 1]), row("B", [1, 1, 0]), row("C", [0, 0, 1])]));
    // scores (1, 1, 0) against means of the others (1, .5, .5)
    expect(list.tasks[0]?.solving.discrimination).toBeCloseTo(0.5, 12);
  });

  it("has no rate, and says so, where no entry is ranked", () => {
    const list = prepareTaskList(listFacts([reference("gold", [1, 1, 1])]));
    expect(list.tasks[0]?.solving).toEqual({
      entries: 0,
      resolved: null,
      officialResolved: null,
      discrimination: null,
      onlyBy: null,
    });
    expect(taskListLead(list)).toBe(
      "Three tasks: 2 Training, 1 Inference. 9 official tests and 9 open probes are required; no entries are ranked.",
    );
    expect(solvingSentence(prepareTaskList(listFacts([])).tasks[0]?.solving ?? raise())).toMatch(/^No ranked entry/);
  });

  it("leaves nothing but counts of a suite whose tasks are not published", () => {
    const list = prepareTaskList({ suite: suiteHead, tasks: [], rows: [] });
    expect(list.tasks).toEqual([]);
    expect(taskListLead(list)).toBe("Three tasks: 2 Training, 1 Inference.");
  });

  it("says the reference sets in their order, mutants together and by number", () => {
    const list = prepareTaskList(
      listFacts(["mutant-10", "nop", "mutant-2", "gold"].map((name) => reference(name, [0, 0, 0]))),
    );
    const groups = referenceGroups(list.tasks[0]?.references ?? []);
    expect(groups.map(({ label, sets }) => [label, sets.map(({ name }) => name)])).toEqual([
      ["gold", ["gold"]],
      ["nop", ["nop"]],
      ["2 mutants", ["mutant-2", "mutant-10"]],
    ]);
  });
});

describe("one task", () => {
  it("orders results from the best to the worst, provisional ones last, and keeps reference sets apart", () => {
    const rows = [
      row("Worst", [0, 0, 0]),
      row("Waiting", [1, 1, 1], { provisional: true }),
      row("Best", [1, 0, 0]),
      reference("nop", [0, 0, 0]),
    ];
    const detail = taskDetailSchema.parse(
      prepareTask(detailFacts({ rows, attempted: new Set([rows[2]?.submissionId ?? ""]) })),
    );
    expect(detail.results.map(({ entry, attempted }) => [entry.model, attempted])).toEqual([
      ["Best", true],
      ["Worst", false],
      ["Waiting", false],
    ]);
    expect(detail.references.map(({ entry }) => entry.model)).toEqual(["Synthetic nop"]);
  });

  it("counts per test the ranked entries that pass it, and names the reference sets that do not", () => {
    const [alpha, beta, gold, nop] = [
      row("Alpha", [1]),
      row("Beta", [0]),
      reference("gold", [1]),
      reference("nop", [0]),
    ];
    const passed = new Map([
      [alpha.submissionId, new Set([official.id, probe("test_a").id])],
      [beta.submissionId, new Set([official.id])],
      [gold.submissionId, new Set([probe("test_a").id])],
      [nop.submissionId, new Set<string>()],
    ]);
    const detail = prepareTask(detailFacts({ rows: [alpha, beta, gold, nop, reference("mutant-1", [0])], passed }));
    expect(detail.tests.map((test) => test.passedBy)).toEqual([2, 1]);
    expect(referencesInWords(detail.tests[1]?.references ?? [])).toEqual({ passed: "1 of 2", others: "nop" });
  });

  it("passes on of a hidden probe its id, property and verdicts, and nothing else", () => {
    const interfaces = [
      { symbol: "fleet.Pool", kind: "class" as const, signature: "Pool()", used_by: [official.id, probe("test_a").id] },
    ];
    const detail = prepareTask(detailFacts({ suite: { ...suiteHead, probes: "hidden" }, interfaces }));
    expect(detail.tests[1]).toEqual({
      id: "probes/test_it.py::test_a",
      kind: "probe",
      property: "value",
      required: true,
      hidden: true,
      expectation: null,
      condition: null,
      ranks: null,
      needs: null,
      notRequiredReason: null,
      requirement: null,
      limit: null,
      passedBy: 0,
      references: [],
    });
    expect(detail.tests[0]).toMatchObject({ hidden: false, requirement: "The secret sentence." });
    expect(detail.interfaces[0]?.used_by).toEqual([official.id]);
  });

  it("gives the place of a prompt that is upstream's own text, and the text of any other, the default first", () => {
    const commit = `https://github.com/synthetic/fleet/commit/${"c".repeat(40)}`;
    const { prompts } = prepareTask(
      detailFacts({
        prompts: [
          {
            condition: "pr-description",
            isDefault: false,
            digest: "d",
            text: `The message of the merge commit: ${commit}\n`,
          },
          { condition: "interface", isDefault: true, digest: "e", text: `Do it. See ${commit}` },
        ],
      }),
    );
    expect(prompts.map(({ condition, text, source }) => [condition, text, source])).toEqual([
      ["interface", `Do it. See ${commit}`, null],
      ["pr-description", null, commit],
    ]);
  });

  it("groups tests by property in the vocabulary's order", () => {
    const { tests } = prepareTask(
      detailFacts({ tests: [probe("a", { property: "condition" }), probe("b"), official, probe("c")] }),
    );
    expect(testsByProperty(tests, "probe").map(({ property, tests: members }) => [property, members.length])).toEqual([
      ["value", 2],
      ["condition", 1],
    ]);
  });
});

describe("words", () => {
  it("says limits with who measures", () => {
    expect(limitInWords({ resource: "bytes_sent", unit: "bytes", value: 26112, relativeTo: null })).toEqual({
      bound: "at most 26\u202f112 bytes",
      meter: "bytes sent, by the test itself",
    });
    expect(
      limitInWords({
        resource: "time",
        unit: "ratio",
        value: 1.25,
        relativeTo: "gold",
        meter: "wall-clock",
        repeats: 5,
      }),
    ).toEqual({ bound: "at most 1.25 × gold", meter: "time, by the grader's clock, 5 times" });
  });

  it("says what a test needs", () => {
    expect(needsInWords({ ranks: 1, gpus: 0 }, "all")).toBe("1 rank");
    expect(needsInWords({ ranks: 4, gpus: 2 }, "any")).toBe("4 ranks, 2 GPUs, any one passes");
    expect(needsInWords({ ranks: 4, gpus: 0 }, [0, 3])).toBe("4 ranks, counted on ranks 0, 3");
  });

  it("says rates as counts where they are counts, and as means where they are not", () => {
    const solving = (scores: readonly number[]) =>
      prepareTaskList(listFacts(scores.map((score, index) => row(`M${index}`, [score])))).tasks[0]?.solving ?? raise();
    expect(solvingSentence(solving([1, 0]))).toBe("Resolved by 1 of 2 ranked entries; 1 passes every official test.");
    expect(solvingSentence(solving([0.5, 0]))).toMatch(/^Resolved by 25\.0\u202f% of 2 ranked entries, means/);
  });
});

function raise(): never {
  throw new Error("the list has no task");
}
