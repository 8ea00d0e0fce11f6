import { InfraDevError } from "@/lib/contract/errors";
import { protocol } from "@/lib/contract/job";
import type { JobState } from "@/lib/contract/vocabulary";
import { sleep, TransientError } from "./retry";
import type { ServerApi } from "./server-api";

export type LeaseTiming = { renewSeconds: number; retrySeconds: number; firstWithinSeconds: number };
export const defaultLeaseTiming: LeaseTiming = {
  renewSeconds: protocol.renewSeconds,
  retrySeconds: 5,
  firstWithinSeconds: protocol.leaseSeconds,
};

/**
 * Renews a lease beside the job: at once, then every 30 s ± 20 %, and more often while the server cannot be reached.
 * A lease that the server calls over is lost: renewing ends, the job may go on and deliver late evidence.
 */
export class LeaseKeeper {
  state: JobState = "leased";
  progress: string | null = null;
  private over = false;
  private readonly api: ServerApi;
  private readonly leaseId: string;
  private readonly timing: LeaseTiming;
  private readonly listeners: { onCancel: () => void; onLost: () => void; onInterval: (seconds: number) => void };

  constructor(api: ServerApi, leaseId: string, timing: LeaseTiming, listeners: LeaseKeeper["listeners"]) {
    this.api = api;
    this.leaseId = leaseId;
    this.timing = timing;
    this.listeners = listeners;
  }

  /** Whether the server called the lease over. */
  get lost(): boolean {
    return this.over;
  }

  /** One renewal. False where the server did not answer; a lost lease sets `lost`. */
  async renew(signal?: AbortSignal): Promise<boolean> {
    try {
      const answer = await this.api.renew(this.leaseId, this.state, this.progress, signal);
      this.listeners.onInterval(answer.logIntervalSeconds);
      if (answer.cancel) this.listeners.onCancel();
      return true;
    } catch (error) {
      if (error instanceof TransientError || signal?.aborted) return false;
      if (!(error instanceof InfraDevError)) throw error;
      this.over = true;
      this.listeners.onLost();
      return false;
    }
  }

  /**
   * The first renewal, before which nothing starts: tried until the server grants or refuses it, or until the lease
   * must be over. False where the job must not start.
   */
  async renewFirst(signal: AbortSignal): Promise<boolean> {
    const giveUpAt = Date.now() + this.timing.firstWithinSeconds * 1000;
    while (!(await this.renew(signal))) {
      if (this.lost || signal.aborted || Date.now() > giveUpAt) return false;
      await sleep(this.timing.retrySeconds * 1000, signal).catch(() => undefined);
    }
    return true;
  }

  /** Renews until `signal` aborts or the lease is lost. */
  async run(signal: AbortSignal): Promise<void> {
    const usualSeconds = (): number => this.timing.renewSeconds * (0.8 + Math.random() * 0.4);
    let seconds = usualSeconds();
    for (;;) {
      if (this.lost) return;
      try {
        await sleep(seconds * 1000, signal);
      } catch {
        return;
      }
      seconds = (await this.renew(signal)) ? usualSeconds() : this.timing.retrySeconds;
    }
  }
}
