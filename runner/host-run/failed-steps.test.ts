import { expect, it } from "vitest";
import { failedSteps } from "./failed-steps";
import type { HostRun } from "./state";

const unmade = { selftest: null, collectives: null, packing: null };
const failedOf = (run: Partial<Pick<HostRun, keyof typeof unmade>>): string[] => [
  ...failedSteps({ ...unmade, ...run } as HostRun),
];
const exploit = (verdict: string) => ({ name: "one", verdict, seen: "", durationMs: 1 });
const row = (holds: boolean) => ({
  test: "test",
  expected: "passed",
  observed: "passed",
  holds,
  rootRank: null,
  evidence: [],
  durationMs: 1,
});
const seen = (holds: boolean, narrow: boolean | null) => ({
  gpus: 2,
  status: "completed" as const,
  rows: [row(true), row(holds)],
  withoutSharedMemory: narrow === null ? null : { status: "infra" as const, reason: null, said: [], holds: narrow },
  traffic: [],
  memory: { heldMb: 1, nvmlMb: null, allocatorMb: null },
});

it("a step fails where an exploit passed or the control did not, a rank was told wrong, or GPUs were mixed up", () => {
  expect(failedOf({})).toEqual([]);
  expect(failedOf({ selftest: { controlResolved: true, results: [exploit("detected")] } })).toEqual([]);
  expect(failedOf({ selftest: { controlResolved: false, results: [exploit("detected")] } })).toEqual(["selftest"]);
  expect(failedOf({ selftest: { controlResolved: true, results: [exploit("passed")] } })).toEqual(["selftest"]);
  expect(failedOf({ collectives: seen(true, null) })).toEqual([]);
  expect(failedOf({ collectives: seen(true, true) })).toEqual([]);
  expect(failedOf({ collectives: seen(true, false) })).toEqual(["collectives"]);
  expect(
    failedOf({ collectives: seen(false, true), packing: { gradings: [], problems: ["nobody had to wait"] } }),
  ).toEqual(["collectives", "packing"]);
  expect(failedOf({ packing: { gradings: [], problems: [] } })).toEqual([]);
});
