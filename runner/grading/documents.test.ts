import { XMLParser } from "fast-xml-parser";
import { describe, expect, it } from "vitest";
import type { Launch, RankOutcome } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import { junitOf } from "./documents";

const launch: Launch = {
  group: "official",
  launcher: "ranks",
  isolation: "group",
  nproc: 1,
  tests: [],
  startedAt: "2026-01-01T00:00:00.000Z",
  durationMs: 1500,
  killed: null,
  exits: [],
};
const outcome = (status: OutcomeStatus, message = ""): RankOutcome => ({
  rank: 0,
  status,
  launch: 0,
  startedAt: null,
  durationMs: 10,
  failure:
    status === "passed"
      ? null
      : { phase: "call", exceptionType: "E", mro: [], message, frames: [], activeCheck: null, secondaryOf: null },
  logLine: null,
});

describe("JUnit", () => {
  it("holds each outcome, and stays well formed whatever a message holds", () => {
    const hostile = '</failure><testcase name="x"/> & "quoted" \u0000\u001b[31m ]]> \ud800';
    const xml = junitOf(launch, 0, [
      { id: "tests/a.py::test_a[x::y]", outcome: outcome("passed") },
      { id: "tests/a.py::test_b", outcome: outcome("failed", hostile) },
      { id: "tests/a.py::test_c", outcome: outcome("hung") },
    ]);
    const { testsuite } = new XMLParser({ ignoreAttributes: false }).parse(xml, true).testsuites;
    expect(testsuite).toMatchObject({ "@_tests": "3", "@_failures": "1", "@_errors": "1", "@_skipped": "0" });
    expect(testsuite.testcase).toHaveLength(3);
    expect(testsuite.testcase[0]["@_name"]).toBe("test_a[x::y]");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 forbids
    expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/);
  });
});
