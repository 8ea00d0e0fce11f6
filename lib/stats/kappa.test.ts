import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalQuantile } from "./intervals";
import { cohenKappa, leastItemsForInterval } from "./kappa";

/** A square table, the first rater's categories as rows. */
const table = (rows: readonly (readonly number[])[]) =>
  rows.flatMap((row, first) => row.map((count, second) => ({ first: `c${first}`, second: `c${second}`, count })));

describe("Cohen's kappa", () => {
  it("is that of the skin conditions in the guide of SAS's FREQ procedure, with its error and limits", () => {
    const { n, kappa, interval } = cohenKappa(
      table([
        [10, 4, 1, 0],
        [5, 10, 12, 2],
        [2, 4, 12, 5],
        [0, 2, 6, 13],
      ]),
    );
    expect(n).toBe(88);
    expect(kappa).toBeCloseTo(0.3449, 4);
    expect(interval?.[0]).toBeCloseTo(0.203, 4);
    expect(interval?.[1]).toBeCloseTo(0.4868, 4);
    expect(((interval?.[1] ?? 0) - (interval?.[0] ?? 0)) / 2 / normalQuantile).toBeCloseTo(0.0724, 4);
  });

  it("is that of the hundred diagnoses in Fleiss, Statistical Methods for Rates and Proportions (1981), p. 213", () => {
    const { observed, expected, kappa } = cohenKappa(
      table([
        [75, 1, 4],
        [5, 4, 1],
        [0, 0, 10],
      ]),
    );
    expect(observed).toBeCloseTo(0.89, 12);
    expect(expected).toBeCloseTo(0.66, 12);
    expect(kappa).toBeCloseTo(0.23 / 0.34, 12);
  });

  it("is 1 where both always agree, and gives no interval: nothing says how far that carries", () => {
    expect(
      cohenKappa(
        table([
          [20, 0],
          [0, 30],
        ]),
      ),
    ).toMatchObject({ n: 50, observed: 1, kappa: 1, interval: null });
  });

  it("is not defined where both gave everything one category, nor without items", () => {
    expect(cohenKappa([{ first: "value", second: "value", count: 40 }])).toMatchObject({ kappa: null, interval: null });
    expect(cohenKappa([])).toEqual({ n: 0, observed: null, expected: null, kappa: null, interval: null });
  });

  it("gives no interval from fewer items than an error can be had from", () => {
    const few = leastItemsForInterval - 1;
    expect(
      cohenKappa(
        table([
          [few - 3, 1],
          [1, 1],
        ]),
      ).interval,
    ).toBeNull();
    expect(
      cohenKappa(
        table([
          [few - 2, 1],
          [1, 1],
        ]),
      ).interval,
    ).not.toBeNull();
  });

  it("gives no interval where one rater gave everything one category, whatever rounding leaves", () => {
    const one = [
      [9, 0],
      [2, 0],
    ];
    for (const counts of [table(one), [...table(one)].reverse()]) {
      expect(cohenKappa(counts).kappa).toBeCloseTo(0, 12);
      expect(cohenKappa(counts).interval).toBeNull();
    }
  });

  it("is negative where raters agree less than by chance", () => {
    expect(
      cohenKappa(
        table([
          [0, 10],
          [10, 0],
        ]),
      ).kappa,
    ).toBeCloseTo(-1, 12);
  });

  it("refuses counts that are none", () => {
    expect(() => cohenKappa([{ first: "a", second: "b", count: -1 }])).toThrow(RangeError);
    expect(() => cohenKappa([{ first: "a", second: "b", count: 0.5 }])).toThrow(RangeError);
  });

  it("does not depend on who is first, on the order of the categories, or on how counts are split", () => {
    const square = fc
      .integer({ min: 2, max: 5 })
      .chain((size) =>
        fc.array(fc.array(fc.nat(30), { minLength: size, maxLength: size }), { minLength: size, maxLength: size }),
      );
    fc.assert(
      fc.property(square, (rows) => {
        const counts = table(rows);
        const one = cohenKappa(counts);
        const others = [
          cohenKappa(counts.map(({ first, second, count }) => ({ first: second, second: first, count }))),
          cohenKappa([...counts].reverse()),
          cohenKappa(counts.flatMap((cell) => Array.from({ length: cell.count }, () => ({ ...cell, count: 1 })))),
        ];
        for (const other of others) {
          if (one.kappa === null) expect(other.kappa).toBeNull();
          else expect(other.kappa).toBeCloseTo(one.kappa, 9);
          if (one.interval) {
            expect(other.interval?.[0]).toBeCloseTo(one.interval[0], 9);
            expect(one.interval[0]).toBeLessThanOrEqual(one.kappa ?? 2);
            expect(one.interval[1]).toBeGreaterThanOrEqual(one.kappa ?? -2);
          }
        }
      }),
    );
  });
});
