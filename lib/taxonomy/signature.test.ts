import { expect, test } from "vitest";
import type { Frame } from "../contract/result";
import { foldMessage, signatureText } from "./signature";

const frame = (overrides: Partial<Frame>): Frame => ({
  file: "fleet/pool.py",
  line: 10,
  function: "release",
  origin: "project",
  code: null,
  ...overrides,
});

test("a message folds to the same text whatever numbers, addresses and paths it names", () => {
  expect(foldMessage("block 17 at 0x7f3a is 4.5e-3 of /tmp/a/b.py\nmore")).toBe(
    foldMessage("block 9 at 0xdead is 0.25 of /work/other/c.py\nother"),
  );
  expect(foldMessage("expected shape")).not.toBe(foldMessage("expected dtype"));
});

test("failures cluster by exception, message and project frames, not by lines or the test's own frames", () => {
  const failure = { exceptionType: "ValueError", message: "rank 3 lost", frames: [frame({})] };
  const signature = signatureText("error", failure);
  expect(signatureText("error", { ...failure, message: "rank 1 lost" })).toBe(signature);
  expect(signatureText("error", { ...failure, frames: [frame({ line: 99 })] })).toBe(signature);
  expect(
    signatureText("error", { ...failure, frames: [frame({}), frame({ origin: "test", file: "tests/a.py" })] }),
  ).toBe(signature);
  expect(signatureText("error", { ...failure, frames: [frame({ function: "acquire" })] })).not.toBe(signature);
  expect(signatureText("error", { ...failure, exceptionType: "KeyError" })).not.toBe(signature);
  expect(signatureText("hung", null)).not.toBe(signatureText("crashed", null));
});

test.each([
  [
    "[Rank 1] Watchdog caught collective operation timeout: ran for 60051 milliseconds",
    "[Rank 3] Watchdog caught collective operation timeout: ran for 1800002 milliseconds",
  ],
  ["store at 10.0.0.4:29500 gave no answer in 0:05:00", "store at 192.168.1.17:41002 gave no answer in 0:30:00"],
  ["blob 2f55f934c0acfa759740abf1a709cbda is gone", "blob 9a01bc77d2c31e0f9dd0aa12 is gone"],
  ["job 7f0c1e4a-2b1d-4c3e-8f00-0123456789ab ended", "job 00c1e4a7-aaaa-4c3e-8f00-ba9876543210 ended"],
  ["waited 30 s for ranks [0, 1, 3]", "waited 1.5s for ranks [2]"],
  ["cannot read probes/test_a.py", "cannot read tests/deep/test_b.py"],
  ["\n  \n[2, 3] != [4]", "[5] != [1, 2, 9]"],
])("what differs from run to run is folded: %s", (one, other) => {
  expect(foldMessage(one)).toBe(foldMessage(other));
});

test("what a child raised and its parent only carried falls into the cluster of what was raised there", () => {
  const carried = (index: number) =>
    `\n\n-- Process ${index} terminated with the following error:\nTraceback (most recent call last):\n  File "/grade/repo/fleet/pool.py", line ${index + 4}, in release\n    raise ValueError\nValueError: block ${index} is gone\n`;
  const spawned = (index: number) =>
    signatureText("error", {
      exceptionType: "torch.multiprocessing.spawn.ProcessRaisedException",
      message: carried(index),
      frames: [frame({ origin: "test", file: `tests/test_${index}.py` })],
    });
  expect(spawned(1)).toBe(spawned(3));
  expect(JSON.parse(spawned(1)).slice(0, 3)).toEqual(["error", "ValueError", "block # is gone"]);
});

test("without a frame of the project the place in the tests tells equal words apart", () => {
  const asserted = (name: string) =>
    signatureText("failed", {
      exceptionType: "AssertionError",
      message: "assert 1 == 2",
      frames: [
        frame({ origin: "probe", file: "probes/a.py", function: name }),
        frame({ origin: "other", file: "torch/x.py" }),
      ],
    });
  expect(asserted("test_a")).toBe(asserted("test_a"));
  expect(asserted("test_a")).not.toBe(asserted("test_b"));
});

test("ten thousand failures fall into as many clusters as there are causes", () => {
  const causes = 50;
  const clusters = new Map<string, number>();
  for (let index = 0; index < 10_000; index++) {
    const cause = String.fromCharCode(97 + (index % 25)) + String.fromCharCode(97 + Math.floor((index % causes) / 25));
    const key = signatureText("error", {
      exceptionType: "RuntimeError",
      message: `cause ${cause} on rank ${index % 8} after ${index} ms at 0x${(index * 7919).toString(16)}\n${"detail ".repeat(200)}`,
      frames: Array.from({ length: 12 }, (_, depth) => frame({ line: index + depth, function: `step_${depth}` })),
    });
    clusters.set(key, (clusters.get(key) ?? 0) + 1);
  }
  expect(clusters.size).toBe(causes);
  expect(new Set(clusters.values())).toEqual(new Set([10_000 / causes]));
});
