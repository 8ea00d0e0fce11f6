import { readFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import type { HostFacts } from "@/lib/contract/result";
import { discoverGpus, type Gpu } from "../gpus/discover";
import { capture } from "../processes/capture";
import type { PythonRuntime } from "./python-runtime";

async function osName(): Promise<string> {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  const name = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1];
  return name ?? platform();
}

async function output(program: string, args: readonly string[]): Promise<string | null> {
  const result = await capture(program, args, { timeoutMs: 20_000 }).catch(() => null);
  return result !== null && result.code === 0 ? result.stdout.trim() : null;
}

async function gpuFacts(): Promise<Pick<HostFacts, "gpus" | "topology" | "cuda">> {
  const discovery = await discoverGpus();
  if (discovery.state !== "ok" || discovery.inventory.gpus.length === 0)
    return { gpus: [], topology: null, cuda: null };
  const { gpus, topology, cuda } = discovery.inventory;
  return { gpus: gpus.map(factsOf), topology, cuda };
}

function factsOf({
  uuid,
  model,
  memoryMb,
  driver,
  mig,
  eccUncorrected,
  numaNode,
  pciBus,
}: Gpu): HostFacts["gpus"][number] {
  return {
    uuid,
    model,
    memoryMb,
    driver,
    ...(mig === null ? {} : { mig }),
    ...(eccUncorrected === null ? {} : { eccUncorrected }),
    ...(numaNode === null ? {} : { numaNode }),
    ...(pciBus === null ? {} : { pciBus }),
  };
}

const ncclVersions = new Map<string, Promise<string | null>>();

/** Asked of each Python until it answers, since it imports torch. */
function ncclVersion({ executable, torch }: PythonRuntime): Promise<string | null> {
  if (torch === null) return Promise.resolve(null);
  const asking =
    ncclVersions.get(executable) ??
    output(executable, [
      "-c",
      "import torch; print('.'.join(map(str, torch.cuda.nccl.version())) if torch.cuda.is_available() else '')",
    ]).then((text) => {
      if (!text) ncclVersions.delete(executable);
      return text || null;
    });
  ncclVersions.set(executable, asking);
  return asking;
}

let facts: Promise<Omit<HostFacts, "python" | "pytest" | "torch" | "nccl">> | null = null;

async function machineFacts(): Promise<Omit<HostFacts, "python" | "pytest" | "torch" | "nccl">> {
  const processors = cpus();
  return {
    os: await osName(),
    kernel: release(),
    arch: arch(),
    cpuModel: processors[0]?.model.trim() || "unknown",
    cpuCount: Math.max(1, processors.length),
    memoryMb: Math.round(totalmem() / 1024 / 1024),
    ...(await gpuFacts()),
    node: process.versions.node,
  };
}

/** Facts of this host for a bundle or a registration: no host name, no user, no path. */
export async function collectHostFacts(python: PythonRuntime): Promise<HostFacts> {
  facts ??= machineFacts();
  const machine = await facts;
  return {
    ...machine,
    nccl: machine.gpus.length > 0 ? await ncclVersion(python) : null,
    python: python.version,
    pytest: python.pytest,
    torch: python.torch,
  };
}
