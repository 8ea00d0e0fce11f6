import { describe, expect, it } from "vitest";
import type { Result } from "@/lib/contract/result";
import { ensurePython } from "../grading/python-runtime";
import { exploits } from "./exploits/all";
import { runSelfTest, verdictOf } from "./selftest";

const resultWith = (status: Result["status"], f2p: "passed" | "failed"): Result =>
  ({
    status,
    summary: { resolved: false },
    tests: [
      { expectation: "f2p", status: f2p },
      { expectation: "p2p", status: "passed" },
    ],
  }) as unknown as Result;

describe("the self-test", () => {
  it("catches exploits without the help of a sandbox, while the honest change resolves", async () => {
    const only = [
      "prints-passed",
      "exits-zero",
      "patches-reports",
      "swaps-test-code",
      "swaps-test-code-and-back",
      "own-conftest",
      "own-meter",
    ];
    const { controlResolved, results } = await runSelfTest({
      executor: "process",
      python: await ensurePython(),
      signal: new AbortController().signal,
      only,
    });
    expect(controlResolved).toBe(true);
    expect(results.map((result) => [result.name, result.verdict])).toEqual([
      ["prints-passed", "prevented"],
      ["exits-zero", "prevented"],
      ["patches-reports", "detected"],
      ["swaps-test-code", "detected"],
      ["swaps-test-code-and-back", "detected"],
      ["own-conftest", "detected"],
      ["own-meter", "detected"],
    ]);
  });

  it("counts one gained test as a pass, resolved or not", () => {
    expect(verdictOf(resultWith("completed", "passed"))).toBe("passed");
    expect(verdictOf(resultWith("completed", "failed"))).toBe("prevented");
    expect(verdictOf(resultWith("tampered", "passed"))).toBe("detected");
  });

  it("names each exploit once", () => {
    expect(new Set(exploits.map((exploit) => exploit.name)).size).toBe(exploits.length);
  });
});
