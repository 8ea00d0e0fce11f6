import { setTimeout as sleep } from "node:timers/promises";
import type { ControlEvent, RunningLaunch } from "../executors/executor";
import { isGuardId } from "./canaries";
import { conclude } from "./conclude";
import { EventStream } from "./event-stream";
import { EvidenceParts } from "./evidence";
import type { Culprit, Kill, LaunchInput, LaunchResult } from "./launch-record";
import { RankRecord } from "./rank-record";

export type { LaunchInput, LaunchResult, TimedOutcome } from "./launch-record";

/** On top of a test's limit, for the start of processes and the loading of modules. */
const startAllowanceMs = 15_000;
/** How long the other ranks may go on with the test in which one was lost. */
const lostGraceMs = 10_000;
const exitGraceMs = 10_000;
/** How long stacks and dumps may take; a launcher that does not answer any more is not waited for. */
const dumpWithinMs = 8_000;
/** A rank that was tampered with and says nothing between its tests any more is not waited for: its outcomes are none. */
const tamperedSilenceMs = 2_000;
const tickMs = 50;

/** Runs one launch to its end, watching each rank's events, and says what each test did on each rank. */
export async function runLaunch(input: LaunchInput): Promise<LaunchResult> {
  return await new Watch(input).run();
}

class Watch {
  private readonly input: LaunchInput;
  private readonly streams: EventStream[];
  private readonly ranks: RankRecord[];
  private readonly startedMs = performance.now();
  private watchedMs = this.startedMs;
  private readonly startedAt = new Date();
  private readonly announced = new Set<string>();
  private readonly killedByUs = new Set<number>();
  private running: RunningLaunch | null = null;
  private kill: Kill | null = null;
  private culprit: Culprit | null = null;
  private lostAtMs: number | null = null;
  private ready: boolean = false;
  private overflowed: boolean = false;
  private everyExitMs: number | null = null;
  private readonly evidence = new EvidenceParts();
  /** Whether the launcher itself said that the launch is over. */
  private ended: boolean = false;
  private onDumped: () => void = () => undefined;
  /**
   * Whether ranks begin each test together. Else a rank that failed one test would meet, with the next one's
   * collectives, those that are still in it, and take a test with it that did not fail.
   */
  private readonly inStep: boolean;

  constructor(input: LaunchInput) {
    this.input = input;
    const { nproc, launcher } = input.group;
    this.inStep = nproc > 1 && launcher !== "script";
    this.streams = Array.from({ length: nproc }, () => new EventStream());
    this.ranks = Array.from({ length: nproc }, (_, rank) => new RankRecord(rank, this.startedMs, input.frames));
  }

  async run(): Promise<LaunchResult> {
    const { input } = this;
    const ranked = input.group.launcher !== "pytest";
    this.running = await input.session.start({
      nproc: input.group.nproc,
      launcher: input.group.launcher,
      mounts: input.mounts,
      cwd: input.cwd,
      searchPath: input.searchPath,
      args: input.args,
      env: input.env,
      openings: this.streams.map((stream, rank) =>
        stream.opening({
          roots: input.roots,
          select: input.canaries.order,
          rank: ranked ? rank : null,
          gated: input.observer.gated,
          in_step: this.inStep,
        }),
      ),
      memoryMb: input.memoryMb,
      shmMb: input.shmMb,
      gpus: input.gpus,
      outputBytes: input.outputBytes,
      handlers: {
        onEventLine: (rank, line) => this.onEventLine(rank, line),
        onControl: (event) => this.onControl(event),
        onOverflow: () => {
          this.overflowed = true;
          this.end("output-limit");
        },
      },
    });
    input.observer.onStarted(this.running);
    const timer = setInterval(() => this.watch(), tickMs);
    const abort = () => this.end("canceled");
    input.signal?.addEventListener("abort", abort, { once: true });
    if (input.signal?.aborted) abort();
    try {
      const end = await this.running.wait();
      for (const record of this.ranks) record.exitHeard = record.exit !== null;
      if (this.kill === null && this.ended) this.noteLoss(performance.now());
      return conclude({ ...this.state(), end });
    } finally {
      clearInterval(timer);
      input.signal?.removeEventListener("abort", abort);
    }
  }

