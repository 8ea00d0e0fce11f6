import { describe, expect, it } from "vitest";
import { askedOf, problemsOf } from "./packing";
import type { Packed } from "./state";

const packed = (gpus: number[], startedMs: number, endedMs: number, more: Partial<Packed> = {}): Packed => ({
  pool: "first",
  asked: gpus.length,
  gpus,
  askedMs: 0,
  startedMs,
  endedMs,
  resolved: true,
  ...more,
});

describe("gradings packed onto GPUs", () => {
  const other = { pool: "second" };

  it("are right where each GPU has one at a time and those of both pools lie side by side", () => {
    const right = [packed([0], 0, 10), packed([1], 1, 12, other), packed([0, 1], 12, 20), packed([0], 20, 30)];
    expect(problemsOf(right)).toEqual([]);
  });

  it("are wrong where a GPU has two, none lie side by side, nobody waits, one fails or has another number", () => {
    expect(problemsOf([packed([0], 0, 10), packed([0, 1], 9, 20), packed([1], 0, 5, other)])).toEqual([
      "grading 1 and grading 2 had GPU 0 at once",
    ]);
    const alone = "no gradings of both pools ran side by side";
    expect(problemsOf([packed([0], 0, 10), packed([1], 10, 20, other)])).toEqual([alone]);
    expect(problemsOf([packed([0], 0, 10), packed([1], 0, 10)])).toEqual([alone, "nobody had to wait"]);
    expect(
      problemsOf([
        packed([0], 0, 10, { resolved: false }),
        packed([1], 0, 20, { ...other, asked: 2 }),
        packed([0], 20, 30),
      ]),
    ).toEqual(["grading 1 is not resolved", "grading 2 had other GPUs"]);
  });

  it("ask for more than a host has, whatever it has", () => {
    for (const gpus of [2, 4, 8]) {
      const asked = askedOf(gpus);
      expect(asked.reduce((sum, each) => sum + each.gpus, 0)).toBe(4 * gpus);
      expect(new Set(asked.map((each) => each.gpus))).toEqual(new Set([gpus / 2, gpus]));
    }
  });
});
