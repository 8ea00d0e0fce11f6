import type { Gpu } from "./discover";

/** Why a GPU is not given to a job. `code` is stable. */
export type GpuFault = {
  code: "foreign-process" | "leftover-memory" | "ecc-uncorrected" | "unreadable" | "mig" | "no-device-node";
  message: string;
  remedy: string;
};

/** What drivers keep of an idle GPU's memory for themselves, in MiB: less than any CUDA context takes. */
const idleMemoryMb = 256;

/** Where the GPUs that the driver cannot reach are noted: they have no UUID to be named by. */
export const unreadableKey = (pciBus: string | null): string => `pci:${pciBus ?? "unknown"}`;

/** What keeps an idle GPU from being given to a job, worst first. Call it for GPUs that no grading uses. */
export function faultsOf(gpu: Gpu): GpuFault[] {
  const faults: GpuFault[] = [];
  const where = `GPU ${gpu.index}`;
  if (gpu.mig === "enabled") {
    faults.push({
      code: "mig",
      message: `${where} is split by MIG; GPUs under MIG are not served`,
      remedy: `serve it whole (nvidia-smi -i ${gpu.index} -mig 0, with nothing running), or leave it out`,
    });
  }
  if (gpu.devicePaths.length === 0) {
    faults.push({
      code: "no-device-node",
      message: `${where} has no device node that can be found`,
      remedy: "make it (nvidia-modprobe -u -c=0), or pass the device into this container",
    });
  }
  if ((gpu.eccUncorrected ?? 0) > 0) {
    faults.push({
      code: "ecc-uncorrected",
      message: `${where} has ${gpu.eccUncorrected} uncorrected ECC errors since the driver was loaded`,
      remedy: `reset it (nvidia-smi --gpu-reset -i ${gpu.index}); have it replaced where they come again`,
    });
  }
  const [process] = gpu.processes;
  if (process !== undefined) {
    const others = gpu.processes.length > 1 ? ` and ${gpu.processes.length - 1} more` : "";
    faults.push({
      code: "foreign-process",
      message: `${where} is used by process ${process.pid}${others}, which is no grading's`,
      remedy: "wait for its end, or end it",
    });
  } else if ((gpu.memoryUsedMb ?? 0) > idleMemoryMb) {
    faults.push({
      code: "leftover-memory",
      message: `${where} holds ${gpu.memoryUsedMb} MiB (idle: up to ${idleMemoryMb}) and no process is seen on it`,
      remedy: `find who holds it (fuser -v /dev/nvidia${gpu.minor ?? "*"}; another container may), else reset it`,
    });
  }
  return faults;
}
