import type { Resource, TestOutcome, Usage } from "@/lib/contract/result";
import type { Group, ManifestTest } from "@/lib/contract/task";
import type { LaunchPurpose } from "@/lib/contract/vocabulary";
import type { LaunchResult, TimedOutcome } from "../grading/launch";
import { accuracyOf, accuracyOfUsage } from "./accuracy";
import { decideLimit, type Measurement, type Taken } from "./decide";
import { defaultRepeats, extraPurpose, type MeasuredTest, type OutsideMeter } from "./limits";
import type { LaunchMeasures, TestMeasure } from "./measure";

/** Qualified type of the failure that the grader gives a test whose outside measure is over its limit. */
const limitExceeded = "infradev.ResourceLimitExceeded";

export type MeasuredLaunch = LaunchResult & { measures: LaunchMeasures };
type Reference = "base" | "gold";

export type SettleInput = {
  /** Tests that were launched and have a limit that the grader decides. */
  tests: readonly MeasuredTest[];
  groups: readonly Group[];
  /** Outcomes of the launches for verdicts; those over a limit are replaced. */
  outcomes: Map<string, TimedOutcome[]>;
  resources: Map<string, Resource[]>;
  launches: readonly MeasuredLaunch[];
  /** Splits a group's tests into the sets that are launched together. */
  unitsOf(group: Group, tests: readonly ManifestTest[]): string[][];
  /** The meter that a limit is measured by here, which may be another one than it names. */
  meterOf(test: MeasuredTest): OutsideMeter;
  /** Runs one more launch, of the candidate or of a reference; null where the grading ends here. */
  launch(
    group: Group,
    tests: readonly string[],
    purpose: LaunchPurpose,
    reference: Reference | null,
  ): Promise<MeasuredLaunch | null>;
};

/** Why a limit could not be decided: the grading decides nothing then. */
export type Undecided = { message: string; evidence: string[] };

/**
 * Decides every limit that stands outside of the candidate's process, for tests that passed. Launches again what is
 * timed, repeated or compared: base or gold and the candidate in turn. A passed test over its limit becomes failed; a
 * test that does not pass in one of those launches has that outcome; what could not be measured is given back.
 */
export async function settleLimits(input: SettleInput): Promise<Undecided | null> {
  const measured = input.tests.filter((test) => hasPassed(test, input.outcomes.get(test.id)));
  for (const test of measured.filter(({ limit }) => extraPurpose(limit) === null)) {
    const launch = input.outcomes.get(test.id)?.[0]?.outcome.launch;
    const taken = launch == null ? undefined : input.launches[launch];
    const one = taken === undefined ? null : measurementOf(test, taken, input.meterOf(test));
    const undecided = decide(input, test, { candidate: one === null ? [] : [one], reference: null }, taken);
    if (undecided !== null) return undecided;
  }
  for (const group of input.groups) {
    for (const purpose of ["timing", "profile"] as const) {
      const tests = measured.filter((test) => test.group === group.id && extraPurpose(test.limit) === purpose);
      for (const unit of input.unitsOf(group, tests)) {
        const own = tests.filter(({ id }) => unit.includes(id));
        const undecided = own.length === 0 ? null : await takeRounds(input, group, own, purpose);
        if (undecided !== null) return undecided === "ended" ? null : undecided;
      }
    }
  }
  return null;
}

/** Whether a test passed on the ranks that it must pass on. */
export function hasPassed(test: Pick<ManifestTest, "ranks">, ranks: readonly TimedOutcome[] | undefined): boolean {
  if (ranks === undefined || ranks.length === 0) return false;
  const passed = ({ outcome }: TimedOutcome) => outcome.status === "passed";
  if (test.ranks === "any") return ranks.some(passed);
  const { ranks: wanted } = test;
  return ranks.filter(({ outcome }) => wanted === "all" || wanted.includes(outcome.rank)).every(passed);
}

type Sides = { candidate: Measurement[]; reference: Measurement[] };

