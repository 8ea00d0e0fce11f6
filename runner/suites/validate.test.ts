import { describe, expect, it } from "vitest";
import type { Manifest } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import {
  exploitsOf,
  gateItems,
  itemsOfShard,
  judge,
  mergeValidations,
  parseShard,
  type Validation,
  validationSchema,
} from "./validate";

const manifestTest = (id: string, expectation: "f2p" | "p2p") => ({
  id,
  kind: id.startsWith("probes/") ? ("probe" as const) : ("official" as const),
  expectation,
  group: "g",
  property: "value" as const,
  condition: null,
  ranks: "all" as const,
  needs: { ranks: 1, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: null,
  limit: null,
});
const ids = { official: "tests/t.py::a", kept: "tests/t.py::b", probe: "probes/p.py::c" };
const task = {
  manifest: {
    task: { gpusGrade: 0 },
    tests: [manifestTest(ids.official, "f2p"), manifestTest(ids.kept, "p2p"), manifestTest(ids.probe, "f2p")],
  } as unknown as Manifest,
  mutants: [{ number: 1, name: "off-by-one", absPath: "/m" }],
};

const grading = (patch: string, repeat: number, statuses: [OutcomeStatus, OutcomeStatus, OutcomeStatus]) => ({
  patch,
  repeat,
  status: "completed" as const,
  reason: null,
  resolved: statuses.every((status) => status === "passed"),
  officialResolved: statuses[0] === "passed" && statuses[1] === "passed",
  durationMs: 10,
  peakMemoryMb: 30,
  tests: Object.values(ids).map((id, index) => ({
    id,
    status: statuses[index] ?? "not-run",
    durationMs: 10 * repeat,
    peakMemoryMb: null,
  })),
});
const good = [
  grading("nop", 1, ["failed", "passed", "error"]),
  grading("gold", 1, ["passed", "passed", "passed"]),
  grading("gold", 2, ["passed", "passed", "passed"]),
  grading("mutant-1", 1, ["passed", "passed", "failed"]),
];
const report = (gradings: Validation["gradings"], changes: Partial<Validation> = {}): Validation =>
  ({
    format: "infradev-validation/1",
    suite: { slug: "s", version: "1.0" },
    task: "t",
    gradingDigest: "a".repeat(64),
    promptDigests: {},
    runnerVersion: "0",
    executor: "bwrap",
    host: {} as Validation["host"],
    gpus: 0,
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:01:00Z",
    repeats: 2,
    gradings,
    exploits: { run: 3, passed: [], controlResolved: true },
    ...changes,
  }) as Validation;
const brokenRules = (gradings: Validation["gradings"], changes: Partial<Validation> = {}) =>
  judge(task, report(gradings, changes)).rules.filter((rule) => !rule.ok);

describe("the gate", () => {
  it("admits a task whose gold passes every time and whose mutant only a probe rejects", () => {
    const verdict = judge(task, report(good));
    expect(verdict.rules.filter((rule) => !rule.ok)).toEqual([]);
    expect(verdict.admitted).toBe(true);
    expect(verdict.tests.map((test) => [test.id, test.medianMs, test.flakeRate, test.rejects])).toEqual([
      [ids.official, 15, 0, []],
      [ids.kept, 15, 0, []],
      [ids.probe, 15, 0, ["mutant-1"]],
    ]);
  });

  const replaced = (index: number, by: (typeof good)[number]) => good.with(index, by);
  it.each([
    ["nop passes an f2p test", replaced(0, grading("nop", 1, ["failed", "passed", "passed"])), ids.probe],
    ["nop fails a p2p test", replaced(0, grading("nop", 1, ["failed", "failed", "failed"])), ids.kept],
    ["gold fails once", replaced(2, grading("gold", 2, ["passed", "passed", "hung"])), "1 of 2"],
    ["a mutant passes every probe", replaced(3, grading("mutant-1", 1, ["passed", "passed", "passed"])), "0 of 1"],
    [
      "a mutant fails an official test",
      replaced(3, grading("mutant-1", 1, ["failed", "passed", "failed"])),
      ids.official,
    ],
  ])("refuses: %s", (_name, gradings, found) => {
    const broken = brokenRules(gradings);
    expect(broken).toHaveLength(1);
    expect(broken[0]?.found).toContain(found);
  });

  it("shows the flake of a test that fails one of two", () => {
    const verdict = judge(task, report(replaced(2, grading("gold", 2, ["passed", "passed", "failed"]))));
    expect(verdict.tests.find((test) => test.id === ids.probe)?.flakeRate).toBe(0.5);
  });

  it("refuses exploits that pass, and a grader that fails everything", () => {
    const passed = { run: 3, passed: ["hangs"], controlResolved: true };
    expect(brokenRules(good, { exploits: passed })[0]?.found).toContain("hangs");
    const broken = { run: 3, passed: [], controlResolved: false };
    expect(brokenRules(good, { exploits: broken })[0]?.found).toContain("control");
  });

  it("counts the exploits that a host could try", () => {
    const results = ["detected", "prevented", "passed", "not-applicable"].map((verdict) => ({
      name: verdict,
      verdict,
    }));
    expect(exploitsOf({ controlResolved: true, results })).toEqual({
      run: 3,
      passed: ["passed"],
      controlResolved: true,
    });
  });

  it("keeps of a grading that the GPUs' memory could not be read", () => {
    const leftovers = { processes: null, paths: null, gpuMemoryMb: null };
    const read = validationSchema.shape.gradings.parse(good.map((each) => ({ ...each, leftovers })));
    expect(read[0]?.leftovers).toEqual(leftovers);
  });

  it("does not ask for what needs more GPUs than the gradings had", () => {
    const [official, kept, probe] = task.manifest.tests;
    const onTwo = {
      ...task,
      manifest: {
        task: { gpusGrade: 2 },
        tests: [official, kept, { ...probe, needs: { ranks: 2, gpus: 2 } }],
      } as unknown as Manifest,
    };
    const passing = good.map((each) => ({ ...each, resolved: each.patch === "gold", officialResolved: true }));
    const onOneGpu = judge(onTwo, report(passing, { gpus: 1 }));
    expect(onOneGpu.tests.find(({ id }) => id === ids.probe)?.required).toBe(false);
    expect(onOneGpu.rules.find(({ rule }) => rule.startsWith("mutant 1"))?.found).toBe("0 of 0 probes reject it");
    expect(judge(onTwo, report(passing, { gpus: 2 })).tests.every(({ required }) => required)).toBe(true);
  });

  it("admits nothing while a grading lacks", () => {
    const verdict = judge(task, report(good.slice(0, 3)));
    expect(verdict.admitted).toBe(false);
    expect(verdict.holds).toBe(true);
    expect(verdict.rules.find((rule) => !rule.ok)?.found).toContain("mutant-1#1");
  });
});

describe("shards", () => {
  it("cover every grading exactly once", () => {
    const items = gateItems(task, 5);
    const shards = [1, 2, 3].flatMap((index) => itemsOfShard(items, { index, count: 3 }));
    expect(shards).toHaveLength(items.length);
    expect(new Set(shards.map((item) => `${item.patch}#${item.repeat}`)).size).toBe(items.length);
  });

  it("merge into what one run would have seen", () => {
    const merged = mergeValidations([
      report(good.slice(0, 2), { exploits: null, finishedAt: "2026-01-01T00:05:00Z" }),
      report(good.slice(2)),
    ]);
    expect(judge(task, merged).admitted).toBe(true);
    expect(merged.finishedAt).toBe("2026-01-01T00:05:00Z");
  });

  it("merge what every self-test saw, whichever comes first", () => {
    const caught = report(good.slice(0, 2), { exploits: { run: 3, passed: ["a"], controlResolved: true } });
    const broken = report(good.slice(2), { exploits: { run: 2, passed: ["a", "b"], controlResolved: false } });
    const none = report([], { exploits: null });
    const together = { run: 2, passed: ["a", "b"], controlResolved: false };
    expect(mergeValidations([caught, none, broken]).exploits).toEqual(together);
    expect(mergeValidations([broken, caught]).exploits).toEqual(together);
    expect(mergeValidations([none]).exploits).toBeNull();
    const admitting = report(good.slice(0, 2));
    for (const exploits of [
      { run: 3, passed: ["a"], controlResolved: true },
      { run: 3, passed: [], controlResolved: false },
    ])
      expect(judge(task, mergeValidations([admitting, report(good.slice(2), { exploits })])).admitted).toBe(false);
  });

  it("do not merge across digests, nor twice", () => {
    const other = report(good.slice(2), { gradingDigest: "b".repeat(64) });
    expect(() => mergeValidations([report(good.slice(0, 2)), other])).toThrow(/gradingDigest/);
    expect(() => mergeValidations([report(good), report(good)])).toThrow(/nop#1/);
  });

  it("do not merge where one of them graded another gold", () => {
    const of = (digit: string) => good.map((grading) => ({ ...grading, patchSha256: digit.repeat(64) }));
    const shards = (other: string) => [report(of("a").slice(0, 2)), report(of(other).slice(2))];
    expect(good.slice(2).some(({ patch }) => patch === "gold")).toBe(true);
    expect(mergeValidations(shards("a")).gradings).toHaveLength(good.length);
    expect(() => mergeValidations(shards("b"))).toThrow(/two different patches as gold/);
  });

  it("are named by index and count", () => {
    expect(parseShard("2/5")).toEqual({ index: 2, count: 5 });
    for (const wrong of ["0/2", "3/2", "1", "1/0", "a/b"]) expect(() => parseShard(wrong)).toThrow(/shard/);
  });
});
