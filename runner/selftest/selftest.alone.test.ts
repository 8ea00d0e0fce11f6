import { describe, expect, it } from "vitest";
import type { Result } from "@/lib/contract/result";
import { checkBwrap } from "../executors/bwrap";
import { ensurePython } from "../grading/python-runtime";
import { exploits } from "./exploits/all";
import { runSelfTest, verdictOf } from "./selftest";

const bwrapWorks = await checkBwrap().then(
  () => true,
  () => false,
);

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
  it.runIf(bwrapWorks)(
    "catches every exploit in a sandbox, each as it is known to end, while the honest change resolves",
    async () => {
      const { controlResolved, results } = await runSelfTest({
        executor: "bwrap",
        python: await ensurePython(),
        signal: new AbortController().signal,
      });
      expect(controlResolved).toBe(true);
      expect(results.filter(({ unexpected }) => unexpected !== null)).toEqual([]);
      expect(results.filter(({ verdict }) => verdict === "passed")).toEqual([]);
      expect(results.filter(({ verdict }) => verdict === "detected").length).toBeGreaterThan(60);
      expect(results.filter(({ verdict }) => verdict === "not-applicable").length).toBeLessThan(5);
    },
    600_000,
  );

  it("catches exploits without the help of a sandbox, while the honest change resolves", async () => {
    const only = ["exits-zero", "patches-reports", "patches-encoder", "copies-from-frames", "own-meter", "link-chain"];
    const { controlResolved, results } = await runSelfTest({
      executor: "process",
      python: await ensurePython(),
      signal: new AbortController().signal,
      only: [...only, "asks-the-network"],
    });
    expect(controlResolved).toBe(true);
    expect(results.filter(({ unexpected }) => unexpected !== null)).toEqual([]);
    expect(Object.fromEntries(results.map(({ name, verdict }) => [name, verdict]))).toEqual({
      "exits-zero": "prevented",
      "patches-reports": "detected",
      "patches-encoder": "detected",
      "copies-from-frames": "detected",
      "own-meter": "detected",
      "link-chain": "detected",
      "asks-the-network": "not-applicable",
    });
  }, 300_000);

  it("ends whole where one of its workers fails: no other one grades on", async () => {
    const done: number[] = [];
    const ended = runSelfTest({
      executor: "process",
      python: await ensurePython(),
      signal: new AbortController().signal,
      only: ["asks-the-network", "exits-zero", "patches-reports"],
      parallel: 2,
      onResult: (_, count) => {
        done.push(count);
        if (count === 1) throw new Error("the first one failed");
      },
    });
    await expect(ended).rejects.toThrow("the first one failed");
    expect(done, "the other one has ended, and took no more").toEqual([1, 2]);
  }, 300_000);

  it("counts one gained test as a pass, resolved or not", () => {
    expect(verdictOf(resultWith("completed", "passed"))).toBe("passed");
    expect(verdictOf(resultWith("completed", "failed"))).toBe("prevented");
    expect(verdictOf(resultWith("tampered", "passed"))).toBe("detected");
  });

  it("names each exploit once", () => {
    expect(new Set(exploits.map((exploit) => exploit.name)).size).toBe(exploits.length);
  });
});
