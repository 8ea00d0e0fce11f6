import { describe, expect, it } from "vitest";
import { groupSchema, type TestsFile, testsFileSchema } from "@/lib/contract/task";
import { findLimitFaults } from "./limit-lint";

const id = "probes/test_speed.py::test_speed";
const limits = {
  "wall-clock": { resource: "time", unit: "ratio", value: 2, relative_to: "gold", meter: "wall-clock", repeats: 5 },
  transport: { resource: "bytes", unit: "MiB", value: 3, meter: "transport" },
  "gpu-memory": { resource: "peak", unit: "MiB", value: 3, meter: "gpu-memory" },
  "host-memory": { resource: "peak", unit: "ratio", value: 1.5, relative_to: "gold", meter: "host-memory" },
  nvlink: { resource: "bytes", unit: "ratio", value: 1.5, relative_to: "base", meter: "nvlink" },
};
const property = {
  "wall-clock": "resource.speed",
  transport: "resource.traffic",
  "gpu-memory": "resource.memory",
  "host-memory": "resource.memory",
  nvlink: "resource.traffic",
};

function faults(
  meter: keyof typeof limits,
  change: { limit?: object; test?: object; group?: object; f2p?: boolean; more?: TestsFile["tests"] } = {},
): string[] {
  const needs = { ranks: 2, gpus: meter === "gpu-memory" ? 1 : meter === "nvlink" ? 2 : 0 };
  const file = testsFileSchema.parse({
    FAIL_TO_PASS: change.f2p ? [id] : [],
    PASS_TO_PASS: change.f2p ? [] : [id],
    tests: {
      ...change.more,
      [id]: {
        kind: "probe",
        group: "own",
        property: property[meter],
        needs,
        limit: { ...limits[meter], ...change.limit },
        ...change.test,
      },
    },
  });
  const group = groupSchema.parse({
    id: "own",
    launcher: "ranks",
    nproc: 2,
    isolation: "group",
    timeout_sec: 60,
    test_timeout_sec: 20,
    ...change.group,
  });
  return findLimitFaults(file, [group]).map(({ message }) => message);
}

describe("a limit that the grader measures", () => {
  it("has no fault where its meter has what it needs", () => {
    for (const meter of Object.keys(limits) as (keyof typeof limits)[]) expect(faults(meter), meter).toEqual([]);
    expect(faults("wall-clock", { f2p: true })).toEqual([]);
  });

  it("is refused where the meter cannot measure it, or a value decides by chance", () => {
    const cases: [string, string[]][] = [
      ["depends on the host", faults("wall-clock", { limit: { relative_to: null, unit: "s" } })],
      ["too few", faults("wall-clock", { limit: { repeats: 3 } })],
      ["differ by", faults("wall-clock", { limit: { value: 1.2 } })],
      ["no unit", faults("transport", { limit: { unit: "s" } })],
      ["no unit", faults("host-memory", { limit: { unit: "MiB" } })],
      ["stands at a test of", faults("transport", { test: { property: "value" } })],
      ["does not pass", faults("nvlink", { f2p: true })],
      ["over its own interface", faults("transport", { group: { nproc: 1 } })],
      ["on a GPU", faults("gpu-memory", { test: { needs: { ranks: 1, gpus: 0 } } })],
      ["on GPUs", faults("nvlink", { test: { needs: { ranks: 2, gpus: 1 } } })],
      ["have no call", faults("host-memory", { group: { launcher: "script" } })],
      ["cannot be met", faults("transport", { limit: { value: 0 } })],
    ];
    for (const [expected, found] of cases) {
      expect(found, expected).toHaveLength(1);
      expect(found[0]).toContain(expected);
    }
  });

  it("stands in a group of its own, a launch for each test", () => {
    const other = testsFileSchema.parse({
      FAIL_TO_PASS: [],
      PASS_TO_PASS: [],
      tests: {
        plain: { kind: "probe", group: "own", property: "value" },
        measured: { kind: "probe", group: "own", property: "resource.traffic", limit: limits.transport },
      },
    }).tests;
    const plain = { "probes/test_x.py::test_plain": other.plain as TestsFile["tests"][string] };
    const measured = { "probes/test_x.py::test_measured": other.measured as TestsFile["tests"][string] };
    expect(faults("transport", { more: plain }).join()).toContain("does not measure");
    expect(faults("transport", { more: measured }).join()).toContain("share a launch");
    expect(faults("transport", { more: measured, group: { isolation: "test" } })).toEqual([]);
  });

  it("is not counted by repeats without a meter", () => {
    const file = testsFileSchema.parse({
      FAIL_TO_PASS: [id],
      PASS_TO_PASS: [],
      tests: {
        [id]: {
          kind: "probe",
          group: "own",
          property: "resource.speed",
          limit: { resource: "x", unit: "s", value: 1, repeats: 5 },
        },
      },
    });
    expect(findLimitFaults(file, [])).toMatchObject([{ id, remedy: "name its meter" }]);
  });
});
