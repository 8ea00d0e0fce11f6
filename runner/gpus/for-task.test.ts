import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTestManifest } from "@/lib/evidence/testing";
import type { LoadedTask } from "../suites/load";
import { FakeNvidiaSmi } from "../testing/fake-nvidia-smi";
import { discoverGpus } from "./discover";
import { acquireForTask, canServe } from "./for-task";
import { GpuPool } from "./pool";
import { Quarantine } from "./quarantine";

let fake: FakeNvidiaSmi;
let pool: GpuPool;
const signal = new AbortController().signal;
beforeEach(async () => {
  fake = await FakeNvidiaSmi.install({
    gpus: [0, 1].map((minor) => ({ uuid: `GPU-${minor}-${randomUUID()}`, minor })),
  });
  const quarantine = new Quarantine(join(fake.dir, "state"));
  pool = new GpuPool({ what: "test", discover: () => discoverGpus(fake.options), quarantine });
});
afterEach(() => fake.remove());

/** A task of `gpusGrade` GPUs with a test for each number in `needs`. */
function taskOf(gpusGrade: number, needs: number[], minGpuMemoryMb = 0): LoadedTask {
  const base = makeTestManifest();
  const [first] = base.tests;
  if (first === undefined) throw new Error("a manifest has tests");
  const tests = needs.map((gpus, n) => ({ ...first, id: `tests/test_a.py::test_${n}`, needs: { ranks: 2, gpus } }));
  const manifest = { ...base, task: { ...base.task, gpusGrade }, tests };
  return { manifest, metadata: { min_gpu_memory_mb: minGpuMemoryMb } } as unknown as LoadedTask;
}

it("gives what the task asks for, and says nothing where that is its standard launch", async () => {
  const { grant, profile } = await acquireForTask(pool, taskOf(2, [0, 2]), "auto", signal);
  expect([grant?.uuids.length, profile]).toEqual([2, null]);
  await grant?.release();
  expect(await acquireForTask(pool, taskOf(0, [0]), "auto", signal)).toEqual({ grant: null, profile: null });
});

it("takes with auto what is free, and says what is not required then", async () => {
  const { grant, profile } = await acquireForTask(pool, taskOf(4, [0, 4, 4]), "auto", signal);
  expect(grant?.uuids).toHaveLength(2);
  expect(profile).toMatch(/^profile 2 GPUs of 4: 2 tests that need more are not required/);
  const beside = await acquireForTask(pool, taskOf(1, [0, 1]), "auto", signal);
  expect(beside.grant).toBeNull();
  expect(beside.profile).toMatch(/^profile 0 GPUs of 1/);
  await grant?.release();
});

it("refuses more than the task's launches have, what leaves nothing required, and what the host cannot give", async () => {
  await expect(acquireForTask(pool, taskOf(1, [0]), 2, signal)).rejects.toMatchObject({ code: "usage.gpus" });
  await expect(acquireForTask(pool, taskOf(2, [2]), 1, signal)).rejects.toMatchObject({ code: "gpu.profile-empty" });
  await expect(acquireForTask(pool, taskOf(4, [0]), 4, signal)).rejects.toMatchObject({ code: "gpu.too-few" });
});

it("serves a task where enough GPUs are large enough", async () => {
  const host = await pool.look();
  expect(canServe(taskOf(2, [2]), host)).toBe(true);
  expect(canServe(taskOf(3, [2]), host)).toBe(false);
  expect(canServe(taskOf(1, [1], 200_000), host)).toBe(false);
  expect(canServe(taskOf(0, [0]), host)).toBe(true);
});