  private state() {
    const { input, streams, ranks, kill, culprit, killedByUs, ready, ended, overflowed, startedAt, startedMs } = this;
    const files = this.evidence.files();
    return { input, streams, ranks, kill, culprit, killedByUs, ready, ended, overflowed, startedAt, startedMs, files };
  }

  private onControl(event: ControlEvent): void {
    const { observer } = this.input;
    switch (event.event) {
      case "ready":
        this.ready = true;
        observer.onReady();
        return;
      case "evidence":
        this.evidence.take(event);
        observer.onEvidence(event);
        return;
      case "dumped":
        this.onDumped();
        return;
      case "end":
        this.ended = true;
        this.onDumped();
        return;
      case "exit": {
        const record = this.ranks[event.rank];
        if (record === undefined) return;
        record.exit = { code: event.code, signal: event.signal, at: event.time };
        record.peakRssKb = Math.max(record.peakRssKb, event.max_rss_kb);
        record.userS = event.user_s;
        record.systemS = event.system_s;
        // A rank that took the handler of stacks away dies of the request for them.
        if (this.kill?.sent || (this.kill !== null && event.signal === "SIGUSR1")) this.killedByUs.add(event.rank);
        observer.onExit(event.rank);
        // What the rank wrote before its end may still stand in its channel: another turn of the loop reads it.
        setImmediate(() =>
          setImmediate(() => {
            record.exitHeard = true;
            this.watch();
          }),
        );
      }
    }
  }

  private onEventLine(rank: number, line: Buffer): void {
    const record = this.ranks[rank];
    const event = this.streams[rank]?.accept(line);
    if (record === undefined || event == null) return;
    const nowMs = performance.now();
    const done = record.apply(event, nowMs);
    this.input.observer.onEvent(rank, event, nowMs);
    if (event.event === "test_start") record.waiting = this.inStep;
    if (done !== null) this.announce(done);
    this.watch();
  }

  /** Lets the ranks that wait before a test begin it, once every rank that is to run it waits there. */
  private takeTurns(alive: readonly RankRecord[], nowMs: number): void {
    const active = alive.filter((record) => !record.sessionFinished);
    for (const record of active) {
      const id = record.open?.id;
      if (!record.waiting || id === undefined) continue;
      const isPast = (other: RankRecord) =>
        other.collected !== null && (!other.collected.includes(id) || other.isDone(id));
      if (!active.every((other) => other.open?.id === id || isPast(other))) continue;
      for (const other of active.filter((each) => each.waiting && each.open?.id === id)) {
        other.begin(nowMs);
        this.running?.release(other.rank);
      }
    }
  }

  private announce(id: string): void {
    if (isGuardId(id) || this.announced.has(id)) return;
    const outcomes = this.ranks.map((record) => record.outcomeOf(id));
    if (outcomes.some((outcome) => outcome === null)) return;
    this.announced.add(id);
    const rank = outcomes.findIndex((outcome) => outcome?.status !== "passed");
    this.input.onTestDone(id, outcomes[rank]?.status ?? "passed", rank < 0 ? null : rank);
  }

  /** Looks at every rank and ends the launch where one hangs, was lost, or the time is over. */
  private watch(): void {
    const now = performance.now();
    const passedMs = now - this.watchedMs;
    this.watchedMs = now;
    if (this.kill !== null) return;
    const alive = this.ranks.filter((record) => record.exit === null);
    if (alive.length === 0) {
      this.everyExitMs ??= now;
      if (now - this.everyExitMs > exitGraceMs) this.running?.signal("kill");
    }
    this.noteLoss(now);
    if (this.inStep) this.takeTurns(alive, now);
    if (this.lostAtMs !== null && this.culprit !== null) {
      const waiting = alive.filter((record) => !this.isPast(record, this.culprit));
      if (alive.length > 0 && (waiting.length === 0 || now - this.lostAtMs > lostGraceMs)) this.end("rank-lost");
      return;
    }
    if (now > this.input.deadlineMs) {
      this.end("group-timeout");
      return;
    }
    this.endOverdue(alive, now, passedMs);
  }

