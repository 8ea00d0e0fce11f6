import { describe, expect, it } from "vitest";
import { itemRestCorrelation } from "./discrimination";

describe("item-rest correlation", () => {
  it("is 1 where the task orders entries as the rest does, and -1 where it orders them the other way", () => {
    expect(itemRestCorrelation([0, 0.5, 1], [0.2, 0.4, 0.6])).toBeCloseTo(1, 12);
    expect(itemRestCorrelation([1, 0.5, 0], [0.2, 0.4, 0.6])).toBeCloseTo(-1, 12);
  });

  it("agrees with a value worked out by hand", () => {
    // deviations (-.5, -.5, .5, .5) and (-.3, .1, -.1, .3): 0.2 / sqrt(1 * 0.2)
    expect(itemRestCorrelation([0, 0, 1, 1], [0.2, 0.6, 0.4, 0.8])).toBeCloseTo(0.2 / Math.sqrt(0.2), 12);
  });

  it("is undefined with two entries, and where the task or the rest does not vary", () => {
    expect(itemRestCorrelation([0, 1], [0.2, 0.8])).toBeNull();
    expect(itemRestCorrelation([1, 1, 1], [0.1, 0.2, 0.3])).toBeNull();
    expect(itemRestCorrelation([0, 1, 1], [0.1, 0.1, 0.1])).toBeNull();
  });

  it("refuses lists of different length", () => {
    expect(() => itemRestCorrelation([0, 1, 1], [0.1])).toThrow(RangeError);
  });
});
