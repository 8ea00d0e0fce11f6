import type { ControlEvent, RunningLaunch } from "../executors/executor";
import { isGuardId } from "../grading/canaries";
import type { RankEvent } from "../grading/event-stream";
import { type NetworkCounters, openPrivateNetwork, type PrivateNetwork } from "./network";

const networkEveryMs = 100;
/** Samples of the interface that one launch keeps: ten minutes at 100 ms, then every second one, and so on. */
const maxNetworkSamples = 6_000;

/** Called by a launch as it goes; see `../grading/launch.ts`. */
export type LaunchObserver = {
  /** Whether ranks wait before each test's call until the observer lets them go on. */
  readonly gated: boolean;
  onStarted(running: Pick<RunningLaunch, "pid" | "release">): void;
  /** Every rank's process exists. */
  onReady(): void;
  onEvent(rank: number, event: RankEvent, nowMs: number): void;
  onExit(rank: number): void;
  /** Whether a rank is kept from a call that other ranks have not come to yet: it is not the one that hangs. */
  isWaiting(rank: number): boolean;
  /** A part of a file that a rank left in its private folder. */
  onEvidence(event: Extract<ControlEvent, { event: "evidence" }>): void;
};

/** One rank's call of a test, by this process's monotonic clock; `toMs` is null where no report of it came. */
type CallWindow = { rank: number; fromMs: number; toMs: number | null };

/** One test's calls in one launch, and what the interface had counted when the first began and when the last ended. */
export type TestWindows = {
  calls: CallWindow[];
  networkFrom: NetworkCounters | null;
  networkTo: NetworkCounters | null;
  /** Peaks of torch's allocator as each rank's plugin read them, in bytes. */
  allocator: { rank: number; allocated: number; reserved: number }[];
};

export type NetworkSample = { atMs: number } & NetworkCounters;

/** Everything that one launch's observer saw, after the launch. */
export type Observed = {
  tests: Map<string, TestWindows>;
  network: NetworkSample[];
  networkTotal: NetworkCounters | null;
  /** What NCCL's profiler plugin logged, by rank; null where it was too long to be handed over. */
  profiles: Map<number, string | null>;
};

/**
 * Watches one launch from this process: when each rank began and ended each test's call, and what its own loopback
 * interface carried. Gated, it lets the ranks into a call together, after it has read its meters: a call then begins
 * on all ranks within the time that a line takes to reach them.
 */
export class Observer implements LaunchObserver {
  readonly gated: boolean;
  private readonly tests = new Map<string, TestWindows>();
  private readonly samples: NetworkSample[] = [];
  private readonly profiles = new Map<number, { bytes: number; parts: Buffer[] }>();
  private readonly waiting = new Map<number, string>();
  private readonly ended = new Set<number>();
  private readonly selected = new Map<number, ReadonlySet<string>>();
  /** Ranks that will not begin this test's call any more. */
  private readonly past = new Map<string, Set<number>>();
  private readonly nproc: number;
  private running: Pick<RunningLaunch, "pid" | "release"> | null = null;
  private ready: boolean = false;
  private network: PrivateNetwork | null = null;
  private timer: NodeJS.Timeout | null = null;
  private readonly onBoundary: () => void;
  private sampleEvery = 1;
  private tick = 0;

  /** @param options.onBoundary called before a call, and as it begins and ends, on each rank */
  constructor(options: { nproc: number; gated: boolean; onBoundary: () => void }) {
    this.nproc = options.nproc;
    this.gated = options.gated;
    this.onBoundary = options.onBoundary;
  }

  onStarted(running: Pick<RunningLaunch, "pid" | "release">): void {
    this.running = running;
    this.begin();
  }

  onReady(): void {
    this.ready = true;
    this.begin();
  }

  onEvent(rank: number, event: RankEvent, nowMs: number): void {
    switch (event.event) {
      case "collected":
        this.selected.set(rank, new Set(event.ids));
        break;
      case "call_start":
        this.waiting.set(rank, event.id);
        this.onBoundary();
        break;
      case "report":
        this.noteReport(rank, event, nowMs);
        break;
      case "session_finish":
        this.ended.add(rank);
        break;
      default:
        return;
    }
    this.letGo();
  }

  onExit(rank: number): void {
    this.ended.add(rank);
    this.letGo();
  }

  isWaiting(rank: number): boolean {
    return this.waiting.has(rank);
  }

