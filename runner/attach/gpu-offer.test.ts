import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeTestManifest } from "@/lib/evidence/testing";
import { discoverGpus } from "../gpus/discover";
import { GpuPool } from "../gpus/pool";
import { Quarantine } from "../gpus/quarantine";
import type { LoadedTask } from "../suites/load";
import { FakeNvidiaSmi } from "../testing/fake-nvidia-smi";
import { GpuOffer } from "./gpu-offer";

let fake: FakeNvidiaSmi;
let uuids: string[];
const { signal } = new AbortController();
beforeEach(async () => {
  uuids = [0, 1, 2, 3].map((n) => `GPU-${n}-${randomUUID()}`);
  fake = await FakeNvidiaSmi.install({ gpus: uuids.map((uuid, minor) => ({ uuid, minor })) });
});
afterEach(() => fake.remove());

function taskOf(gpusGrade: number): LoadedTask {
  const base = makeTestManifest();
  const manifest = { ...base, task: { ...base.task, gpusGrade } };
  return { manifest, metadata: { min_gpu_memory_mb: 0 } } as unknown as LoadedTask;
}
const job = (gpus: number) => ({
  spec: { task: { slug: "t", gradingDigest: "d", gpus, ranks: 1 } },
  task: taskOf(gpus),
  signal,
});
const offerOf = (...gpus: number[]) =>
  new GpuOffer(
    new GpuPool({
      what: "attach",
      discover: () => discoverGpus(fake.options),
      quarantine: new Quarantine(join(fake.dir, "state")),
      pollMs: 50,
    }),
    new Map(gpus.map((count) => [`needs-${count}`, taskOf(count)])),
  );

it("offers what is free while jobs hold the rest, and names the tasks that the host can ever serve", async () => {
  const offer = offerOf(0, 2, 8);
  expect(await offer.now()).toEqual({ freeGpuUuids: uuids, gradingDigests: ["needs-0", "needs-2"] });
  await offer.withGpus(job(3), async (grant) => {
    expect(grant?.uuids).toHaveLength(3);
    const { freeGpuUuids, gradingDigests } = await offer.now();
    expect(freeGpuUuids).toEqual(uuids.filter((uuid) => !grant?.uuids.includes(uuid)));
    expect(gradingDigests).toEqual(["needs-0", "needs-2"]);
  });
  expect((await offer.now()).freeGpuUuids).toEqual(uuids);
});

it("packs jobs side by side, each with exactly its GPUs and none twice", async () => {
  const offer = offerOf(1, 2);
  const held = new Set<string>();
  let together = 0;
  const run = (count: number) =>
    offer.withGpus(job(count), async (grant) => {
      expect(grant?.uuids).toHaveLength(count);
      for (const uuid of grant?.uuids ?? []) {
        expect(held.has(uuid)).toBe(false);
        held.add(uuid);
      }
      together = Math.max(together, held.size);
      await new Promise((resolve) => setTimeout(resolve, 300));
      for (const uuid of grant?.uuids ?? []) held.delete(uuid);
    });
  await Promise.all([run(1), run(2), run(1), run(2), run(1)]);
  expect(together).toBe(4);
});

it("gives a job's GPUs back when its grading fails", async () => {
  const offer = offerOf(4);
  await expect(offer.withGpus(job(4), () => Promise.reject(new Error("no grading")))).rejects.toThrow("no grading");
  expect((await offer.now()).freeGpuUuids).toEqual(uuids);
});

it("asks no driver where no task needs GPUs", async () => {
  await fake.answer({ hangs: true });
  expect(await offerOf(0).now()).toEqual({ freeGpuUuids: [], gradingDigests: ["needs-0"] });
  expect(await offerOf(0).withGpus(job(0), async (grant) => grant)).toBeNull();
});
