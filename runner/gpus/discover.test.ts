import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type FakeAnswer, FakeNvidiaSmi, fakeGpus, fakeUuid, topologyMatrix } from "../testing/fake-nvidia-smi";
import { discoverGpus, type GpuInventory } from "./discover";
import { faultsOf } from "./health";

let fake: FakeNvidiaSmi | null = null;
afterEach(async () => {
  await fake?.remove();
  fake = null;
});

async function discover(answer: FakeAnswer, timeoutMs = 30_000) {
  fake ??= await FakeNvidiaSmi.install(answer);
  return await discoverGpus({ ...fake.options, timeoutMs });
}
async function inventory(answer: FakeAnswer): Promise<GpuInventory> {
  const found = await discover(answer);
  if (found.state !== "ok") throw new Error(`not discovered: ${JSON.stringify(found)}`);
  return found.inventory;
}
async function problem(answer: FakeAnswer, timeoutMs?: number) {
  const found = await discover(answer, timeoutMs);
  if (found.state !== "failed") throw new Error(`expected a failure: ${JSON.stringify(found)}`);
  return found.problem;
}

it("finds no GPU where there is no nvidia-smi", async () => {
  expect(await discoverGpus({ env: { PATH: "/nowhere" } })).toEqual({ state: "absent" });
});

it.each([0, 1, 2, 8])("finds %i GPUs in one call, each with its address", async (count) => {
  const found = await inventory({ gpus: fakeGpus(count) });
  expect(found.gpus.map(({ uuid }) => uuid)).toEqual(fakeGpus(count).map(({ uuid }) => uuid));
  expect(found).toMatchObject({ driver: "580.65.06", cuda: "13.0", unreadable: [] });
  expect(found.gpus.every((gpu) => gpu.devicePaths.length === 1 && faultsOf(gpu).length === 0)).toBe(true);
});

it("reads what an idle H200 tells", async () => {
  const [gpu] = (await inventory({ gpus: fakeGpus(1) })).gpus;
  expect(gpu).toMatchObject({
    index: 0,
    minor: 0,
    model: "NVIDIA H200",
    memoryMb: 143_771,
    memoryUsedMb: 1,
    eccUncorrected: 0,
    mig: "disabled",
    pciBus: "00000000:1A:00.0",
    processes: [],
  });
});

it("takes N/A for what a driver does not tell", async () => {
  const [plain] = fakeGpus(1);
  const { gpus } = await inventory({
    gpus: [{ ...plain, uuid: fakeUuid(0), eccUncorrected: null, mig: "N/A", usedMb: "N/A" }],
  });
  expect(gpus[0]).toMatchObject({ eccUncorrected: null, mig: null, memoryUsedMb: null });
  expect(gpus.flatMap(faultsOf)).toEqual([]);
});

it("lists processes and says whose GPU is not free", async () => {
  const { gpus } = await inventory({
    gpus: [
      {
        uuid: fakeUuid(0),
        minor: 0,
        usedMb: 900,
        processes: [
          { pid: 4242, usedMb: 898 },
          { pid: 4243, usedMb: "N/A" },
        ],
      },
      { uuid: fakeUuid(1), minor: 1, usedMb: 900 },
      { uuid: fakeUuid(2), minor: 2, eccUncorrected: 3 },
      { uuid: fakeUuid(3), minor: 3, mig: "Enabled" },
      { uuid: fakeUuid(4), minor: "N/A" },
    ],
  });
  expect(gpus[0]?.processes).toEqual([
    { pid: 4242, memoryMb: 898 },
    { pid: 4243, memoryMb: null },
  ]);
  expect(gpus.map((gpu) => faultsOf(gpu).map(({ code }) => code))).toEqual([
    ["foreign-process"],
    ["leftover-memory"],
    ["ecc-uncorrected"],
    ["mig"],
    ["no-device-node"],
  ]);
  expect(faultsOf(gpus[3] as never)[0]?.remedy).toContain("-mig 0");
});

it("keeps a GPU that is lost apart, whichever way nvidia-smi says so", async () => {
  const lost = await inventory({
    gpus: [
      { uuid: fakeUuid(0), minor: 0, lost: true, pciBus: "00000000:5E:00.0" },
      { uuid: fakeUuid(1), minor: 1 },
    ],
  });
  expect(lost.gpus.map(({ uuid, index }) => [uuid, index])).toEqual([[fakeUuid(1), 1]]);
  expect(lost.unreadable).toEqual([{ pciBus: "00000000:5E:00.0", message: "GPU is lost" }]);

  await fake?.answer({
    before:
      "Unable to determine the device handle for GPU0000:5E:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
    gpus: [{ uuid: fakeUuid(1), minor: 1 }],
  });
  const beside = await inventory({ gpus: [] });
  expect(beside.gpus.map(({ uuid }) => uuid)).toEqual([fakeUuid(1)]);
  expect(beside.unreadable[0]).toMatchObject({ pciBus: "0000:5E:00.0" });
});

