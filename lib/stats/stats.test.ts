import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bootstrapInterval } from "./bootstrap";
import { holmAdjust } from "./holm";
import { wilsonInterval } from "./intervals";
import { type CountStratum, mcnemarBounds, mcnemarExact, signFlipTest, winsNeeded } from "./paired-tests";
import { passAtK, passHatK } from "./pass-at-k";
import { seededRandom } from "./random";
import { decidePairs, rankSets } from "./rank-sets";

describe("wilsonInterval", () => {
  it.each([
    // Newcombe, Statistics in Medicine 17 (1998), table I, method 3 (Wilson without continuity correction).
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("agrees with Newcombe's table for %i/%i", (successes, total, low, high) => {
    const [l, h] = wilsonInterval(successes, total);
    expect(l).toBeCloseTo(low, 4);
    expect(h).toBeCloseTo(high, 4);
  });

  it("gives the interval drawn for 14 of 36", () => {
    const [low, high] = wilsonInterval(14, 36);
    expect(low * 100).toBeCloseTo(24.8, 1);
    expect(high * 100).toBeCloseTo(55.1, 1);
  });

  it("contains the estimate, stays in [0, 1] and mirrors", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.double({ min: 0, max: 1, noNaN: true }), (total, share) => {
        const successes = Math.round(share * total);
        const [low, high] = wilsonInterval(successes, total);
        const [mirroredLow, mirroredHigh] = wilsonInterval(total - successes, total);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(successes / total);
        expect(high).toBeGreaterThanOrEqual(successes / total);
        expect(mirroredLow).toBeCloseTo(1 - high, 10);
        expect(mirroredHigh).toBeCloseTo(1 - low, 10);
      }),
    );
  });

  it("refuses what is no proportion", () => {
    expect(() => wilsonInterval(3, 2)).toThrow(RangeError);
    expect(() => wilsonInterval(0, 0)).toThrow(RangeError);
    expect(() => wilsonInterval(0.5, 2)).toThrow(RangeError);
  });
});

describe("mcnemarExact", () => {
  it.each([
    [6, 0, 0.03125],
    [5, 0, 0.0625],
    [10, 0, 0.001953125],
    [0, 0, 1],
    [3, 3, 1],
    // Twice the sum of C(21, 0..5), counted by hand.
    [5, 16, (2 * (1 + 21 + 210 + 1330 + 5985 + 20349)) / 2 ** 21],
    // R's binom.test(9, 30).
    [9, 21, 0.04277395],
  ])("is exact for %i against %i", (a, b, p) => {
    expect(mcnemarExact(a, b)).toBeCloseTo(p, 7);
  });

  it("is symmetric, a probability, and falls as a lead over the same loser grows", () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(300), (a, b) => {
        const p = mcnemarExact(a, b);
        expect(p).toBe(mcnemarExact(b, a));
        expect(p).toBeGreaterThanOrEqual(0);
        expect(p).toBeLessThanOrEqual(1);
        const lead = Math.max(a, b);
        const loser = Math.min(a, b);
        expect(mcnemarExact(lead + 1, loser)).toBeLessThanOrEqual(mcnemarExact(lead, loser) + 1e-12);
      }),
    );
  });

  it("does not underflow on thousands of tasks", () => {
    expect(mcnemarExact(2000, 2000)).toBe(1);
    expect(mcnemarExact(2100, 1900)).toBeGreaterThan(0.001);
    expect(mcnemarExact(2100, 1900)).toBeLessThan(0.002);
  });
});

describe("signFlipTest", () => {
  it("equals exact McNemar on differences of one", () => {
    fc.assert(
      fc.property(fc.nat(6), fc.nat(6), (a, b) => {
        const differences = [...new Array(a).fill(1), ...new Array(b).fill(-1), 0, 0];
        expect(signFlipTest(differences, seededRandom(1))).toBeCloseTo(mcnemarExact(a, b), 10);
      }),
      { numRuns: 60 },
    );
  });

  it("enumerates fractions: only the two unanimous assignments reach 3.75 of four tasks", () => {
    expect(signFlipTest([0.75, 1, 1, 1], seededRandom(1))).toBe(2 / 16);
  });

  it("draws reproducibly beyond the limit, near the exact value and never 0", () => {
    const differences = [...new Array(19).fill(1), ...new Array(6).fill(-1)];
    const p = signFlipTest(differences, seededRandom(7));
    expect(p).toBe(signFlipTest(differences, seededRandom(7)));
    expect(p).toBeCloseTo(mcnemarExact(19, 6), 2);
    expect(signFlipTest(new Array(60).fill(1), seededRandom(7), 500)).toBe(1 / 501);
  });
});