  onEvidence(event: Extract<ControlEvent, { event: "evidence" }>): void {
    if (event.name !== "inspector") return;
    const known = this.profiles.get(event.rank);
    const parts = event.part === 0 || known === undefined ? [] : known.parts;
    this.profiles.set(event.rank, { bytes: event.bytes, parts: [...parts, Buffer.from(event.data, "base64")] });
  }

  /** What was seen. Reads the interface once more and lets go of it; call it after the launch's end. */
  finish(): Observed {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    const networkTotal = this.sample(performance.now());
    this.network?.close();
    const profiles = new Map(
      [...this.profiles].map(([rank, { bytes, parts }]) => {
        const content = Buffer.concat(parts);
        return [rank, content.length === bytes ? content.toString("utf8") : null] as const;
      }),
    );
    return { tests: this.tests, network: this.samples, networkTotal, profiles };
  }

  private begin(): void {
    if (!this.ready || this.running?.pid === undefined || this.network !== null) return;
    this.network = openPrivateNetwork(this.running.pid);
    if (this.network === null) return;
    this.sample(performance.now());
    this.timer = setInterval(() => {
      this.tick += 1;
      if (this.tick % this.sampleEvery === 0) this.sample(performance.now());
    }, networkEveryMs);
  }

  private sample(nowMs: number): NetworkCounters | null {
    const counters = this.network?.read() ?? null;
    if (counters === null) return null;
    if (this.samples.length >= maxNetworkSamples) {
      for (let at = 0; at < this.samples.length / 2; at += 1) this.samples[at] = this.samples[2 * at] as NetworkSample;
      this.samples.length = Math.floor(this.samples.length / 2);
      this.sampleEvery *= 2;
    }
    this.samples.push({ atMs: nowMs, ...counters });
    return counters;
  }

  private windowsOf(id: string): TestWindows {
    const known = this.tests.get(id);
    if (known !== undefined) return known;
    const made: TestWindows = { calls: [], networkFrom: null, networkTo: null, allocator: [] };
    this.tests.set(id, made);
    return made;
  }

  private noteReport(rank: number, event: Extract<RankEvent, { event: "report" }>, nowMs: number): void {
    if (isGuardId(event.id)) return;
    if (event.phase === "setup") {
      if (event.outcome !== "passed") this.pastOf(event.id).add(rank);
      else if (!this.gated) this.open(rank, event.id, nowMs, this.network?.read() ?? null);
      return;
    }
    this.pastOf(event.id).add(rank);
    if (event.phase !== "call") return;
    const windows = this.windowsOf(event.id);
    const call = windows.calls.find((candidate) => candidate.rank === rank);
    if (call === undefined) return;
    // A test with subtests reports its call more than once; the last report ends it.
    call.toMs = nowMs;
    this.onBoundary();
    windows.networkTo = this.network?.read() ?? null;
    if (event.gpu_memory != null) {
      windows.allocator = [
        ...windows.allocator.filter((entry) => entry.rank !== rank),
        { rank, allocated: event.gpu_memory.allocated, reserved: event.gpu_memory.reserved },
      ];
    }
  }

  private pastOf(id: string): Set<number> {
    const known = this.past.get(id) ?? new Set<number>();
    this.past.set(id, known);
    return known;
  }

  private open(rank: number, id: string, fromMs: number, counters: NetworkCounters | null): void {
    const windows = this.windowsOf(id);
    if (windows.calls.some((call) => call.rank === rank)) return;
    windows.calls.push({ rank, fromMs, toMs: null });
    this.onBoundary();
    windows.networkFrom ??= counters;
  }

  /** Lets the ranks that wait before a test go on once every rank waits there or will not come. */
  private letGo(): void {
    for (const id of new Set(this.waiting.values())) {
      const ranks = Array.from({ length: this.nproc }, (_, rank) => rank);
      const comes = (rank: number) =>
        !this.ended.has(rank) && !this.past.get(id)?.has(rank) && (this.selected.get(rank)?.has(id) ?? true);
      if (!isGuardId(id) && ranks.some((rank) => this.waiting.get(rank) !== id && comes(rank))) continue;
      const counters = this.network?.read() ?? null;
      const nowMs = performance.now();
      for (const rank of ranks.filter((candidate) => this.waiting.get(candidate) === id)) {
        this.waiting.delete(rank);
        if (!isGuardId(id)) this.open(rank, id, nowMs, counters);
        this.running?.release(rank);
      }
    }
  }
}
