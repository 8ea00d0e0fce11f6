import type { Gpu, GpuInventory } from "../gpus/discover";
import { gpusInWords } from "../gpus/grant";
import { GpuPool, type HostGpus, type PoolOptions, servableGpus } from "../gpus/pool";
import { capture } from "../processes/capture";
import { type Finding, note, ok } from "./finding";

/** One GPU as doctor tells of it. */
export type GpuRow = {
  index: number;
  uuid: string;
  model: string;
  memoryMb: number;
  memoryUsedMb: number | null;
  state: "free" | "in-use" | "quarantined";
  /** Why it is not free, and how to mend that. */
  why: string | null;
  remedy: string | null;
  eccUncorrected: number | null;
  mig: Gpu["mig"];
  pciBus: string | null;
  numaNode: number | null;
  /** Number of its NVLink island, from 0. */
  island: number;
  processes: { pid: number; memoryMb: number | null }[];
};

/** What the graded Python's torch is built for and sees. */
export type TorchCuda = {
  cuda: string | null;
  available: boolean;
  devices: number;
  nccl: string | null;
  error: string | null;
};

export type GpuExamination = {
  rows: GpuRow[];
  /** GPUs that a job can be given here, now or once other gradings end. */
  servable: Gpu[];
  torch: TorchCuda | null;
  findings: [id: string, label: string, finding: Finding][];
};

const torchProbe = `
import json
try:
    import torch
    seen = torch.cuda.is_available()
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if torch.version.cuda else None
    print(json.dumps({"cuda": torch.version.cuda, "available": seen, "devices": torch.cuda.device_count() if seen else 0, "nccl": nccl, "error": None}))
except Exception as error:
    print(json.dumps({"cuda": None, "available": False, "devices": 0, "nccl": None, "error": f"{type(error).__name__}: {error}"}))
`;

async function askTorch(python: string): Promise<TorchCuda | null> {
  const run = await capture(python, ["-s", "-c", torchProbe], { timeoutMs: 120_000 }).catch(() => null);
  try {
    return JSON.parse(run?.stdout.trim().split("\n").at(-1) ?? "") as TorchCuda;
  } catch {
    return null;
  }
}

function rowOf(gpu: Gpu, host: HostGpus, { islands }: GpuInventory): GpuRow {
  const entry = host.quarantined.find(({ uuid }) => uuid === gpu.uuid);
  const holder = host.busy.find((busy) => busy.gpu.uuid === gpu.uuid)?.holder;
  const { index, uuid, model, memoryMb, memoryUsedMb, eccUncorrected, mig, pciBus, numaNode, processes } = gpu;
  return {
    index,
    uuid,
    model,
    memoryMb,
    memoryUsedMb,
    state: holder !== undefined ? "in-use" : entry !== undefined ? "quarantined" : "free",
    why: holder !== undefined ? `process ${holder.pid} (${holder.what})` : (entry?.message ?? null),
    remedy: holder === undefined ? (entry?.remedy ?? null) : null,
    eccUncorrected,
    mig,
    pciBus,
    numaNode,
    island: islands.findIndex((island) => island.includes(uuid)),
    processes,
  };
}

function describeModels({ gpus, driver, cuda }: GpuInventory): string {
  const models = new Map<string, number>();
  for (const gpu of gpus) {
    const name = `${gpu.model} (${Math.round(gpu.memoryMb / 1024)} GiB)`;
    models.set(name, (models.get(name) ?? 0) + 1);
  }
  const text = [...models].map(([model, count]) => `${count} × ${model}`).join(", ");
  return `${text}, driver ${driver}${cuda === null ? "" : `, CUDA up to ${cuda}`}`;
}

function describeIslands({ islands }: GpuInventory): string {
  const joined = islands.filter((island) => island.length > 1);
  if (joined.length === 0) return "no NVLink: GPUs reach each other over PCIe";
  const alone = islands.length - joined.length;
  return `NVLink joins ${joined.map(({ length }) => length).join(" + ")} GPUs${alone > 0 ? `, ${alone} alone` : ""}`;
}