  private endOverdue(alive: readonly RankRecord[], now: number, passedMs: number): void {
    const limitMs = this.input.group.test_timeout_sec * 1000;
    let earliest: { record: RankRecord; sinceMs: number } | null = null;
    for (const record of alive) {
      const silent = record.open === null && record.integrity.length > 0;
      const loading = record.collected === null && !silent;
      const sinceMs = record.open?.sinceMs ?? (loading ? this.startedMs : record.lastEventMs);
      const allowedMs = silent ? tamperedSilenceMs : record.open ? limitMs : limitMs + startAllowanceMs;
      if (record.waiting) continue;
      if (this.input.observer.isWaiting(record.rank)) {
        // Kept from its call, it loses none of its time.
        if (record.open !== null) record.open.sinceMs += passedMs;
        continue;
      }
      const overdue = record.sessionFinished ? now - record.lastEventMs > exitGraceMs : now - sinceMs > allowedMs;
      if (overdue && (earliest === null || sinceMs < earliest.sinceMs)) earliest = { record, sinceMs };
    }
    if (earliest === null) return;
    const { record } = earliest;
    if (!record.sessionFinished) this.culprit = this.culpritOf(record, "hung");
    this.end("test-timeout");
  }

  /** Finds the first rank that ended, or ended its session, with tests that it had not reported. */
  private noteLoss(now: number): void {
    if (this.culprit !== null) return;
    const lost = this.ranks
      .filter((record) => (record.exitHeard || record.sessionFinished) && this.isIncomplete(record))
      .sort((a, b) => (a.exit?.at ?? Infinity) - (b.exit?.at ?? Infinity))[0];
    if (lost === undefined) return;
    this.lostAtMs = now;
    this.culprit = this.culpritOf(lost, "crashed");
  }

  private isIncomplete(record: RankRecord): boolean {
    if (record.collectionEnded && record.open === null) return false;
    return record.collected === null || record.open !== null || record.nextUndone() !== undefined;
  }

  private culpritOf(record: RankRecord, kind: Culprit["kind"]): Culprit {
    const { rank } = record;
    const { tests } = this.input;
    if (record.collected === null) {
      const path = record.collecting ?? "";
      const inFile = tests.filter((id) => path !== "" && id.startsWith(`${path}::`));
      return { ids: inFile.length > 0 ? inFile : [...tests], rank, kind, collecting: true };
    }
    const open = record.open?.id;
    const next = record.collected
      .slice(record.collected.indexOf(open ?? record.nextUndone() ?? ""))
      .find((id) => !isGuardId(id) && !record.isDone(id));
    const id = next ?? record.lastDone() ?? tests[0];
    return { ids: id === undefined ? [] : [id], rank, kind, collecting: false };
  }

  /** Whether a rank has nothing more to say about the culprit. */
  private isPast(record: RankRecord, culprit: Culprit | null): boolean {
    if (record.exit !== null || record.sessionFinished) return true;
    return culprit?.ids.every((id) => record.outcomeOf(id) !== null) ?? true;
  }

  private end(reason: Kill["reason"]): void {
    if (this.kill !== null) return;
    this.kill = { reason, atMs: performance.now(), atS: Date.now() / 1000, sent: false };
    const dump = reason === "test-timeout" || reason === "group-timeout" || reason === "rank-lost";
    void (async () => {
      if (dump) {
        const dumped = new Promise<void>((resolve) => {
          this.onDumped = resolve;
        });
        this.running?.signal("dump");
        const late = new AbortController();
        await Promise.race([dumped, sleep(dumpWithinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
        late.abort();
      }
      if (this.kill !== null) this.kill.sent = true;
      this.running?.signal("kill");
    })();
  }
}
