import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { discoverGpus } from "../gpus/discover";
import { takeLock } from "../gpus/lock";
import { Quarantine } from "../gpus/quarantine";
import { type FakeAnswer, type FakeGpu, FakeNvidiaSmi, topologyMatrix } from "../testing/fake-nvidia-smi";
import { compareCuda, examineGpus, type TorchCuda } from "./gpus";

let fake: FakeNvidiaSmi | null = null;
afterEach(async () => {
  await fake?.remove();
  fake = null;
});

async function examine(answer: FakeAnswer) {
  const smi = await FakeNvidiaSmi.install(answer);
  fake = smi;
  return await examineGpus(null, {
    discover: () => discoverGpus(smi.options),
    quarantine: new Quarantine(join(smi.dir, "state")),
  });
}

it("tells of each GPU whether it is free, in use or in quarantine, and how to mend it", async () => {
  const gpus: FakeGpu[] = [0, 1, 2].map((minor) => ({ uuid: `GPU-${minor}-${randomUUID()}`, minor }));
  const lock = await takeLock(gpus[1]?.uuid ?? "", "grading x");
  const sick = gpus.map((gpu) => (gpu.minor === 2 ? { ...gpu, mig: "Enabled" as const } : gpu));
  const { rows, servable, findings } = await examine({ gpus: sick, topology: topologyMatrix([[0, 1], [2]], () => 0) });
  await lock?.release();
  expect(rows.map(({ state, island }) => [state, island])).toEqual([
    ["free", 0],
    ["in-use", 0],
    ["quarantined", 1],
  ]);
  expect(rows[1]?.why).toBe(`process ${process.pid} (grading x)`);
  expect(rows[2]).toMatchObject({ mig: "enabled", remedy: expect.stringContaining("-mig 0") });
  expect(servable).toHaveLength(2);
  const said = new Map(findings.map(([id, , finding]) => [id, finding.found]));
  expect(said.get("gpus")).toBe("3 × NVIDIA H200 (140 GiB), driver 580.65.06, CUDA up to 13.0");
  expect(said.get("topology")).toBe("NVLink joins 2 GPUs, 1 alone");
});

it("says why a driver gives no GPU, and goes on without", async () => {
  const { rows, servable, findings } = await examine({
    stdout: "Failed to initialize NVML: Driver/library version mismatch\n",
    code: 18,
  });
  expect([rows, servable]).toEqual([[], []]);
  expect(findings[0]?.[2]).toMatchObject({ state: "note", remedy: expect.stringContaining("reload the modules") });
});

it("compares torch's CUDA with the driver's, and names the remedy", () => {
  const torch = (changed: Partial<TorchCuda> = {}): TorchCuda => ({
    cuda: "13.0",
    available: true,
    devices: 2,
    nccl: "2.28.9",
    error: null,
    ...changed,
  });
  expect(compareCuda("13.0", torch()).state).toBe("ok");
  expect(compareCuda("13.0", torch({ cuda: "12.8" })).state).toBe("ok");
  expect(compareCuda("12.4", torch({ cuda: "12.8" })).state).toBe("ok");
  expect(compareCuda("12.4", torch())).toMatchObject({
    state: "note",
    found: "torch is built for CUDA 13.0, the driver serves up to 12.4",
    remedy: "install a torch built for CUDA 12, or a newer driver",
  });
  expect(compareCuda("13.0", torch({ cuda: null })).found).toBe("torch is built without CUDA");
  expect(compareCuda("13.0", torch({ available: false, devices: 0 })).found).toContain("sees no GPU");
  expect(compareCuda("13.0", null).state).toBe("note");
});