describe("mcnemarBounds", () => {
  const stratum = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 12 }).map((tasks) => tasks);

  it("contains the p-value of every pairing with those counts", () => {
    fc.assert(
      fc.property(fc.array(stratum, { minLength: 1, maxLength: 3 }), (strata) => {
        const tasks = strata.flat();
        const p = mcnemarExact(tasks.filter(([a, b]) => a && !b).length, tasks.filter(([a, b]) => !a && b).length);
        const counts: CountStratum[] = strata.map((of) => ({
          a: of.filter(([a]) => a).length,
          b: of.filter(([, b]) => b).length,
          total: of.length,
        }));
        const { smallest, largest } = mcnemarBounds(counts);
        expect(smallest).toBeLessThanOrEqual(p + 1e-12);
        expect(largest).toBeGreaterThanOrEqual(p - 1e-12);
      }),
    );
  });

  it("leaves no doubt where counts leave no choice", () => {
    expect(mcnemarBounds([{ a: 10, b: 0, total: 10 }])).toEqual({ smallest: 2 ** -9, largest: 2 ** -9 });
  });

  it("refuses counts outside a stratum", () => {
    expect(() => mcnemarBounds([{ a: 3, b: 0, total: 2 }])).toThrow(RangeError);
  });
});

describe("winsNeeded", () => {
  it.each([
    [1, 6],
    [15, 10],
    [45, 11],
  ])("for %i pairs is %i", (pairs, wins) => {
    expect(winsNeeded(pairs)).toBe(wins);
    expect(mcnemarExact(wins, 0)).toBeLessThanOrEqual(0.05 / pairs);
    expect(mcnemarExact(wins - 1, 0)).toBeGreaterThan(0.05 / pairs);
  });
});

describe("holmAdjust", () => {
  it("agrees with R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), 'holm')", () => {
    const adjusted = holmAdjust([0.01, 0.02, 0.03, 0.04, 0.05]);
    [0.05, 0.08, 0.09, 0.09, 0.09].forEach((p, index) => {
      expect(adjusted[index]).toBeCloseTo(p, 12);
    });
  });

  it("keeps the order given, never lowers a p-value, and is monotone", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 }), (pValues) => {
        const adjusted = holmAdjust(pValues);
        expect(adjusted).toHaveLength(pValues.length);
        pValues.forEach((p, i) => {
          expect(adjusted[i]).toBeGreaterThanOrEqual(p);
          expect(adjusted[i]).toBeLessThanOrEqual(1);
          pValues.forEach((q, j) => {
            if (p < q) expect(adjusted[i] as number).toBeLessThanOrEqual(adjusted[j] as number);
          });
        });
      }),
    );
  });
});

describe("rank sets", () => {
  it("puts rows that nothing separates into one group", () => {
    expect(rankSets(3, [])).toEqual([
      [1, 3],
      [1, 3],
      [1, 3],
    ]);
  });

  it("counts who is better and who is worse", () => {
    expect(
      rankSets(3, [
        { better: 0, worse: 1 },
        { better: 0, worse: 2 },
      ]),
    ).toEqual([
      [1, 1],
      [2, 3],
      [2, 3],
    ]);
  });

  it("tells separated, not separated and cannot tell apart", () => {
    const verdicts = decidePairs([
      { a: 0, b: 1, difference: 12, smallest: 0.0001, largest: 0.001 },
      { a: 0, b: 2, difference: 8, smallest: 0.004, largest: 0.2 },
      { a: 1, b: 2, difference: -1, smallest: 0.6, largest: 1 },
    ]).map((pair) => pair.verdict);
    expect(verdicts).toEqual(["separated", "cannot-tell", "not-separated"]);
  });

  it("never separates rows whose totals are equal", () => {
    expect(decidePairs([{ a: 0, b: 1, difference: 0, smallest: 0, largest: 0 }])[0]?.verdict).toBe("not-separated");
  });
});

describe("bootstrapInterval", () => {
  it("is reproducible, holds the mean, and is none without variation", () => {
    const values = [0, 0.2, 0.4, 0.6, 0.8, 1];
    const mean = (sample: readonly number[]) => sample.reduce((sum, value) => sum + value, 0) / sample.length;
    const interval = bootstrapInterval(values, mean, seededRandom(3));
    expect(interval).toEqual(bootstrapInterval(values, mean, seededRandom(3)));
    expect(interval?.[0]).toBeLessThan(0.5);
    expect(interval?.[1]).toBeGreaterThan(0.5);
    expect(bootstrapInterval([2, 2, 2], mean, seededRandom(3))).toBeNull();
    expect(bootstrapInterval([], mean, seededRandom(3))).toBeNull();
  });
});

describe("pass@k and pass^k", () => {
  it("agree with counting all draws", () => {
    expect(passAtK(5, 2, 1)).toBeCloseTo(0.4, 12);
    expect(passAtK(5, 2, 2)).toBeCloseTo(1 - 3 / 10, 12);
    expect(passHatK(5, 2, 2)).toBeCloseTo(1 / 10, 12);
    expect(passAtK(3, 0, 3)).toBe(0);
    expect(passHatK(3, 3, 3)).toBe(1);
    expect(() => passAtK(2, 1, 3)).toThrow(RangeError);
  });
});

describe("seededRandom", () => {
  it("is uniform enough and differs by seed", () => {
    const random = seededRandom(42);
    const draws = Array.from({ length: 20_000 }, random);
    expect(draws.reduce((sum, value) => sum + value, 0) / draws.length).toBeCloseTo(0.5, 2);
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
    expect(seededRandom(1)()).not.toBe(seededRandom(2)());
  });
});