/** Compares what torch is built for with what the driver serves; CUDA's minor versions are compatible. */
export function compareCuda(driverCuda: string | null, torch: TorchCuda | null): Finding {
  if (torch === null) return note("torch is not installed", "install a torch built for CUDA, for tasks that use GPUs");
  if (torch.error !== null) return note(`torch cannot be loaded: ${torch.error}`, "reinstall torch");
  if (torch.cuda === null) return note("torch is built without CUDA", "install a torch built for CUDA");
  const majorOf = (version: string): number => Number.parseInt(version, 10);
  if (driverCuda !== null && majorOf(torch.cuda) > majorOf(driverCuda)) {
    const remedy = `install a torch built for CUDA ${majorOf(driverCuda)}, or a newer driver`;
    return note(`torch is built for CUDA ${torch.cuda}, the driver serves up to ${driverCuda}`, remedy);
  }
  if (!torch.available || torch.devices === 0) {
    const remedy = "see what `python -c 'import torch; torch.cuda.init()'` says; check /dev/nvidia* and libcuda.so.1";
    return note(`torch (CUDA ${torch.cuda}) sees no GPU`, remedy);
  }
  return ok(`torch is built for CUDA ${torch.cuda} and sees ${gpusInWords(torch.devices)}`);
}

/** Looks at the GPUs of this host, and at what the graded Python can do with them. `python` is null where there is none. */
export async function examineGpus(
  python: { executable: string; torch: string | null } | null,
  options: Pick<PoolOptions, "discover" | "quarantine"> = {},
): Promise<GpuExamination> {
  const host = await new GpuPool({ what: "doctor", ...options }).look();
  const { discovery } = host;
  const none = (found: string, remedy: string): GpuExamination => ({
    rows: [],
    servable: [],
    torch: null,
    findings: [["gpus", "GPUs", note(found, remedy)]],
  });
  const notOffered = "tasks that need GPUs are not offered to this host";
  if (discovery.state === "absent") return none("nvidia-smi is not here", notOffered);
  if (discovery.state === "failed") {
    return none(discovery.problem.message, `${discovery.problem.remedy ?? "see dmesg"} (until then ${notOffered})`);
  }
  const { inventory } = discovery;
  if (inventory.gpus.length === 0 && inventory.unreadable.length === 0) return none("none", notOffered);
  const rows = inventory.gpus.map((gpu) => rowOf(gpu, host, inventory));
  const torch = python === null || python.torch === null ? null : await askTorch(python.executable);
  const servable = servableGpus(host);
  const sick = rows.filter(({ state }) => state === "quarantined");
  const findings: GpuExamination["findings"] = [["gpus", "GPUs", ok(describeModels(inventory))]];
  for (const { pciBus, message } of inventory.unreadable) {
    const remedy = "reset the GPU or reboot; look at dmesg for lines of NVRM: Xid";
    findings.push(["gpu-lost", `GPU at ${pciBus ?? "unknown address"}`, note(message, remedy)]);
  }
  for (const row of rows) {
    const memory = `${row.memoryUsedMb ?? "?"} of ${row.memoryMb} MiB used`;
    const ecc = row.eccUncorrected === null ? "no ECC" : `${row.eccUncorrected} uncorrected ECC errors`;
    const place = `NUMA ${row.numaNode ?? "?"}, island ${row.island}`;
    const text = `${row.state}${row.why === null ? "" : `: ${row.why}`} (${memory}, ${ecc}, MIG ${row.mig ?? "none"}, ${place})`;
    findings.push([`gpu-${row.index}`, `GPU ${row.index}`, row.remedy === null ? ok(text) : note(text, row.remedy)]);
  }
  if (inventory.gpus.length > 1) findings.push(["topology", "GPU topology", ok(describeIslands(inventory))]);
  findings.push(["cuda", "driver and torch", compareCuda(inventory.cuda, torch)]);
  const nccl = torch?.nccl ?? null;
  findings.push([
    "nccl",
    "NCCL",
    nccl === null ? note("not found in torch", "install a torch built for CUDA") : ok(nccl),
  ]);
  if (sick.length === rows.length && servable.length === 0) {
    findings.push(["gpu-free", "free GPUs", note("every GPU is in quarantine", notOffered)]);
  }
  return { rows, servable, torch, findings };
}
