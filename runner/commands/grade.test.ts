import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseCandidate } from "./grade";

const parse = (given: string | undefined, reference?: string) =>
  parseCandidate(given, reference, { prompts: [] }, new AbortController().signal);

describe("what is left out of a candidate", () => {
  it("is filled in for what it is, whatever patch is graded", async () => {
    expect(await parse(undefined)).toMatchObject({ kind: "model", model: "not stated", networkPolicy: "not-stated" });
    expect(await parse(undefined, "mutant-1")).toMatchObject({
      kind: "reference",
      model: "mutant-1",
      networkPolicy: "none",
    });
    expect(await parse('{"kind": "model", "model": "M"}', "mutant-1")).toMatchObject({
      model: "M",
      networkPolicy: "not-stated",
    });
    expect(await parse('{"kind": "model"}', "mutant-1")).toMatchObject({ model: "not stated" });
  });

  it("is read from a file, and from nothing without an end", async () => {
    const dir = await mkdtemp(join(tmpdir(), "infradev-candidate-"));
    await writeFile(join(dir, "candidate.json"), '{"model": "M"}');
    expect(await parse(`@${join(dir, "candidate.json")}`)).toMatchObject({ model: "M" });
    await rm(dir, { recursive: true });
    await expect(parse("@/dev/zero")).rejects.toMatchObject({ code: "usage.candidate" });
  });
});
