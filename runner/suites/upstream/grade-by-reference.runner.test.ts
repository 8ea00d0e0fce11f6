import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Result } from "@/lib/contract/result";
import { ensurePython } from "../../grading/python-runtime";
import { gradeBelow } from "../../grading/testing/tiny-gradings";
import { checkTask } from "../check";
import { type LoadedTask, loadTask } from "../load";
import { readReferencePatch } from "../reference";
import { sealTask } from "../seal";
import { makeUpstream, writeReferenceTask } from "./testing";

const before = process.env.INFRADEV_DATA_DIR;
let root: string;
let task: LoadedTask;
let clone: string;

beforeAll(async () => {
  await ensurePython();
  root = await mkdtemp(join(tmpdir(), "infradev-reference-"));
  process.env.INFRADEV_DATA_DIR = join(root, "data");
  const upstream = await makeUpstream(join(root, "clone"));
  clone = upstream.dir;
  const dir = await writeReferenceTask(join(root, "suite"), upstream);
  await sealTask(dir, new Map([["owner/name", clone]]));
  task = await loadTask(dir);
});
afterAll(async () => {
  if (before === undefined) delete process.env.INFRADEV_DATA_DIR;
  else process.env.INFRADEV_DATA_DIR = before;
  await rm(root, { recursive: true, force: true });
});

async function grade(reference: string): Promise<Result> {
  const { result } = await gradeBelow(root, task, await readReferencePatch(task, reference));
  return result;
}
const statuses = (result: Result) => Object.fromEntries(result.tests.map(({ id, status }) => [id, status]));

describe("a task by reference, graded", () => {
  it("is not resolved by nothing, and resolved by gold", async () => {
    const nop = await grade("nop");
    expect(statuses(nop)).toEqual({
      "probes/test_probe.py::test_large": "error",
      // The merge commit's test file stands over the base's, and imports what only the merge brings.
      "tests/test_value.py::test_doubled": "error",
      "tests/test_value.py::test_value": "error",
    });
    const gold = await grade("gold");
    expect(gold.summary).toMatchObject({ resolved: true, requiredPassed: 3 });
  });

  it("rejects by its probe a mutant that passes upstream's tests", async () => {
    const result = await grade("mutant-1");
    expect(result.summary).toMatchObject({ officialResolved: true, resolved: false });
    expect(statuses(result)["probes/test_probe.py::test_large"]).toBe("failed");
  });

  it("is not graded where its sources are not at hand, and says what is missing", async () => {
    process.env.INFRADEV_DATA_DIR = join(root, "empty");
    const patch = new Uint8Array();
    const dir = task.dir;
    const unprovided = await loadTask(dir);
    const { result } = await gradeBelow(root, unprovided, patch);
    process.env.INFRADEV_DATA_DIR = join(root, "data");
    expect(result.status).toBe("infra");
    expect(result.reason?.code).toBe("upstream.no-mirror");
  });

  it("is linted with its sources, and as far as it goes without", async () => {
    const { executable } = await ensurePython();
    const whole = await checkTask(task.dir, { python: executable });
    expect(whole.findings.filter((finding) => finding.level === "error")).toEqual([]);
    expect(whole.facts).toMatchObject({ collectedIds: 3, patches: 2 });
    process.env.INFRADEV_DATA_DIR = join(root, "empty");
    const part = await checkTask(task.dir, { python: executable });
    process.env.INFRADEV_DATA_DIR = join(root, "data");
    expect(part.ok).toBe(true);
    expect(part.findings.find((finding) => finding.rule === "sources")?.message).toContain("were not looked at");
  });
});
