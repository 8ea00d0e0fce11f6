import { statfs } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";
import type { FailureDetail } from "@/lib/contract/result";
import type { ManifestTest } from "@/lib/contract/task";
import { type Discovery, discoverGpus, type Gpu } from "../gpus/discover";
import type { GpuGrant } from "../gpus/grant";
import { Quarantine } from "../gpus/quarantine";
import { settleGpus, type Unsettled } from "../gpus/settle";
import { capture } from "../processes/capture";
import type { TimedOutcome } from "./launch";

/** What the host did to a launch, seen from outside of it. `code` is stable. */
export type HostFault = { code: string; message: string; evidence: string[] };

/** The host at one moment: what a launch needs of it. */
export type HostSnapshot = {
  /** Free bytes where the grading works, and in the host's /dev/shm; null where they cannot be asked for. */
  workFreeBytes: number | null;
  sharedFreeBytes: number | null;
  /** The granted GPUs by UUID; null where the grading has none. */
  gpus: Map<string, Gpu> | null;
  /** Why the driver did not answer for them. */
  driverProblem: { code: string; message: string } | null;
  unsettled: Unsettled[];
  /** The kernel's lines about GPU errors; null where this user may not read them. */
  xids: string[] | null;
};

const mebibyte = 1024 * 1024;
/** Below this nothing can be written any more that a grading writes: not even its evidence. */
const leastWorkBytes = 16 * mebibyte;
/** What NCCL's ranks of one host want of a /dev/shm that they share with everything else. */
const leastSharedBytes = 64 * mebibyte;

/**
 * Xids that NVIDIA's catalogue gives to the hardware, its links or the driver's firmware. What a program can raise by
 * its own mistakes (13, 31, 43, 45 ...) is left out.
 */
const hardwareXids: ReadonlySet<number> = new Set([48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140]);

export type HostWatchOptions = {
  gpus: GpuGrant | null;
  workDir: string;
  /** Whether launches have a disk and a /dev/shm of their own. */
  sandboxed: boolean;
  discover?: (() => Promise<Discovery>) | undefined;
  kernelLog?: () => Promise<string | null>;
  freeBytes?: (folder: string) => Promise<number | null>;
  quarantine?: Quarantine;
  settleLimitMs?: number;
};

async function freeBytesOf(folder: string): Promise<number | null> {
  const stats = await statfs(folder).catch(() => null);
  return stats === null ? null : stats.bavail * stats.bsize;
}

async function readKernelLog(): Promise<string | null> {
  const run = await capture("dmesg", [], { timeoutMs: 5000 }).catch(() => null);
  return run !== null && run.code === 0 ? run.stdout : null;
}

/** Looks at the host before and after every launch of a grading, and says what it did to them. */
export class HostWatch {
  private readonly options: HostWatchOptions;
  private before: HostSnapshot | null = null;

  constructor(options: HostWatchOptions) {
    this.options = options;
  }

  /** Faults for which nothing should be launched here at all. */
  async begin(): Promise<HostFault[]> {
    this.before = await this.snapshot();
    return faultsBetween(null, this.before, this.options);
  }

  /**
   * Faults of the launch that just ended. Waits until its GPUs are free again; one that is not, or that failed, goes
   * into quarantine.
   */
  async end(): Promise<HostFault[]> {
    const after = await this.snapshot();
    const faults = faultsBetween(this.before, after, this.options);
    this.before = after;
    for (const { uuid, fault } of after.unsettled) {
      const { code, message, remedy } = fault;
      await (this.options.quarantine ?? new Quarantine()).add({ uuid, code, message, remedy });
    }
    return faults;
  }

  private async snapshot(): Promise<HostSnapshot> {
    const { gpus, workDir, discover = discoverGpus, settleLimitMs } = this.options;
    const freeBytes = this.options.freeBytes ?? freeBytesOf;
    const space = { workFreeBytes: await freeBytes(workDir), sharedFreeBytes: await freeBytes("/dev/shm") };
    if (gpus === null) return { ...space, gpus: null, driverProblem: null, unsettled: [], xids: null };
    const { discovery, unsettled } = await settleGpus(gpus.uuids, {
      discover,
      ...(settleLimitMs === undefined ? {} : { limitMs: settleLimitMs }),
    });
    const found = discovery.state === "ok" ? discovery.inventory.gpus : [];
    const log = await (this.options.kernelLog ?? readKernelLog)();
    return {
      ...space,
      gpus: new Map(found.flatMap((gpu) => (gpus.uuids.includes(gpu.uuid) ? [[gpu.uuid, gpu] as const] : []))),
      driverProblem: discovery.state === "failed" ? discovery.problem : null,
      unsettled,
      xids: log === null ? null : log.split("\n").filter((line) => /NVRM: Xid /.test(line)),
    };
  }
}

