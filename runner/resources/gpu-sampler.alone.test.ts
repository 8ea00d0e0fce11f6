import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GpuSampler, gpuSampleEveryMs } from "./gpu-sampler";
import { compiler, FakeNvml } from "./testing/fake-nvml";

const python = "/usr/bin/python3";
const mebibyte = 1024 * 1024;

let folder: string;
let nvml: FakeNvml;
let sampler: GpuSampler | null = null;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "infradev-nvml-"));
  if (compiler !== undefined) nvml = await FakeNvml.build(folder);
});

afterEach(async () => {
  await sampler?.close();
  sampler = null;
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function started(uuids: string[]): Promise<GpuSampler> {
  sampler = new GpuSampler({ uuids, python, env: { LD_LIBRARY_PATH: folder } });
  await sampler.start();
  return sampler;
}

describe("the GPU sampler", () => {
  it("says why it samples nothing where there is no NVML", async () => {
    sampler = new GpuSampler({ uuids: ["GPU-a"], python, env: { LD_LIBRARY_PATH: tmpdir() } });
    await sampler.start();
    if (compiler !== undefined || sampler.absent !== null) expect(sampler.absent).toMatch(/libnvidia-ml|nvmlInit/);
    await sleep(50);
    expect(sampler.notes).toEqual([]);
  });
});

describe.runIf(compiler !== undefined && existsSync(python))("the GPU sampler on a driver", () => {
  it("samples each granted GPU in its period and at once when asked", async () => {
    await nvml.answer(
      { uuid: "GPU-x", usedMib: 1 },
      { uuid: "GPU-a", usedMib: 100, processes: 1, sentKib: 7, receivedKib: 9, errors: 2 },
      { uuid: "GPU-b", usedMib: 200, sentKib: 1, receivedKib: 2 },
    );
    const running = await started(["GPU-b", "GPU-a"]);
    expect(running.absent).toBeNull();
    expect(running.driver).toBe("580.1");
    const from = performance.now();
    await sleep(10 * gpuSampleEveryMs);
    const samples = running.between(1, from, performance.now());
    expect(samples.length).toBeGreaterThanOrEqual(7);
    expect(samples.length).toBeLessThanOrEqual(12);
    expect(samples[0]).toMatchObject({ usedBytes: 100 * mebibyte, processes: 1, eccErrors: 2 });
    const links = samples.filter(({ nvlinkSentKib }) => nvlinkSentKib !== null);
    expect(links.length, "links are read once a second").toBeLessThanOrEqual(2);
    expect(links[0] ?? running.lastBefore(1, from)).toMatchObject({ nvlinkSentKib: 7, nvlinkReceivedKib: 9 });
    await nvml.answer(
      { uuid: "GPU-x", usedMib: 1 },
      { uuid: "GPU-a", usedMib: 150, processes: 1, sentKib: 7, receivedKib: 9, errors: 2 },
      { uuid: "GPU-b", usedMib: 333, sentKib: 1, receivedKib: 2 },
    );
    const asked = performance.now();
    await running.fresh();
    expect(performance.now() - asked).toBeLessThan(80);
    expect(running.between(0, asked, performance.now()).at(-1)).toMatchObject({
      usedBytes: 333 * mebibyte,
      nvlinkSentKib: 1,
      nvlinkReceivedKib: 2,
    });
  });

  it("gives what was asked for, whatever lies in between unread", async () => {
    await nvml.answer({ uuid: "GPU-a", usedMib: 1, sentKib: 7, receivedKib: 9 });
    const running = await started(["GPU-a"]);
    const readings: (number | null | undefined)[] = [];
    for (let time = 0; time < 5; time += 1) {
      await sleep(gpuSampleEveryMs / 2);
      // Rounds are written while nothing is read here.
      for (const endMs = performance.now() + 1.2 * gpuSampleEveryMs; performance.now() < endMs; );
      await running.fresh();
      readings.push(running.lastBefore(0, performance.now())?.nvlinkSentKib);
    }
    expect(readings).toEqual([7, 7, 7, 7, 7]);
  });

  it("adds up the links where the driver has no sum of them", async () => {
    await nvml.answer({ uuid: "GPU-links", usedMib: 1, sentKib: 70, receivedKib: 90 });
    const running = await started(["GPU-links"]);
    await running.fresh();
    expect(running.between(0, 0, performance.now())[0]).toMatchObject({ nvlinkSentKib: 70, nvlinkReceivedKib: 90 });
  });

  it("names a GPU that does not exist", async () => {
    await nvml.answer({ uuid: "GPU-a", usedMib: 100 });
    const running = await started(["GPU-z"]);
    expect(running.absent).toContain("GPU-z");
  });

  it("goes on with the others where one is lost, and says which", async () => {
    await nvml.answer({ uuid: "GPU-a", usedMib: 100 }, { uuid: "GPU-b", usedMib: 100 });
    const running = await started(["GPU-a", "GPU-b"]);
    await nvml.answer({ uuid: "GPU-a", usedMib: 100 }, { uuid: "GPU-b", usedMib: 100, code: 15 });
    await sleep(3 * gpuSampleEveryMs);
    const from = performance.now();
    await running.fresh();
    await sleep(3 * gpuSampleEveryMs);
    expect(running.notes).toEqual(["GPU GPU-b was lost to NVML (code 15)"]);
    expect(running.between(0, from, performance.now()).length).toBeGreaterThan(0);
    expect(running.between(1, from, performance.now())).toEqual([]);
  });

  it("is started again where its process is killed, leaves a hole, and gives up in the end", async () => {
    await nvml.answer({ uuid: "GPU-a", usedMib: 100 });
    const running = await started(["GPU-a"]);
    for (let kill = 0; kill < 4; kill += 1) {
      const { pid } = running;
      if (pid === null) throw new Error("no sampler runs");
      process.kill(pid, "SIGKILL");
      for (let tries = 0; tries < 200 && running.pid === pid; tries += 1) await sleep(10);
      if (kill < 3) {
        await running.fresh();
        expect(running.lastBefore(0, performance.now())?.usedBytes).toBe(100 * mebibyte);
      }
    }
    expect(running.notes).toHaveLength(4);
    expect(running.absent).toContain("lost 4 times");
    expect(running.pid).toBeNull();
  });
});
