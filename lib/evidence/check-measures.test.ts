import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Resource, resultSchema } from "../contract/result";
import type { Manifest } from "../contract/task";
import { checkResult } from "./check-result";
import { makeTestManifest, makeTestPayload, type TestPayloadOverrides } from "./testing";

const id = "probes/test_pool_probe.py::test_shape";
const limit = { resource: "bytes", unit: "bytes", value: 100, relativeTo: null, meter: "transport" as const };
const measure: Resource = {
  name: "bytes",
  rank: 0,
  property: "resource.traffic",
  value: 90,
  limit: 100,
  unit: "bytes",
  repeats: 1,
  met: true,
  meter: "transport",
};

function manifestWith(probes: "open" | "hidden"): Manifest {
  const manifest = makeTestManifest();
  return {
    ...manifest,
    suite: { ...manifest.suite, probes },
    tests: manifest.tests.map((test) => (test.id === id ? { ...test, limit } : test)),
  };
}

async function problemsWith(
  resources: Resource[],
  { probes = "open", ...more }: TestPayloadOverrides & { probes?: "open" | "hidden" } = {},
): Promise<string[]> {
  const manifest = manifestWith(probes);
  const folder = await mkdtemp(join(tmpdir(), "infradev-measures-"));
  try {
    const { result } = await makeTestPayload(folder, {
      manifest,
      ...more,
      editResult: (result) => {
        const test = result.tests.find((each) => each.id === id);
        if (test !== undefined) test.resources = resources;
      },
    });
    return checkResult(resultSchema.parse(result), manifest).map(({ message }) => message);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("a passed test whose limit the grader measures", () => {
  it("was measured, against its own limit, and met it", async () => {
    expect(await problemsWith([measure])).toEqual([]);
    expect((await problemsWith([])).join()).toContain("no measure of bytes");
    expect((await problemsWith([{ ...measure, limit: 1000 }])).join()).toContain("no measure of bytes against 100");
    expect((await problemsWith([{ ...measure, meter: "test" }])).join()).toContain("from outside");
    expect((await problemsWith([{ ...measure, value: 110, met: false }])).join()).toContain("is called 'passed'");
  });

  it("needs no measure where it did not pass, or where the result does not show those of hidden probes", async () => {
    expect(await problemsWith([], { statuses: { [id]: "failed" } })).toEqual([]);
    expect(await problemsWith([{ ...measure, value: 110, met: false }], { statuses: { [id]: "failed" } })).toEqual([]);
    expect(await problemsWith([], { probes: "hidden" })).toEqual([]);
  });
});
