import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Problem } from "@/lib/contract/errors";
import { capture } from "../processes/capture";
import {
  type DriverReading,
  type GpuReading,
  parseDriverDocument,
  type UnreadableGpu,
  unreadableOf,
} from "./nvidia-smi";
import { parseTopology } from "./topology";

/** A GPU of this host with what addresses it. */
export type Gpu = GpuReading & {
  /** Device nodes of its own; empty where none stands there. */
  devicePaths: string[];
  numaNode: number | null;
};

export type GpuInventory = {
  driver: string;
  cuda: string | null;
  gpus: Gpu[];
  unreadable: UnreadableGpu[];
  /** UUIDs that reach each other over NVLink. */
  islands: string[][];
  /** nvidia-smi's matrix as it printed it, where there are several GPUs. */
  topology: string | null;
};

/** What asking the driver came to: `absent` where this host has no nvidia-smi. */
export type Discovery =
  | { state: "ok"; inventory: GpuInventory }
  | { state: "absent" }
  | { state: "failed"; problem: Problem };

export type DiscoverOptions = {
  /** How long the driver may take to answer. */
  timeoutMs?: number;
  /** Environment of nvidia-smi, above all the PATH that it is found in. */
  env?: Record<string, string> | undefined;
  deviceDir?: string;
  /** Where the driver lists its GPUs by PCI address. */
  driverDir?: string;
};

const defaults = { timeoutMs: 30_000, deviceDir: "/dev", driverDir: "/proc/driver/nvidia/gpus" };

const failed = (code: string, message: string, remedy: string): Discovery => ({
  state: "failed",
  problem: { code, message, where: "nvidia-smi", rule: "GPUs are served where the driver answers for them", remedy },
});

/** Why nvidia-smi gave no document. */
function refusal(printed: string): Discovery {
  const line = printed.trim().split("\n")[0]?.slice(0, 300) || "nvidia-smi printed nothing";
  if (/Driver\/library version mismatch/i.test(printed)) {
    const remedy =
      "the driver was upgraded under a running kernel module: reload the modules (rmmod nvidia_uvm nvidia, then modprobe) or reboot";
    return failed("gpu.driver-mismatch", "the driver's kernel module and its library are of two versions", remedy);
  }
  if (/couldn't communicate with the NVIDIA driver|driver not loaded|NVML: Driver Not Loaded/i.test(printed)) {
    const remedy = "load the driver (modprobe nvidia), or install the one of this kernel; see dmesg";
    return failed("gpu.driver-absent", "nvidia-smi cannot reach the driver", remedy);
  }
  if (/insufficient permissions/i.test(printed)) {
    return failed("gpu.driver-refused", line, "give this user access to /dev/nvidiactl and /dev/nvidia*");
  }
  return failed(
    "gpu.driver-failed",
    `nvidia-smi failed: ${line}`,
    "look at dmesg for lines of NVRM; reset the GPU or reboot",
  );
}

type Answer = { code: number | null; stdout: string; stderr: string; silent: boolean };

const noAnswer: Answer = { code: null, stdout: "", stderr: "", silent: true };

/** Where nvidia-smi waits inside of the driver and does not end: none is started beside it, or each look leaves one. */
const stuck = new Set<string>();

async function ask(args: readonly string[], options: DiscoverOptions): Promise<Answer> {
  const timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
  const { env } = options;
  const driver = env?.PATH ?? "";
  if (stuck.has(driver)) return noAnswer;
  const run = capture("nvidia-smi", args, { timeoutMs, ...(env === undefined ? {} : { env }) });
  let timer: NodeJS.Timeout | undefined;
  // A process that waits inside of the driver cannot even be killed: its end is not waited for.
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs + 1000);
  });
  const startedMs = performance.now();
  const ended = await Promise.race([run, late]).finally(() => clearTimeout(timer));
  if (ended === null) {
    stuck.add(driver);
    const back = () => stuck.delete(driver);
    run.then(back, back);
    return noAnswer;
  }
  const silent = ended.signal === "SIGKILL" && performance.now() - startedMs >= timeoutMs;
  return { ...ended, silent };
}

/** The GPUs that still answer where one that is lost keeps nvidia-smi from listing any. */
async function askEach(unreadable: readonly UnreadableGpu[], options: DiscoverOptions): Promise<DriverReading | null> {
  const lost = new Set(unreadable.map(({ pciBus }) => shortBus(pciBus)));
  const addresses = await readdir(options.driverDir ?? defaults.driverDir).catch(() => []);
  let whole: DriverReading | null = null;
  for (const [index, address] of addresses.sort().entries()) {
    if (lost.has(shortBus(address))) continue;
    const run = await ask(["-q", "-x", "-i", address], options).catch(() => null);
    const reading = run === null ? null : parseDriverDocument(run.stdout);
    if (reading === null) continue;
    whole ??= { ...reading, gpus: [], unreadable: [...unreadable] };
    whole.gpus.push(...reading.gpus.map((gpu) => ({ ...gpu, index })));
  }
  return whole;
}