async function takeRounds(
  input: SettleInput,
  group: Group,
  tests: readonly MeasuredTest[],
  purpose: "timing" | "profile",
): Promise<Undecided | "ended" | null> {
  const rounds: Rounds = {
    input,
    group,
    purpose,
    taken: new Map(tests.map(({ id }) => [id, { candidate: [], reference: [] }])),
    open: new Set(tests),
    newest: undefined,
  };
  const count = Math.max(...tests.map(({ limit }) => defaultRepeats(limit)));
  for (let round = 0; round < count; round += 1) {
    const now = tests.filter((test) => round < defaultRepeats(test.limit));
    for (const reference of ["base", "gold", null] as const) {
      const own = now.filter((test) => reference === null || test.limit.relativeTo === reference);
      const undecided = await takeRound(rounds, own, reference);
      if (undecided !== null) return undecided;
    }
  }
  for (const test of rounds.open) {
    const { candidate, reference } = rounds.taken.get(test.id) ?? { candidate: [], reference: [] };
    const sides = { candidate, reference: test.limit.relativeTo === null ? null : reference };
    const undecided = decide(input, test, sides, rounds.newest);
    if (undecided !== null) return undecided;
  }
  return null;
}

type Rounds = {
  input: SettleInput;
  group: Group;
  purpose: "timing" | "profile";
  taken: ReadonlyMap<string, Sides>;
  /** Tests that passed in every launch so far. */
  open: Set<MeasuredTest>;
  newest: MeasuredLaunch | undefined;
};

/** One measurement of each open test on one side; what a launch was ended before is launched again. */
async function takeRound(
  rounds: Rounds,
  tests: readonly MeasuredTest[],
  reference: Reference | null,
): Promise<Undecided | "ended" | null> {
  const { input, group, purpose, taken, open } = rounds;
  let own = tests.filter((test) => open.has(test));
  while (own.length > 0) {
    const ids = own.map(({ id }) => id);
    const result = await input.launch(group, ids, reference === null ? purpose : "reference", reference);
    if (result === null) return "ended";
    rounds.newest = result;
    const left: MeasuredTest[] = [];
    for (const test of own) {
      const outcomes = result.outcomes.get(test.id);
      if (outcomes === undefined) {
        left.push(test);
      } else if (hasPassed(test, outcomes)) {
        const one = measurementOf(test, result, input.meterOf(test));
        if (one !== null) taken.get(test.id)?.[reference === null ? "candidate" : "reference"].push(one);
      } else if (reference !== null) {
        return referenceFailed(test, reference, outcomes);
      } else {
        input.outcomes.set(test.id, outcomes);
        open.delete(test);
      }
    }
    const [first] = left;
    if (first !== undefined && left.length === own.length) return lost(first);
    own = left;
  }
  return null;
}

function measurementOf(test: MeasuredTest, launch: MeasuredLaunch, meter: OutsideMeter): Measurement | null {
  const { measures } = launch;
  const own: TestMeasure | undefined = measures.tests.get(test.id);
  const whole = (value: number | null | undefined): Measurement | null => (value == null ? null : { value, rank: 0 });
  switch (meter) {
    case "wall-clock":
      return own?.wallClockS ?? null;
    case "gpu-memory":
      return own?.gpuPeakMib ?? null;
    case "host-memory":
      return whole(measures.hostPeakMib);
    case "transport":
      return whole(own?.transportBytes);
    case "nvlink":
      return whole(own?.nvlinkBytes);
    case "nccl":
      return whole(measures.nccl?.bytes);
  }
}

function decide(
  input: SettleInput,
  test: MeasuredTest,
  taken: Taken,
  launch: MeasuredLaunch | undefined,
): Undecided | null {
  const meter = input.meterOf(test);
  const byUsage = meter === "host-memory" && launch?.measures.hostByGroup === false;
  const resource = decideLimit(test, taken, { meter, accuracy: byUsage ? accuracyOfUsage : accuracyOf[meter] });
  if (resource === null) return notMeasured(test, taken, launch);
  input.resources.set(test.id, [...(input.resources.get(test.id) ?? []), resource]);
  if (!resource.met) {
    input.outcomes.set(test.id, exceeded(test, input.outcomes.get(test.id) ?? [], resource));
  }
  return null;
}

