import { setTimeout as sleep } from "node:timers/promises";
import { InfraDevError } from "@/lib/contract/errors";
import { planStarts } from "./allocate";
import { type Discovery, discoverGpus, type Gpu, type GpuInventory } from "./discover";
import { type GpuGrant, gpusInWords } from "./grant";
import { faultsOf } from "./health";
import { findHolder, type GpuLock, type Holder, releaseAll, takeLock, takeLocks, turnOf } from "./lock";
import { Quarantine, type QuarantinedGpu, type QuarantineEvent, reasonsOf, sortSeen } from "./quarantine";

export type PoolOptions = {
  /** What holds the GPUs, told to whoever finds them in use. */
  what: string;
  discover?: () => Promise<Discovery>;
  quarantine?: Quarantine;
  onEvent?: (event: QuarantineEvent) => void;
  /** Told once of each job that cannot start at once: what it waits for, and who has that. */
  onWait?: (text: string) => void;
  /** How often a waiting job looks again for GPUs that other processes give back. */
  pollMs?: number;
  /** How long GPUs that are only not yet free (a process that ends, memory on its way back) are waited for. */
  graceMs?: number;
};

export type HostGpus = {
  discovery: Discovery;
  /** Healthy and in nobody's use. */
  free: Gpu[];
  /** In use by a grading, of this process or another one. */
  busy: { gpu: Gpu; holder: Holder }[];
  /** Those that are there first. */
  quarantined: QuarantinedGpu[];
};

type Waiting = {
  job: { resolve(grant: GpuGrant): void; reject(error: unknown): void };
  gpus: number;
  usable: (uuid: string) => boolean;
  minMemoryMb: number;
  /** Whether a look has shown since it waits that the host can give so many, whoever holds them. */
  servable: boolean;
  /** This process's clock since which the host could not give so many; null while it could. */
  shortSinceMs: number | null;
  told: boolean;
};

const settleMs = 1000;
const defaultPollMs = 2000;
const isPassing = ({ code }: { code: string }): boolean => code === "foreign-process" || code === "leftover-memory";

/** The GPUs that this host can give a job, now or once they are given back. */
export const servableGpus = ({ free, busy }: Pick<HostGpus, "free" | "busy">): Gpu[] => [
  ...free,
  ...busy.map(({ gpu }) => gpu),
];

/**
 * The GPUs of this host as one process uses them: what is free, and grants of it. A grant's locks are taken before it
 * is given. Within a process the oldest job that waits comes first (see `planStarts`). Between processes the locks
 * decide, and the turn: one lock of the host, held for a job that waits for more than is free. While it is held no other
 * pool starts a job.
 */
export class GpuPool {
  private readonly options: PoolOptions;
  private readonly quarantine: Quarantine;
  /** In the order in which they asked. */
  private readonly waiting: Waiting[] = [];
  private turn: { entry: Waiting; lock: GpuLock } | null = null;
  /** This process's clock before which it leaves the turn to others, having had it. */
  private turnFromMs = 0;
  /** How long the last look took. */
  private lookMs = 0;
  /** Whether another process took locks between the last look and this one's attempt to take them. */
  private lost = false;
  private memories = new Map<string, number>();
  private pumping: Promise<void> = Promise.resolve();
  /** The look that has not begun yet: whoever asks meanwhile is served by it. */
  private queued: Promise<void> | null = null;

  constructor(options: PoolOptions) {
    this.options = options;
    this.quarantine = options.quarantine ?? new Quarantine();
  }

  /** Looks at every GPU of the host, and brings the quarantine up to date with what it sees. */
  async look(): Promise<HostGpus> {
    const begunMs = performance.now();
    let seen = await this.see();
    // Read while a grading gave them back, processes would look like foreign ones: look twice before judging.
    if (seen.idle.some((gpu) => faultsOf(gpu).some(isPassing))) {
      await sleep(settleMs);
      seen = await this.see();
    }
    const { discovery, idle, busy } = seen;
    if (discovery.state !== "ok") {
      return { discovery, free: [], busy: [], quarantined: sortSeen(await this.quarantine.list(), null) };
    }
    const events = await this.quarantine.look(discovery.inventory, new Set(idle.map(({ uuid }) => uuid)));
    for (const event of events) this.options.onEvent?.(event);
    const quarantined = sortSeen(await this.quarantine.list(), discovery.inventory);
    const held = new Set(quarantined.map(({ uuid }) => uuid));
    this.memories = new Map(discovery.inventory.gpus.map(({ uuid, memoryMb }) => [uuid, memoryMb]));
    const free = idle.filter(({ uuid }) => !held.has(uuid));
    this.lookMs = performance.now() - begunMs;
    return { discovery, free, busy, quarantined };
  }