it("asks for the others one by one where a lost GPU keeps nvidia-smi from listing any", async () => {
  const line = "Unable to determine the device handle for GPU 0000:5E:00.0: Unknown Error\n";
  fake = await FakeNvidiaSmi.install({ stdout: line, code: 255 });
  expect(await problem({ gpus: [] })).toMatchObject({ code: "gpu.lost" });
  await fake.answerFor("0000:1a:00.0", { uuid: fakeUuid(0), minor: 0 });
  await fake.answerFor("0000:5e:00.0", { uuid: fakeUuid(1), minor: 1 });
  const found = await inventory({ gpus: [] });
  expect(found.gpus.map(({ uuid }) => uuid)).toEqual([fakeUuid(0)]);
  expect(found.unreadable).toHaveLength(1);
});

it("names what is wrong with a driver, and the remedy", async () => {
  const mismatch = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.65\n";
  expect(await problem({ stdout: mismatch, code: 18 })).toMatchObject({
    code: "gpu.driver-mismatch",
    remedy: expect.stringContaining("reload the modules"),
  });
  const absent =
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n";
  await fake?.answer({ stdout: absent, code: 9 });
  expect(await problem({ gpus: [] })).toMatchObject({ code: "gpu.driver-absent" });
  await fake?.answer({ stdout: "", stderr: "Segmentation fault\n", code: 139 });
  expect(await problem({ gpus: [] })).toMatchObject({
    code: "gpu.driver-failed",
    message: "nvidia-smi failed: Segmentation fault",
  });
  await fake?.answer({ stdout: "No devices were found\n", code: 6 });
  expect((await inventory({ gpus: [] })).gpus).toEqual([]);
  await fake?.answer({ stdout: '<?xml version="1.0" ?>\n<nvidia_smi_log>\n\t<driver_ver', code: 0 });
  expect(await problem({ gpus: [] })).toMatchObject({ code: "gpu.driver-failed" });
});

it("does not wait for a driver that hangs", async () => {
  expect(await problem({ hangs: true }, 300)).toMatchObject({ code: "gpu.driver-silent" });
});

it("starts none beside one that cannot even be killed, and asks again once that is gone", async () => {
  const dir = await mkdtemp(join(tmpdir(), "stuck-nvidia-smi-"));
  // What holds its output open outlives it, as it would itself inside of the driver.
  const program = `#!/bin/sh\necho >> ${dir}/calls\nsleep 3 &\nexec sleep 600\n`;
  await writeFile(join(dir, "nvidia-smi"), program, { mode: 0o755 });
  const options = { env: { PATH: `${dir}:/usr/bin:/bin` }, timeoutMs: 300 };
  const calls = async () => (await readFile(join(dir, "calls"), "utf8")).split("\n").length - 1;
  for (const begun of [1, 1]) {
    expect(await discoverGpus(options)).toMatchObject({ state: "failed", problem: { code: "gpu.driver-silent" } });
    expect(await calls()).toBe(begun);
  }
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await discoverGpus(options);
  expect(await calls()).toBe(2);
  await rm(dir, { recursive: true, force: true });
});

it("reads NVLink islands and NUMA nodes from the matrix", async () => {
  const islands = [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ];
  const found = await inventory({ gpus: fakeGpus(8), topology: topologyMatrix(islands, (gpu) => (gpu < 4 ? 0 : 1)) });
  expect(found.islands).toEqual(islands.map((island) => island.map(fakeUuid)));
  expect(found.gpus.map(({ numaNode }) => numaNode)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
});

it("has each GPU as an island of its own without NVLink, or without a matrix", async () => {
  const found = await inventory({ gpus: fakeGpus(2), topology: topologyMatrix([[0], [1]], () => 0) });
  expect(found.islands).toEqual([[fakeUuid(0)], [fakeUuid(1)]]);
  await fake?.remove();
  fake = null;
  expect((await inventory({ gpus: fakeGpus(2) })).islands).toEqual([[fakeUuid(0)], [fakeUuid(1)]]);
});
