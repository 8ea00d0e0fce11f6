import { expect, it } from "vitest";
import type { Group } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { TimedOutcome } from "../grading/launch";
import type { MeasuredTest } from "./limits";
import type { TestMeasure } from "./measure";
import { type MeasuredLaunch, type SettleInput, settleLimits } from "./settle";

const group: Group = {
  id: "g",
  launcher: "pytest",
  nproc: 1,
  isolation: "group",
  timeout_sec: 60,
  test_timeout_sec: 30,
};
const testOf = (name: string): MeasuredTest => ({
  id: `tests/test_x.py::${name}`,
  kind: "official",
  expectation: "f2p",
  group: "g",
  property: "resource.speed",
  condition: null,
  ranks: "all",
  needs: { ranks: 1, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: null,
  limit: { resource: "time", unit: "ratio", value: 2, relativeTo: "gold", meter: "wall-clock", repeats: 5 },
});
const outcomeOf = (status: OutcomeStatus): TimedOutcome[] => [
  {
    outcome: { rank: 0, status, launch: 0, startedAt: null, durationMs: 1, failure: null, logLine: null },
    failedAt: null,
  },
];

/** Settles two tests; `play` says what a candidate's launch of some tests gives, by their number. */
async function settle(play: (ids: readonly string[]) => ReadonlyMap<string, OutcomeStatus>) {
  const tests = [testOf("test_a"), testOf("test_b")];
  const outcomes = new Map(tests.map(({ id }) => [id, outcomeOf("passed")]));
  let launches = 0;
  const input: SettleInput = {
    tests,
    groups: [group],
    outcomes,
    resources: new Map(),
    launches: [],
    unitsOf: (_group, unit) => [unit.map(({ id }) => id)],
    meterOf: ({ limit }) => limit.meter,
    launch: async (_group, ids, _purpose, reference) => {
      launches += 1;
      const given = reference === null ? play(ids) : new Map(ids.map((id) => [id, "passed" as const]));
      return {
        outcomes: new Map([...given].map(([id, status]) => [id, outcomeOf(status)])),
        measures: {
          tests: new Map(ids.map((id) => [id, { wallClockS: { value: 1, rank: 0 } } as TestMeasure])),
          notes: [],
        },
      } as unknown as MeasuredLaunch;
    },
  };
  const undecided = await settleLimits(input);
  return { undecided, launches, statuses: tests.map(({ id }) => outcomes.get(id)?.[0]?.outcome.status) };
}

const [a = "", b = ""] = [testOf("test_a").id, testOf("test_b").id];

it("measures on what a launch was ended before, where another test of it hung", async () => {
  const { undecided, launches, statuses } = await settle((ids) =>
    ids.includes(a) ? new Map([[a, "hung"]]) : new Map([[b, "passed"]]),
  );
  expect(undecided).toBeNull();
  expect(statuses).toEqual(["hung", "passed"]);
  expect(launches).toBe(11);
});

it("decides nothing where a launch gives no outcome at all", async () => {
  const { undecided } = await settle(() => new Map());
  expect(undecided?.message).toContain("was ended before it had an outcome");
});
