import { describe, expect, it } from "vitest";
import {
  countWord,
  formatBytes,
  formatInterval,
  formatMeasure,
  formatNumber,
  formatP,
  formatPct,
  formatPctUnit,
  formatRankSet,
  formatUsd,
  plural,
} from "./numbers";
import { formatDate, formatDay, formatDuration, formatInstant } from "./times";

describe("numbers", () => {
  it("prints an em dash for what is missing, in every format", () => {
    for (const format of [formatNumber, formatPct, formatPctUnit, formatUsd, formatBytes, formatMeasure, formatP]) {
      expect(format(null)).toBe("—");
      expect(format(undefined)).toBe("—");
    }
    expect(formatRankSet(null)).toBe("—");
    expect(formatNumber(Number.NaN)).toBe("—");
  });

  it("keeps decimals fixed and groups from five digits", () => {
    expect(formatPct(100 * (14 / 36))).toBe("38.9");
    expect(formatPct(0)).toBe("0.0");
    expect(formatNumber(1234)).toBe("1234");
    expect(formatNumber(1234567.5, 1)).toBe("1\u202f234\u202f567.5");
    expect(formatNumber(-0.04, 1)).toBe("0.0");
    expect(formatNumber(-3)).toBe("\u22123");
    expect(formatUsd(5.369)).toBe("5.37");
  });

  it("prints intervals, rank sets and p-values", () => {
    expect(formatInterval([24.81, 55.13])).toBe("24.8 to 55.1\u202f%");
    expect(formatRankSet([1, 6])).toBe("1–6");
    expect(formatRankSet([2, 2])).toBe("2");
    expect(formatP(0.03125)).toBe("0.031");
    expect(formatP(0.0002)).toBe("< 0.001");
  });

  it("scales bytes and measures", () => {
    expect(formatBytes(17)).toBe("17\u202fB");
    expect(formatBytes(1433)).toBe("1.4\u202fKiB");
    expect(formatBytes(5 * 1024 ** 3)).toBe("5.0\u202fGiB");
    expect(formatMeasure(2)).toBe("2");
    expect(formatMeasure(0.12345)).toBe("0.1235");
    expect(formatMeasure(1234.56)).toBe("1234.6");
  });

  it("counts in words", () => {
    expect(countWord(6)).toBe("six");
    expect(countWord(36)).toBe("36");
    expect(plural(1, "entry", "entries")).toBe("entry");
    expect(plural(2, "entry", "entries")).toBe("entries");
  });
});

describe("times", () => {
  it("prints dates in UTC", () => {
    expect(formatDate("2026-10-28")).toBe("28 October 2026");
    expect(formatDay("2026-10-28T23:59:00Z")).toBe("2026-10-28");
    expect(formatInstant("2026-10-28T14:03:59.000Z")).toBe("2026-10-28 14:03 UTC");
    expect(formatDate("not a date")).toBe("—");
    expect(formatDate(null)).toBe("—");
  });

  it.each([
    [0, "0\u202fms"],
    [850, "850\u202fms"],
    [4210, "4.2\u202fs"],
    [59_990, "1\u202fmin 00\u202fs"],
    [187_000, "3\u202fmin 07\u202fs"],
    [7_500_000, "2\u202fh 05\u202fmin"],
    [null, "—"],
  ])("prints %s ms as a reader says it", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});
