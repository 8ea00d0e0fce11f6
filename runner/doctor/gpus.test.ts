import { expect, it } from "vitest";
import { parseGpus } from "./gpus";

it("reads nvidia-smi's list, and nothing into a line that is none", () => {
  const csv =
    "GPU-1f, NVIDIA H200, 143771, 580.65.06\nGPU-2e, NVIDIA H200, 143771, 580.65.06\nNo devices were found\n\n";
  expect(parseGpus(csv)).toEqual([
    { uuid: "GPU-1f", model: "NVIDIA H200", memoryMb: 143771, driver: "580.65.06" },
    { uuid: "GPU-2e", model: "NVIDIA H200", memoryMb: 143771, driver: "580.65.06" },
  ]);
});
