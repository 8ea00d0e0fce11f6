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
