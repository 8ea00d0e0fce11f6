import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { AttemptDetail } from "@/lib/contract/api";
import type { Resource, TestOutcome, Usage } from "@/lib/contract/result";
import { ResourceTable } from "./resource-table";

const resource: Resource = {
  name: "call-time",
  rank: 1,
  property: "resource.speed",
  value: 3.125,
  limit: 2,
  unit: "ratio",
  repeats: 5,
  met: false,
  meter: "wall-clock",
  spread: { min: 2.5, max: 4 },
  relative: { to: "gold", reference: 0.16, measured: 0.5, sideUnit: "s" },
  accuracy: "a few milliseconds",
};
const usage: Usage = {
  wallClockS: 0.5,
  gpuPeakMib: 812,
  allocatorPeakMib: 640,
  hostPeakMib: null,
  transportBytes: 1_052_000,
  nvlinkBytes: null,
};

const textOf = (tests: Pick<TestOutcome, "id" | "resources" | "usage">[]) =>
  renderToStaticMarkup(<ResourceTable detail={{ tests } as AttemptDetail} />)
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ");

describe("the table of resources", () => {
  it("says who measured, spread, both sides and how exactly", () => {
    const text = textOf([{ id: "tests/a.py::test_a", resources: [resource] }]);
    expect(text).toContain("3.13 ratio 2.50 to 4 in 5 repeats 0.5000 against 0.1600 s of gold");
    expect(text).toContain("2 ratio");
    expect(text).toContain("✗ no");
    expect(text).toContain("the grader's clock a few milliseconds".replace("'", "&#x27;"));
    expect(text).not.toContain("What each test took");
  });

  it("says of a measure without a meter that the test took it itself", () => {
    const { name, rank, property, value, limit, unit, repeats, met } = resource;
    const own: Resource = { name, rank, property, value, limit, unit, repeats, met };
    expect(textOf([{ id: "tests/a.py::test_a", resources: [own] }])).toContain("the test itself");
  });

  it("shows what tests took, the driver's peak beside the allocator's, also where nothing is limited", () => {
    const text = textOf([{ id: "tests/a.py::test_a", resources: [], usage }]);
    expect(text).toContain("What each test took");
    expect(text).toMatch(/test_a 0\.5000 812\.0.MiB 640\.0.MiB 1\.0.MiB —/);
  });

  it("is absent where nothing was measured", () => {
    expect(renderToStaticMarkup(<ResourceTable detail={{ tests: [] as TestOutcome[] } as AttemptDetail} />)).toBe("");
  });
});
