import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resourceSchema } from "@/lib/contract/result";
import { decideLimit, type Measurement, median } from "./decide";
import { inUnit, type MeasuredTest, type OutsideLimit, unitsOfMeter } from "./limits";

const testWith = (limit: Partial<OutsideLimit>): MeasuredTest => ({
  id: "tests/test_x.py::test_x",
  kind: "official",
  expectation: "f2p",
  group: "g",
  property: "resource.speed",
  condition: null,
  ranks: "all",
  needs: { ranks: 2, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: null,
  limit: { resource: "x", unit: "bytes", value: 10, relativeTo: null, meter: "transport", ...limit },
});
const by = { meter: "transport" as const, accuracy: "exact" };
const of = (...values: number[]): Measurement[] => values.map((value, rank) => ({ value, rank }));

const measurement = fc.record({ value: fc.double({ min: 1e-6, max: 1e15, noNaN: true }), rank: fc.nat(7) });
const odd = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1);

describe("a limit that the grader decides", () => {
  it("is met exactly where the median is at most its value, whatever the order", () => {
    fc.assert(
      fc.property(
        fc.array(measurement, { minLength: 1, maxLength: 9 }),
        fc.double({ min: 0, max: 1e15, noNaN: true }),
        (taken, value) => {
          const test = testWith({ value, repeats: taken.length });
          const decided = decideLimit(test, { candidate: taken, reference: null }, by);
          const middle = median(taken.map((one) => one.value));
          expect(decided).not.toBeNull();
          expect(resourceSchema.parse(decided)).toEqual(decided);
          expect(decided?.met).toBe(middle <= value);
          expect(decided?.met).toBe((decided?.value ?? Number.NaN) <= (decided?.limit ?? Number.NaN));
          expect(decided?.spread?.min).toBeLessThanOrEqual(decided?.value ?? Number.NaN);
          expect(decided?.spread?.max).toBeGreaterThanOrEqual(decided?.value ?? Number.NaN);
          const turned = decideLimit(test, { candidate: [...taken].reverse(), reference: null }, by);
          expect(turned).toEqual(decided);
        },
      ),
    );
  });

  it("is decided by nothing less than what it asks for", () => {
    fc.assert(
      fc.property(
        fc.array(measurement, { maxLength: 8 }),
        fc.option(fc.array(measurement, { maxLength: 8 }), { nil: null }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (candidate, reference, repeats, relative) => {
          const test = testWith({ repeats, relativeTo: relative ? "gold" : null, value: Number.MAX_VALUE });
          const decided = decideLimit(test, { candidate, reference }, by);
          const enough = candidate.length >= repeats && (reference?.length ?? repeats) >= repeats;
          expect(decided !== null).toBe(enough && relative === (reference !== null));
        },
      ),
    );
  });

  it("is not met, nor missed, by what is no measurement", () => {
    fc.assert(
      fc.property(
        fc.array(measurement, { minLength: 1, maxLength: 5 }),
        odd,
        fc.boolean(),
        (good, value, inReference) => {
          const bad = [...good, { value, rank: 0 }];
          const taken = inReference
            ? { candidate: [...good, ...of(1)], reference: bad }
            : { candidate: bad, reference: [...good, ...of(1)] };
          expect(decideLimit(testWith({ relativeTo: "base", unit: "ratio", repeats: 1 }), taken, by)).toBeNull();
        },
      ),
    );
  });

  it("has no ratio to a reference of zero", () => {
    const test = testWith({ relativeTo: "base", unit: "ratio" });
    expect(decideLimit(test, { candidate: of(0), reference: of(0) }, by)).toBeNull();
  });

  it("compares medians, so that one slow launch on either side decides nothing", () => {
    const test = testWith({ relativeTo: "gold", unit: "ratio", value: 2, meter: "wall-clock", repeats: 5 });
    const how = { meter: "wall-clock" as const, accuracy: "exact" };
    const decided = decideLimit(test, { candidate: of(1.1, 9, 1.2, 1, 1.3), reference: of(1, 1, 30, 0.9, 1.1) }, how);
    expect(decided).toMatchObject({
      met: true,
      unit: "ratio",
      repeats: 5,
      relative: { to: "gold", reference: 1, measured: 1.2 },
    });
    expect(decided?.value).toBeCloseTo(1.2);
    const slow = decideLimit(test, { candidate: of(4, 4.1, 3.9, 4, 0.1), reference: of(1, 1, 1, 1, 1) }, how);
    expect(slow?.met).toBe(false);
  });

  it("counts five times unless it says otherwise where times decide", () => {
    const test = testWith({ relativeTo: "gold", unit: "ratio", meter: "wall-clock" });
    const four = of(1, 1, 1, 1);
    expect(decideLimit(test, { candidate: four, reference: four }, by)).toBeNull();
  });
});

describe("units of a limit", () => {
  it("fit the meter, or decide nothing", () => {
    expect(inUnit(3 * 1024 * 1024, "transport", "MiB")).toBe(3);
    expect(inUnit(2, "gpu-memory", "bytes")).toBe(2 * 1024 * 1024);
    expect(inUnit(0.25, "wall-clock", "ms")).toBe(250);
    expect(unitsOfMeter("host-memory")).toContain("GiB");
    const test = testWith({ unit: "MiB", meter: "wall-clock", repeats: 1 });
    expect(decideLimit(test, { candidate: of(1), reference: null }, { meter: "wall-clock", accuracy: "" })).toBeNull();
  });
});
