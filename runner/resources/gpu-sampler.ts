import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { within } from "../executors/launch-process";
import { launcherFolder } from "../executors/python-folder";

export const gpuSampleEveryMs = 100;
const startWithinMs = 10_000;
const freshWithinMs = 2_000;
const maxRestarts = 3;
/** Four hours of one GPU at ten samples a second; a launch's samples are taken out as it ends. */
const maxSamples = 144_000;

/** One reading of one GPU; `atMs` by this process's monotonic clock, null where the driver does not say. */
export type GpuSample = {
  atMs: number;
  /** Bytes of GPU memory in use by everybody. */
  usedBytes: number;
  /** Compute processes that hold the GPU; renewed once a second. */
  processes: number | null;
  /** KiB of payload that the GPU's NVLinks sent, and received, since the driver counts: once a second and when asked. */
  nvlinkSentKib: number | null;
  nvlinkReceivedKib: number | null;
  /** Uncorrected memory errors since the driver was loaded; renewed once a second. */
  eccErrors: number | null;
};

type Line =
  | { kind: "ready"; driver: string }
  | { kind: "sample"; gpu: number; sample: GpuSample }
  | { kind: "lost"; gpu: number; atMs: number; code: string }
  | { kind: "absent"; reason: string };

const numberOf = (field: string | undefined): number | null => {
  if (field === undefined || !/^\d+$/.test(field)) return null;
  return Number(field);
};

/** Reads one line of `infradev_meters.py`; `originUs` is CLOCK_MONOTONIC, in µs, at this process's time origin. */
export function parseMeterLine(line: string, originUs: number): Line | null {
  const [kind, ...fields] = line.split(" ");
  const time = numberOf(fields[0]);
  const gpu = numberOf(fields[1]);
  if (kind === "ready") return { kind, driver: fields.join(" ") };
  if (kind === "absent") return { kind, reason: fields.join(" ") };
  if (time === null || gpu === null) return null;
  const atMs = (time - originUs) / 1000;
  if (kind === "lost") return { kind, gpu, atMs, code: fields[2] ?? "unknown" };
  const usedBytes = numberOf(fields[2]);
  if (kind !== "s" || usedBytes === null) return null;
  return {
    kind: "sample",
    gpu,
    sample: {
      atMs,
      usedBytes,
      processes: numberOf(fields[3]),
      nvlinkSentKib: numberOf(fields[4]),
      nvlinkReceivedKib: numberOf(fields[5]),
      eccErrors: numberOf(fields[6]),
    },
  };
}

/** CLOCK_MONOTONIC in µs at the time origin of `performance.now()`. */
const clockOriginUs = (): number => Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;

/**
 * Samples the granted GPUs from a process of its own, as long as a grading lasts. Where NVML is absent it says so in
 * `absent` and samples nothing; where its process dies it starts it again, and the time between stays without samples.
 */
export class GpuSampler {
  readonly uuids: readonly string[];
  /** Why nothing is sampled, null while it is. */
  absent: string | null = null;
  driver: string | null = null;
  /** What went wrong, each a sentence. */
  readonly notes: string[] = [];
  private readonly samples: GpuSample[][];
  private readonly lost = new Set<number>();
  private readonly python: string;
  private readonly program: string;
  private readonly env: Readonly<Record<string, string>>;
  private readonly originUs = clockOriginUs();
  private child: ChildProcess | null = null;
  private waiters: { fromMs: number; wake: () => void }[] = [];
  /** When the first GPU of the newest round was read. */
  private roundMs = 0;
  private restarts = 0;
  private closed: boolean = false;

  /** @param env variables of the sampler's process beside its PATH, such as LD_LIBRARY_PATH */
  constructor(options: { uuids: readonly string[]; python: string; env?: Record<string, string>; program?: string }) {
    this.uuids = options.uuids;
    this.python = options.python;
    this.env = options.env ?? {};
    this.program = options.program ?? join(launcherFolder, "infradev_meters.py");
    this.samples = options.uuids.map(() => []);
  }

  /** The sampler's process, for whoever watches over processes; null where none runs. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /** Starts, and waits for the first sample or for the reason why there is none. */
  async start(): Promise<void> {
    if (this.uuids.length === 0) {
      this.absent = "no GPU was granted";
      return;
    }
    this.launch();
    await this.next(Number.NEGATIVE_INFINITY, startWithinMs);
    if (this.absent === null && this.samples.every(({ length }) => length === 0)) {
      this.absent = "the sampler gave no sample in time";
    }
  }