/** The outcomes of a passed test, failed where its measure is over the limit: on the rank that was measured, or on all. */
function exceeded(test: MeasuredTest, ranks: readonly TimedOutcome[], resource: Resource): TimedOutcome[] {
  const ofRank = test.limit.meter === "wall-clock" || test.limit.meter === "gpu-memory";
  const wanted = Array.isArray(test.ranks) ? test.ranks : null;
  const one = ofRank && test.ranks !== "any" && (wanted?.includes(resource.rank) ?? true);
  return ranks.map(({ outcome, failedAt }) => {
    const fails = outcome.status === "passed" && (!one || outcome.rank === resource.rank);
    if (!fails) return { outcome, failedAt };
    return {
      outcome: {
        ...outcome,
        status: "failed",
        failure: {
          phase: "call",
          exceptionType: limitExceeded,
          mro: [limitExceeded, "AssertionError"],
          message: messageOf(resource),
          frames: [],
          activeCheck: test.property,
          secondaryOf: null,
        },
      },
      failedAt: Date.now() / 1000,
    };
  });
}

const shown = (value: number): string => (Number.isInteger(value) ? String(value) : value.toPrecision(4));

function messageOf({ name, value, limit, unit, meter, repeats, relative }: Resource): string {
  const sides =
    relative === undefined
      ? ""
      : `: ${shown(relative.measured)} ${relative.sideUnit} against ${shown(relative.reference)} ${relative.sideUnit} of ${relative.to}`;
  const of = repeats === 1 ? "" : `, median of ${repeats}`;
  return `${name}: ${shown(value)} ${unit} exceeds the limit of ${shown(limit)} ${unit} (${meter}${of})${sides}`;
}

const title = (test: MeasuredTest): string => `limit '${test.limit.resource}' (${test.limit.meter}) of ${test.id}`;

function notMeasured(test: MeasuredTest, taken: Taken, launch: MeasuredLaunch | undefined): Undecided {
  const reference = taken.reference === null ? "" : `, ${taken.reference.length} of ${test.limit.relativeTo}`;
  return {
    message: "a passed test's limit could not be measured from outside, so it decides nothing",
    evidence: [
      title(test),
      `measurements: ${taken.candidate.length} of the candidate${reference}; needed: ${defaultRepeats(test.limit)}`,
      ...(launch?.measures.notes ?? []).slice(0, 5),
    ],
  };
}

function referenceFailed(test: MeasuredTest, to: Reference, outcomes: readonly TimedOutcome[]): Undecided {
  const failed = outcomes.find(({ outcome }) => outcome.status !== "passed")?.outcome;
  return {
    message: `${to} did not pass the test that the candidate is compared with it by`,
    evidence: [title(test), `${to} on rank ${failed?.rank ?? 0}: ${failed?.status ?? "not-run"}`],
  };
}

const lost = (test: MeasuredTest): Undecided => ({
  message: "a launch that measures was ended before it had an outcome",
  evidence: [title(test)],
});

/** What a test took in the launch that decided it, for readers; `undefined` where nothing was measured. */
export function usageOf(launch: MeasuredLaunch | undefined, id: string): TestOutcome["usage"] {
  const own = launch?.measures.tests.get(id);
  if (own === undefined) return undefined;
  return {
    wallClockS: own.wallClockS?.value ?? null,
    gpuPeakMib: own.gpuPeakMib?.value ?? null,
    allocatorPeakMib: own.allocator?.reservedMib ?? null,
    hostPeakMib: null,
    transportBytes: own.transportBytes,
    nvlinkBytes: own.nvlinkBytes,
  };
}

/** What a launch took as a whole. */
export function launchUsage(measures: LaunchMeasures): Usage {
  const peaks = measures.gpus.flatMap(({ peakMib }) => peakMib ?? []);
  const allocators = [...measures.tests.values()].flatMap(({ allocator }) => allocator?.reservedMib ?? []);
  return {
    wallClockS: null,
    gpuPeakMib: peaks.length === 0 ? null : Math.max(...peaks),
    allocatorPeakMib: allocators.length === 0 ? null : Math.max(...allocators),
    hostPeakMib: measures.hostPeakMib,
    transportBytes: measures.transportBytes,
    nvlinkBytes: measures.nvlinkBytes,
  };
}