/** The address of a PCI device without its function, as Xid lines print it: `0000:1b:00`. */
const busOf = (pciBus: string | null): string =>
  (pciBus ?? "")
    .toLowerCase()
    .replace(/^0000(?=[0-9a-f]{4}:)/, "")
    .replace(/\.[0-9a-f]$/, "");

/** New lines of the kernel about hardware errors of these GPUs. */
function hardwareErrors(before: HostSnapshot | null, after: HostSnapshot): string[] {
  if (before === null || after.xids === null) return [];
  const known = new Set(before.xids ?? after.xids);
  const buses = [...(before.gpus?.values() ?? [])].map(({ pciBus }) => busOf(pciBus)).filter((bus) => bus !== "");
  return after.xids.filter((line) => {
    const match = /NVRM: Xid \(PCI:([0-9a-f:.]+)\): (\d+)/i.exec(line);
    if (match === null || known.has(line)) return false;
    return hardwareXids.has(Number(match[2])) && buses.includes(busOf(match[1] ?? null));
  });
}

/**
 * What went wrong with the host between two snapshots, or with what it is like before the first launch (`before` is
 * null). Only what stands outside of the candidate's reach counts.
 */
export function faultsBetween(
  before: HostSnapshot | null,
  after: HostSnapshot,
  { sandboxed }: Pick<HostWatchOptions, "sandboxed">,
): HostFault[] {
  const faults: HostFault[] = [];
  const { workFreeBytes, sharedFreeBytes } = after;
  // Without a sandbox the launch itself may have filled what it shares with the host: only what was full before it counts.
  const isHosts = sandboxed || before === null;
  if (isHosts && workFreeBytes !== null && workFreeBytes < leastWorkBytes) {
    faults.push({
      code: "host.disk-full",
      message: "the disk that gradings work on is full",
      evidence: [`${Math.floor(workFreeBytes / mebibyte)} MiB free, ${leastWorkBytes / mebibyte} MiB wanted`],
    });
  }
  const shares = !sandboxed && before === null && after.gpus !== null;
  if (shares && sharedFreeBytes !== null && sharedFreeBytes < leastSharedBytes) {
    faults.push({
      code: "host.shared-memory",
      message: "/dev/shm has no room for NCCL's ranks",
      evidence: [`${Math.floor(sharedFreeBytes / mebibyte)} MiB free, ${leastSharedBytes / mebibyte} MiB wanted`],
    });
  }
  if (after.gpus === null) return faults;
  if (after.driverProblem !== null) {
    const { code, message } = after.driverProblem;
    faults.push({ code: code.replace(/^gpu\./, "host."), message, evidence: [message] });
    return faults;
  }
  const errors = hardwareErrors(before, after);
  if (errors.length > 0) {
    faults.push({
      code: "host.gpu-error",
      message: "the driver reported a hardware error of a GPU",
      evidence: errors.slice(0, 5),
    });
  }
  for (const [uuid, gpu] of after.gpus) {
    const earlier = before?.gpus?.get(uuid)?.eccUncorrected ?? 0;
    if ((gpu.eccUncorrected ?? 0) <= earlier) continue;
    const message = "a GPU's memory had uncorrected errors";
    const evidence = [`${uuid}: ${earlier} uncorrected ECC errors before, ${gpu.eccUncorrected} after`];
    faults.push({ code: "host.gpu-ecc", message, evidence });
  }
  for (const { uuid, fault } of after.unsettled) {
    if (fault.code === "ecc-uncorrected") continue;
    const lost = fault.code === "unreadable";
    faults.push({
      code: lost ? "host.gpu-lost" : "host.gpu-not-free",
      message: lost ? "the driver lost a GPU" : "a GPU was not free when no process of the grading was left",
      evidence: [`${uuid}: ${fault.message}`],
    });
  }
  return faults;
}

/** All faults as the one reason of an `infra` grading. */
export function reasonOf(faults: readonly HostFault[]): HostFault | null {
  const [first] = faults;
  return first === undefined ? null : { ...first, evidence: faults.flatMap(({ evidence }) => evidence).slice(0, 20) };
}