  /** Takes a sample now, outside of the period. */
  poke(): void {
    const stdin = this.child?.stdin as Writable | null | undefined;
    if (stdin && !stdin.destroyed) stdin.write(".");
  }

  /** Takes a sample now and waits for it, two seconds at most. */
  async fresh(): Promise<void> {
    if (this.child === null || this.lost.size === this.uuids.length) return;
    // A round of the period may be on its way here, without what is read only when asked.
    const waited = this.next(performance.now(), freshWithinMs);
    this.poke();
    await waited;
  }

  /** Samples of a GPU from `fromMs` to `toMs`. */
  between(gpu: number, fromMs: number, toMs: number): GpuSample[] {
    return (this.samples[gpu] ?? []).filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  }

  /** The newest sample of a GPU at or before a time; null where there is none. */
  lastBefore(gpu: number, atMs: number): GpuSample | null {
    return (this.samples[gpu] ?? []).findLast((sample) => sample.atMs <= atMs) ?? null;
  }

  /** Drops samples that no later launch needs. */
  forgetBefore(atMs: number): void {
    for (const kept of this.samples) {
      const first = kept.findIndex((sample) => sample.atMs >= atMs);
      kept.splice(0, first < 0 ? kept.length : first);
    }
  }

  /** Ends the sampler's process. */
  async close(): Promise<void> {
    this.closed = true;
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.stdin?.end();
    if (await within(ended, 2_000)) return;
    child.kill("SIGKILL");
    // One that waits inside of the driver does not even end so, and is not waited for.
    if (!(await within(ended, 2_000))) child.unref();
  }

  private launch(): void {
    const args = ["-I", "-S", this.program, String(gpuSampleEveryMs), ...this.uuids];
    const child = spawn(this.python, args, {
      env: { PATH: "/usr/bin:/bin", ...this.env } as Record<string, string> as NodeJS.ProcessEnv,
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.child = child;
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", (line) => this.take(line));
    child.once("error", (error) => this.ended(child, `it could not be started: ${error.message}`));
    child.once("exit", (code, signal) => this.ended(child, signal === null ? `it ended with code ${code}` : signal));
  }

  private ended(child: ChildProcess, how: string): void {
    if (this.child !== child) return;
    this.child = null;
    this.wake();
    if (this.closed || this.absent !== null) return;
    this.notes.push(`the GPU sampler's process was lost (${how})`);
    if (this.restarts >= maxRestarts) {
      this.absent = `the GPU sampler was lost ${this.restarts + 1} times (${how})`;
      return;
    }
    this.restarts += 1;
    this.launch();
  }

  private take(line: string): void {
    const read = parseMeterLine(line, this.originUs);
    if (read === null) return;
    if (read.kind === "ready") this.driver = read.driver;
    if (read.kind === "absent") {
      this.absent = read.reason;
      this.wake();
    }
    if (read.kind === "lost") {
      this.lost.add(read.gpu);
      this.notes.push(`GPU ${this.uuids[read.gpu] ?? read.gpu} was lost to NVML (code ${read.code})`);
      this.wake();
    }
    if (read.kind !== "sample") return;
    const kept = this.samples[read.gpu];
    if (kept === undefined) return;
    if (kept.length >= maxSamples) kept.shift();
    kept.push(read.sample);
    const round = [...this.uuids.keys()].filter((gpu) => !this.lost.has(gpu));
    if (read.gpu === round[0]) this.roundMs = read.sample.atMs;
    if (read.gpu === round.at(-1)) this.wake(this.roundMs);
  }

  /** Wakes who waits for a round that began at `roundMs`; everybody where nothing more may come. */
  private wake(roundMs: number = Number.POSITIVE_INFINITY): void {
    const woken = this.waiters.filter(({ fromMs }) => fromMs <= roundMs);
    this.waiters = this.waiters.filter(({ fromMs }) => fromMs > roundMs);
    for (const { wake } of woken) wake();
  }

  /** Waits for a round of samples that begins at `fromMs` or later. */
  private async next(fromMs: number, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.waiters.push({ fromMs, wake: resolve });
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
  }
}