  /** Whose job has what is free kept for it, where it is another pool's that is alive. */
  private async nextElsewhere(gpus: readonly Gpu[]): Promise<Holder | null> {
    if (this.turn !== null || gpus.length === 0) return null;
    const holder = await findHolder(turnOf(gpus));
    return holder?.pid === 0 ? null : holder;
  }

  private async see(): Promise<{ discovery: Discovery; idle: Gpu[]; busy: HostGpus["busy"] }> {
    const discovery = await (this.options.discover ?? discoverGpus)();
    const idle: Gpu[] = [];
    const busy: HostGpus["busy"] = [];
    if (discovery.state !== "ok") return { discovery, idle, busy };
    for (const gpu of discovery.inventory.gpus) {
      const holder = await findHolder(gpu.uuid);
      if (holder === null) idle.push(gpu);
      else busy.push({ gpu, holder });
    }
    return { discovery, idle, busy };
  }

  /**
   * `count` GPUs of at least `minMemoryMb`, as soon as they are free. Throws `gpu.too-few` where this host cannot give
   * so many however long one waits (also where that comes while it waits), and what `signal` says where it aborts.
   */
  async acquire(count: number, options: { minMemoryMb?: number; signal?: AbortSignal } = {}): Promise<GpuGrant> {
    const { minMemoryMb = 0, signal } = options;
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const usable = (uuid: string): boolean => (this.memories.get(uuid) ?? 0) >= minMemoryMb;
      const leave = (): void => {
        const at = this.waiting.indexOf(entry);
        if (at >= 0) this.waiting.splice(at, 1);
        clearInterval(timer);
        signal?.removeEventListener("abort", abort);
        if (this.turn?.entry === entry) this.passTurnOn();
      };
      const abort = (): void => {
        leave();
        reject(signal?.reason);
      };
      const given = (grant: GpuGrant): void => {
        leave();
        resolve(grant);
      };
      const failed = (error: unknown): void => {
        leave();
        reject(error);
      };
      const job = { resolve: given, reject: failed };
      const entry: Waiting = {
        job,
        gpus: count,
        usable,
        minMemoryMb,
        servable: false,
        shortSinceMs: null,
        told: false,
      };
      const timer = setInterval(() => void this.pump(), this.pollMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.waiting.push(entry);
      void this.pump();
    });
  }

  private get pollMs(): number {
    return this.options.pollMs ?? defaultPollMs;
  }

  private get graceMs(): number {
    return this.options.graceMs ?? 10_000;
  }

  /**
   * Starts whoever can start now. One look at a time, since each takes what the next one sees. Where GPUs cannot be
   * looked at or locked at all, whoever waits is told so.
   */
  private pump(): Promise<void> {
    if (this.queued !== null) return this.queued;
    const next = this.pumping.then(async () => {
      this.queued = null;
      try {
        await this.startWaiting();
      } catch (error) {
        for (const { job } of [...this.waiting]) job.reject(error);
      }
    });
    this.queued = next;
    this.pumping = next;
    return next;
  }

  private async startWaiting(): Promise<void> {
    if (this.waiting.length === 0) return;
    const host = await this.look();
    this.refuseShort(host);
    if (host.discovery.state !== "ok") return;
    const { inventory } = host.discovery;
    const planned = [...this.waiting];
    const nextElsewhere = await this.nextElsewhere(inventory.gpus);
    const { granted, lost } =
      nextElsewhere === null ? await this.start(planned, host, inventory) : { granted: new Set<string>(), lost: false };
    const left = planned.filter((entry) => this.waiting.includes(entry));
    const again = lost && !this.lost;
    this.lost = lost;
    if (again) return void this.pump();
    for (const entry of left.filter(({ told }) => !told)) {
      entry.told = true;
      this.options.onWait?.(this.describeWait(entry, host, granted, nextElsewhere));
    }
    const next = left.find(({ shortSinceMs }) => shortSinceMs === null);
    if (next !== undefined) await this.takeTurn(next, inventory.gpus);
  }

  /** Starts those of the jobs that can start. Gives the GPUs that they got, and whether others were taken meanwhile. */
  private async start(
    planned: readonly Waiting[],
    host: HostGpus,
    { gpus, islands }: GpuInventory,
  ): Promise<{ granted: Set<string>; lost: boolean }> {
    const numaNodes = new Map(gpus.flatMap(({ uuid, numaNode }) => (numaNode === null ? [] : [[uuid, numaNode]])));
    const state = { free: host.free.map(({ uuid }) => uuid), islands, numaNodes };
    const servable = servableGpus(host).map(({ uuid }) => uuid);
    const granted = new Set<string>();
    let lost = false;
    for (const { job, uuids } of planStarts(planned, state, servable)) {
      const locks = await takeLocks(uuids, this.options.what);
      if (locks === null) {
        lost = true;
        continue;
      }
      if (!this.waiting.some((entry) => entry.job === job)) {
        await releaseAll(locks);
        continue;
      }
      for (const uuid of uuids) granted.add(uuid);
      const devices = uuids.flatMap((uuid) => host.free.filter((gpu) => gpu.uuid === uuid));
      job.resolve({
        uuids,
        devices: devices.map(({ uuid, index, devicePaths }) => ({ uuid, index, devicePaths })),
        release: async () => {
          await releaseAll(locks);
          await this.pump();
        },
      });
    }
    return { granted, lost };
  }

  private describeWait(
    { gpus: count, usable }: Waiting,
    { free, busy, quarantined }: HostGpus,
    granted: ReadonlySet<string>,
    nextElsewhere: Holder | null,
  ): string {
    const has = ({ index }: Gpu, { what, pid }: Pick<Holder, "what" | "pid">) =>
      `GPU ${index} has ${what} (process ${pid})`;
    const own = { what: this.options.what, pid: process.pid };
    const left = free.filter(({ uuid }) => !granted.has(uuid));
    const kept =
      nextElsewhere !== null
        ? [`what is free is kept for the next job of ${nextElsewhere.what} (process ${nextElsewhere.pid})`]
        : left.filter(({ uuid }) => usable(uuid)).length >= count
          ? ["what is free is kept for an older job"]
          : [];
    return [
      `waiting for ${gpusInWords(count)}`,
      ...busy.map(({ gpu, holder }) => has(gpu, holder)),
      ...free.filter(({ uuid }) => granted.has(uuid)).map((gpu) => has(gpu, own)),
      ...reasonsOf(quarantined),
      ...kept,
    ].join("; ");
  }

  /** Has what is free on the host kept for this job, if no other pool's job has it kept. */
  private async takeTurn(entry: Waiting, gpus: readonly Gpu[]): Promise<void> {
    const name = turnOf(gpus);
    // Where the host's GPUs have changed, so has the lock's name.
    if (this.turn !== null && this.turn.lock.uuid !== name) this.releaseTurn();
    if (this.turn !== null || performance.now() < this.turnFromMs) return;
    const lock = await takeLock(name, this.options.what);
    if (lock === null) return;
    if (this.waiting.includes(entry)) this.turn = { entry, lock };
    else await lock.release();
  }

  private releaseTurn(): void {
    void this.turn?.lock.release();
    this.turn = null;
  }

  /** Long enough for every other pool to look once: whoever had the turn does not take it again before them. */
  private passTurnOn(): void {
    this.releaseTurn();
    this.turnFromMs = performance.now() + 2 * (this.pollMs + this.lookMs);
  }

  /**
   * Ends the waiting of jobs that this host cannot serve, whoever gives what back: at once where it never could, even
   * with GPUs that are only not yet free, and otherwise once it has been so for a while.
   */
  private refuseShort(host: HostGpus): void {
    const { discovery, quarantined } = host;
    const had = servableGpus(host).map(({ uuid }) => uuid);
    const passing = quarantined.filter((entry) => entry.isSeen && isPassing(entry)).length;
    for (const entry of [...this.waiting]) {
      const fitting = had.filter(entry.usable).length;
      if (fitting >= entry.gpus) {
        entry.servable = true;
        entry.shortSinceMs = null;
        continue;
      }
      entry.shortSinceMs ??= performance.now();
      const mayCome = entry.servable || fitting + passing >= entry.gpus;
      if (mayCome && performance.now() - entry.shortSinceMs < this.graceMs) continue;
      entry.job.reject(tooFew(entry.gpus, entry.minMemoryMb, fitting, discovery, quarantined));
    }
  }
}

/** Why a host whose GPUs look like that cannot give `count` of them: `gpu.too-few`. */
export function tooFew(
  count: number,
  minMemoryMb: number,
  found: number,
  discovery: Discovery,
  quarantined: readonly QuarantinedGpu[],
): InfraDevError {
  const wanted = `${gpusInWords(count)}${minMemoryMb > 0 ? ` of at least ${minMemoryMb} MiB` : ""}`;
  const [reasons, remedy] =
    discovery.state === "failed"
      ? [[discovery.problem.message], discovery.problem.remedy]
      : discovery.state === "absent"
        ? [["there is no nvidia-smi in PATH"], undefined]
        : [reasonsOf(quarantined), quarantined.find((entry) => entry.isSeen || !isPassing(entry))?.remedy];
  return new InfraDevError("unavailable", {
    code: "gpu.too-few",
    message: `this host can serve ${found} of ${wanted}${reasons.length > 0 ? `: ${reasons.join("; ")}` : ""}`,
    where: "this host's GPUs",
    rule: "a launch gets healthy GPUs that it has for itself",
    remedy: remedy ?? "ask for fewer (--gpus N), or use a host that has so many",
  });
}
