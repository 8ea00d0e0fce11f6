import type { HostFacts } from "@/lib/contract/result";
import { capture } from "../processes/capture";

export type Gpu = HostFacts["gpus"][number];

/** GPUs as nvidia-smi lists them; null where there is no nvidia-smi or it cannot reach a driver. */
export async function listGpus(): Promise<Gpu[] | null> {
  const query = ["--query-gpu=uuid,name,memory.total,driver_version", "--format=csv,noheader,nounits"];
  const run = await capture("nvidia-smi", query, { timeoutMs: 20_000 }).catch(() => null);
  if (run === null || run.code !== 0) return null;
  return parseGpus(run.stdout);
}

/** Reads nvidia-smi's CSV of uuid, name, memory in MiB and driver version. */
export function parseGpus(csv: string): Gpu[] {
  return csv
    .split("\n")
    .map((line) => line.split(",").map((field) => field.trim()))
    .flatMap(([uuid, model, memory, driver]) =>
      uuid?.startsWith("GPU-") && model && memory && driver
        ? [{ uuid, model, memoryMb: Math.round(Number(memory)), driver }]
        : [],
    );
}
