import { describe, expect, it } from "vitest";
import { problemsOf } from "./packing";
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
  it("are right where each GPU has one at a time and two lie side by side", () => {
    expect(problemsOf([packed([0], 0, 10), packed([1], 1, 12), packed([0, 1], 12, 20), packed([0], 20, 30)])).toEqual(
      [],
    );
  });

  it("are wrong where a GPU has two, none lie side by side, one fails or has another number", () => {
    expect(problemsOf([packed([0], 0, 10), packed([0, 1], 9, 20), packed([1], 0, 5)])).toEqual([
      "grading 1 and grading 2 had GPU 0 at once",
    ]);
    expect(problemsOf([packed([0], 0, 10), packed([1], 10, 20)])).toEqual(["no two gradings ran side by side"]);
    expect(
      problemsOf([packed([0], 0, 10, { resolved: false }), packed([1], 0, 20, { asked: 2 }), packed([-1], 20, 30)]),
    ).toEqual(["grading 1 is not resolved", "grading 2 had other GPUs", "grading 3 had other GPUs"]);
  });
});