/**
 * Messages that a fault of the host leaves in a test, and that a candidate can as well raise, print or provoke: they
 * decide nothing, and are worth a control run.
 */
const hostlike: readonly RegExp[] = [
  /No space left on device|Disk quota exceeded|Input\/output error|Too many open files|Cannot allocate memory/i,
  /Address already in use/i,
  /uncorrectable (NVLink|ECC)|GPU is lost|device.{0,20}\blost\b|fallen off the bus/i,
  /no CUDA-capable device|No CUDA GPUs are available|CUDA-capable device\(s\) is\/are busy|invalid device ordinal/i,
  /system not yet initialized|system has unsupported display driver|driver version is insufficient|driver.{0,10}mismatch/i,
  /CUDA (driver )?(initialization )?error: (initialization error|unknown error|hardware stack error)/i,
  /CUDA unknown error|unspecified launch failure|launch timed out/i,
  /nccl(SystemError|UnhandledCudaError)|unhandled (system|cuda) error/i,
  /Error while (creating|attaching to) shared memory|\/dev\/shm/i,
  /ended by SIGBUS/,
];

/** Whether a failure is of a kind that faults of hosts have too. */
export const looksLikeHostFault = (failure: FailureDetail): boolean =>
  hostlike.some((pattern) => pattern.test(failure.message));

export type Suspect = { test: ManifestTest; message: string };

/** Required tests that did not pass, on some rank in a way that looks like a fault of the host. */
export function suspectsOf(
  tests: readonly ManifestTest[],
  outcomes: ReadonlyMap<string, readonly TimedOutcome[]>,
): Suspect[] {
  return tests.flatMap((test) => {
    if (!test.required) return [];
    const failures = (outcomes.get(test.id) ?? []).flatMap(({ outcome }) => outcome.failure ?? []);
    const failure = failures.find(looksLikeHostFault);
    return failure === undefined ? [] : [{ test, message: failure.message }];
  });
}

export type ControlInput = {
  suspects: readonly Suspect[];
  /** Whether what probes say stays sealed. */
  probesHidden: boolean;
  /** Runs these tests on gold, on this host, now; null where the grading ends here for another reason. */
  runGold(tests: readonly string[]): Promise<ReadonlyMap<string, readonly TimedOutcome[]> | null>;
  hasPassed(test: ManifestTest, ranks: readonly TimedOutcome[] | undefined): boolean;
};

/** No gold stands here (a suite may be given out without its solutions), or none that can be laid out. */
const isWithoutGold = (error: unknown): boolean => error instanceof InfraDevError && error.code.startsWith("task.");

/** The first line of a message, and what NCCL says below it went wrong. */
function gistOf(text: string): string {
  const first = (text.split("\n").find((line) => line.trim() !== "") ?? "").slice(0, 300);
  const last = /^Last error:[ \t]*\n?[ \t]*(\S.*)$/m.exec(text)?.[1];
  return last === undefined ? first : `${first}: ${last.slice(0, 300)}`;
}

/**
 * Decides whose fault it was by a control run of gold. Gold fails too: the host's, with both messages as evidence.
 * Gold passes, or there is no gold that can be laid out: the candidate's, and null.
 */
export async function controlByGold({
  suspects,
  probesHidden,
  runGold,
  hasPassed,
}: ControlInput): Promise<HostFault | null> {
  if (suspects.length === 0) return null;
  const outcomes = await runGold(suspects.map(({ test }) => test.id)).catch((error: unknown) => {
    if (isWithoutGold(error)) return null;
    throw error;
  });
  if (outcomes === null) return null;
  const failed = suspects.filter(({ test }) => !hasPassed(test, outcomes.get(test.id)));
  const [first] = failed;
  if (first === undefined) return null;
  const goldMessage = (test: ManifestTest): string =>
    gistOf(outcomes.get(test.id)?.find(({ outcome }) => outcome.failure !== null)?.outcome.failure?.message ?? "") ||
    "no outcome";
  return {
    code: "host.control-failed",
    message: "the task's own solution fails on this host as well, right after the candidate",
    evidence: failed
      .slice(0, 5)
      .flatMap(({ test, message }) =>
        probesHidden && test.kind === "probe"
          ? [`${test.id}: fails with the candidate's patch and with gold's`]
          : [`${test.id}: candidate: ${gistOf(message)}`, `${test.id}: gold: ${goldMessage(test)}`],
      ),
  };
}
