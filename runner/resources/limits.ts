import type { ManifestTest, TestsFile } from "@/lib/contract/task";
import type { Meter } from "@/lib/contract/vocabulary";

/** Meters that stand outside of the candidate's process. */
export type OutsideMeter = Exclude<Meter, "test">;

/** A limit that the grader measures and decides. */
export type OutsideLimit = NonNullable<ManifestTest["limit"]> & { meter: OutsideMeter };

export type MeasuredTest = ManifestTest & { limit: OutsideLimit };

/**
 * Limits that the grader measures, by test id. They come from the task itself: the manifest of a suite with hidden
 * probes holds none of theirs.
 */
export type OutsideLimits = ReadonlyMap<string, OutsideLimit>;

export function outsideLimitsOf(testsFile: TestsFile): OutsideLimits {
  const limits = new Map<string, OutsideLimit>();
  for (const [id, { limit }] of Object.entries(testsFile.tests)) {
    if (limit?.meter === undefined) continue;
    const { resource, unit, value, relative_to: relativeTo, meter, repeats } = limit;
    limits.set(id, { resource, unit, value, relativeTo, meter, ...(repeats === undefined ? {} : { repeats }) });
  }
  return limits;
}

/** Those of `tests` whose limit the grader decides, with it. */
export const measuredAmong = (tests: readonly ManifestTest[], limits: OutsideLimits): MeasuredTest[] =>
  tests.flatMap((test) => {
    const limit = limits.get(test.id);
    return limit === undefined ? [] : [{ ...test, limit }];
  });

/** What each meter counts in. */
export const meterUnits = {
  "wall-clock": "s",
  "gpu-memory": "MiB",
  "host-memory": "MiB",
  transport: "bytes",
  nvlink: "bytes",
  nccl: "bytes",
} as const satisfies Record<OutsideMeter, string>;

/** Unit of a limit that is relative to base or gold. */
export const ratioUnit = "ratio";

const mebibyte = 1024 * 1024;
const unitsOf: Record<(typeof meterUnits)[OutsideMeter], Record<string, number>> = {
  s: { s: 1, ms: 1000 },
  MiB: { MiB: 1, GiB: 1 / 1024, bytes: mebibyte },
  bytes: { bytes: 1, KiB: 1 / 1024, MiB: 1 / mebibyte, GiB: 1 / (1024 * mebibyte) },
};

/** Units in which a limit of a meter may be stated, where it is not relative. */
export const unitsOfMeter = (meter: OutsideMeter): string[] => Object.keys(unitsOf[meterUnits[meter]]);

/** A meter's value in the unit of a limit; NaN for a unit that does not fit the meter. */
export const inUnit = (value: number, meter: OutsideMeter, unit: string): number =>
  value * (unitsOf[meterUnits[meter]][unit] ?? Number.NaN);

/** Measurements behind a decision, where a limit states none. */
export const defaultRepeats = (limit: OutsideLimit): number => limit.repeats ?? (limit.meter === "wall-clock" ? 5 : 1);

/**
 * Why a test is launched again after its verdict: `timing` for what a clock decides, `profile` for what is compared or
 * repeated otherwise, or needs a profiler in the launch; null where the launch of the verdict is measured itself.
 */
export function extraPurpose(limit: OutsideLimit): "timing" | "profile" | null {
  if (limit.meter === "wall-clock") return "timing";
  return limit.relativeTo !== null || defaultRepeats(limit) > 1 || limit.meter === "nccl" ? "profile" : null;
}