/** `1b:00.0` of `00000000:1B:00.0`: domains are printed with four digits or eight. */
const shortBus = (address: string | null): string => {
  const [domain = "", ...rest] = (address ?? "").toLowerCase().split(":");
  return [Number.parseInt(domain, 16), ...rest].join(":");
};

let topologies = new Map<string, Promise<string | null>>();

/** The matrix of these GPUs, its head underlined on some drivers; asked for once, since cables do not move. */
function topologyOf(uuids: readonly string[], options: DiscoverOptions): Promise<string | null> {
  const key = JSON.stringify([uuids, options.env?.PATH]);
  let answer = topologies.get(key);
  if (answer === undefined) {
    answer = ask(["topo", "-m"], options).then(
      (run) => (run.code === 0 ? stripVTControlCharacters(run.stdout) : null),
      () => null,
    );
    topologies = new Map([[key, answer]]);
  }
  return answer;
}

async function locate(gpu: GpuReading, numaNode: number | null, options: DiscoverOptions): Promise<Gpu> {
  const minor = gpu.minor ?? (await minorOf(gpu.pciBus, options.driverDir ?? defaults.driverDir));
  const path = join(options.deviceDir ?? defaults.deviceDir, `nvidia${minor}`);
  return { ...gpu, minor, numaNode, devicePaths: minor !== null && existsSync(path) ? [path] : [] };
}

async function minorOf(pciBus: string | null, driverDir: string): Promise<number | null> {
  if (pciBus === null) return null;
  const address = pciBus.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, "");
  const text = await readFile(join(driverDir, address, "information"), "utf8").catch(() => "");
  const minor = /^Device Minor:\s*(\d+)/m.exec(text)?.[1];
  return minor === undefined ? null : Number(minor);
}

/** Asks the driver for every GPU of this host, in one call (and once for the topology). Never throws. */
export async function discoverGpus(options: DiscoverOptions = {}): Promise<Discovery> {
  let run: Answer;
  try {
    run = await ask(["-q", "-x"], options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { state: "absent" };
    return failed("gpu.nvidia-smi", `nvidia-smi cannot be started: ${String(error)}`, "reinstall the driver's tools");
  }
  if (run.silent) {
    const seconds = Math.round((options.timeoutMs ?? defaults.timeoutMs) / 1000);
    const remedy = "a GPU or the driver hangs: look at dmesg for lines of NVRM, reset the GPU or reboot";
    return failed("gpu.driver-silent", `the driver did not answer within ${seconds} s`, remedy);
  }
  const printed = `${run.stdout}\n${run.stderr}`;
  let reading = parseDriverDocument(printed);
  if (reading === null) {
    const unreadable = unreadableOf(printed);
    if (unreadable.length > 0) reading = await askEach(unreadable, options);
    if (reading === null && unreadable.length > 0) {
      const remedy = "reset the GPU (nvidia-smi --gpu-reset -i N) or reboot; look at dmesg for lines of NVRM: Xid";
      return failed("gpu.lost", unreadable[0]?.message ?? "a GPU is lost", remedy);
    }
    if (reading === null && /No devices were found/i.test(printed)) {
      reading = { driver: "unknown", cuda: null, gpus: [], unreadable: [] };
    }
    if (reading === null) return refusal(printed);
  }
  const topology =
    reading.gpus.length > 1
      ? await topologyOf(
          reading.gpus.map(({ uuid }) => uuid),
          options,
        )
      : null;
  const matrix = topology === null ? null : parseTopology(topology);
  const gpus = await Promise.all(
    reading.gpus.map((gpu) => locate(gpu, matrix?.numaNodes.get(gpu.index) ?? null, options)),
  );
  const uuidAt = new Map(gpus.map(({ index, uuid }) => [index, uuid]));
  const islands = (matrix?.islands ?? gpus.map(({ index }) => [index]))
    .map((island) => island.flatMap((index) => uuidAt.get(index) ?? []))
    .filter((island) => island.length > 0);
  const placed = new Set(islands.flat());
  for (const { uuid } of gpus) if (!placed.has(uuid)) islands.push([uuid]);
  const { driver, cuda, unreadable } = reading;
  return { state: "ok", inventory: { driver, cuda, gpus, unreadable, islands, topology } };
}
