import { setTimeout as sleep } from "node:timers/promises";
import type { Guard, Launch, RankOutcome, Resource } from "@/lib/contract/result";
import type { Group } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { ExecutorSession, LaunchEnd, Mount, RankOutput, RunningLaunch } from "../executors/executor";
import type { GpuGrant } from "../gpus/grant";
import type { LaunchObserver } from "../resources/observer";
import { type CanaryPlan, isGuardId } from "./canaries";
import { EventStream } from "./event-stream";
import { type FrameMapper, parseStackDump } from "./frames";
import { notRun, RankRecord, type ReportedOutcome } from "./rank-record";

/** On top of a test's limit, for the start of processes and the loading of modules. */
const startAllowanceMs = 15_000;
/** How long the other ranks may go on with the test in which one was lost. */
const lostGraceMs = 10_000;
const exitGraceMs = 10_000;
const dumpMs = 250;
const tickMs = 50;

export type LaunchInput = {
  index: number;
  group: Group;
  tests: readonly string[];
  session: ExecutorSession;
  mounts: readonly Mount[];
  cwd: string;
  searchPath: readonly string[];
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  roots: [prefix: string, folder: string][];
  canaries: CanaryPlan;
  frames: FrameMapper;
  memoryMb: number;
  shmMb: number;
  gpus: GpuGrant | null;
  outputBytes: number;
  /** The parent's monotonic clock at which the group's time is over. */
  deadlineMs: number;
  signal: AbortSignal | undefined;
  onTestDone: (id: string, status: OutcomeStatus, rank: number | null) => void;
  /** What measures this launch from outside. */
  observer: LaunchObserver;
};

/** One rank's outcome with the time by which failures of a launch are ordered, in Unix seconds. */
export type TimedOutcome = { outcome: RankOutcome; failedAt: number | null };

type RankUsage = { rank: number; peakRssKb: number; userS: number; systemS: number };

export type LaunchResult = {
  launch: Launch;
  /** Outcomes that stand, by test; each has an entry for every rank. */
  outcomes: Map<string, TimedOutcome[]>;
  /** Tests that this launch was ended before: to be launched again. */
  remaining: string[];
  resources: Map<string, Resource[]>;
  extra: string[];
  canaries: Guard["canaries"];
  findings: Guard["findings"];
  tampered: boolean;
  eventLines: string[][];
  outputs: RankOutput[];
  usage: RankUsage[];
  memoryPeakMb: number | null;
  outOfMemoryKills: number | null;
  /** Nothing of the candidate was loaded when the launch failed: the host's fault. */
  infra: { message: string; evidence: string[] } | null;
};

type Kill = { reason: NonNullable<Launch["killed"]>; atMs: number; atS: number; sent: boolean };
/** The test that a launch was ended for, on the rank where it was seen. */
type Culprit = { ids: string[]; rank: number; kind: "crashed" | "hung"; collecting: boolean };

/** Runs one launch to its end, watching each rank's events, and says what each test did on each rank. */
export async function runLaunch(input: LaunchInput): Promise<LaunchResult> {
  return await new Watch(input).run();
}

class Watch {
  private readonly input: LaunchInput;
  private readonly streams: EventStream[];
  private readonly ranks: RankRecord[];
  private readonly findings: Guard["findings"] = [];
  private readonly startedMs = performance.now();
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

  constructor(input: LaunchInput) {
    this.input = input;
    const { nproc } = input.group;
    this.streams = Array.from({ length: nproc }, () => new EventStream());
    this.ranks = Array.from({ length: nproc }, (_, rank) => new RankRecord(rank, this.startedMs, input.frames));
  }

  async run(): Promise<LaunchResult> {
    const { input } = this;
    const ranked = input.group.launcher === "ranks";
    this.running = await input.session.start({
      nproc: input.group.nproc,
      ranked,
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
        }),
      ),
      memoryMb: input.memoryMb,
      shmMb: input.shmMb,
      gpus: input.gpus,
      outputBytes: input.outputBytes,
      handlers: {
        onEventLine: (rank, line) => this.onEventLine(rank, line),
        onControl: (event) => {
          if (event.event === "ready") {
            this.ready = true;
            input.observer.onReady();
          }
          if (event.event !== "exit") return;
          const record = this.ranks[event.rank];
          if (record === undefined) return;
          record.exit = { code: event.code, signal: event.signal, at: event.time };
          record.peakRssKb = Math.max(record.peakRssKb, event.max_rss_kb);
          record.userS = event.user_s;
          record.systemS = event.system_s;
          if (this.kill?.sent) this.killedByUs.add(event.rank);
          input.observer.onExit(event.rank);
          this.watch();
        },
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
      return this.conclude(end);
    } finally {
      clearInterval(timer);
      input.signal?.removeEventListener("abort", abort);
    }
  }

  private onEventLine(rank: number, line: Buffer): void {
    const record = this.ranks[rank];
    const event = this.streams[rank]?.accept(line);
    if (record === undefined || event == null) return;
    const nowMs = performance.now();
    const done = record.apply(event, nowMs);
    this.input.observer.onEvent(rank, event, nowMs);
    if (done !== null) this.announce(done);
    this.watch();
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
    if (this.kill !== null) return;
    const alive = this.ranks.filter((record) => record.exit === null);
    if (alive.length === 0) {
      this.everyExitMs ??= now;
      if (now - this.everyExitMs > exitGraceMs) this.running?.signal("kill");
    }
    this.noteLoss(now);
    if (this.lostAtMs !== null && this.culprit !== null) {
      const waiting = alive.filter((record) => !this.isPast(record, this.culprit));
      if (alive.length > 0 && (waiting.length === 0 || now - this.lostAtMs > lostGraceMs)) this.end("rank-lost");
      return;
    }
    if (now > this.input.deadlineMs) {
      this.end("group-timeout");
      return;
    }
    this.endOverdue(alive, now);
  }

  private endOverdue(alive: readonly RankRecord[], now: number): void {
    const limitMs = this.input.group.test_timeout_sec * 1000;
    let earliest: { record: RankRecord; sinceMs: number } | null = null;
    for (const record of alive) {
      const sinceMs = record.open?.sinceMs ?? (record.collected === null ? this.startedMs : record.lastEventMs);
      const allowedMs = record.open ? limitMs : limitMs + startAllowanceMs;
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
      .filter((record) => (record.exit !== null || record.sessionFinished) && this.isIncomplete(record))
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
        this.running?.signal("dump");
        await sleep(dumpMs);
      }
      if (this.kill !== null) this.kill.sent = true;
      this.running?.signal("kill");
    })();
  }

  private conclude(end: LaunchEnd): LaunchResult {
    const { input } = this;
    if (this.kill === null) this.noteLoss(performance.now());
    const infra = this.infraFault(end);
    this.noteMissingExits();
    const outcomes = new Map<string, TimedOutcome[]>();
    const remaining: string[] = [];
    const logLines = end.outputs.map((output) => markerLines(output.stdout));
    for (const id of input.tests) {
      const settled = infra === null ? this.settle(id, end) : null;
      if (settled === null) {
        remaining.push(id);
        continue;
      }
      outcomes.set(
        id,
        settled.map((reported, rank) => this.timed(id, rank, reported, logLines[rank]?.get(id) ?? null)),
      );
    }
    const canaries = this.observeCanaries();
    const resources = new Map(
      input.tests.map((id) => [id, this.ranks.flatMap((record) => record.items.get(id)?.resources ?? [])] as const),
    );
    return {
      launch: this.describe(),
      outcomes,
      remaining,
      resources,
      extra: [...new Set(this.ranks.flatMap((record) => record.extra))],
      canaries: canaries.observed,
      findings: this.findings,
      tampered: canaries.tampered || this.noteForgery(),
      eventLines: this.streams.map((stream) => stream.lines),
      outputs: end.outputs,
      usage: this.ranks.map(({ rank, peakRssKb, userS, systemS }) => ({ rank, peakRssKb, userS, systemS })),
      memoryPeakMb: end.memoryPeakMb,
      outOfMemoryKills: end.outOfMemoryKills,
      infra,
    };
  }

  private infraFault(end: LaunchEnd): LaunchResult["infra"] {
    if (!end.clean) {
      return { message: "processes of the launch outlived it", evidence: [`group ${this.input.group.id}`] };
    }
    const started = this.ranks.some((record) => record.sessionStarted);
    if (started || this.kill !== null) return null;
    const evidence = [end.launcherOutput, ...end.outputs.map((output) => output.stderr.toString("utf8"))]
      .flatMap((text) => text.trim().split("\n").slice(-5))
      .filter((line) => line !== "")
      .slice(0, 10);
    return {
      message: this.ready ? "no rank started its session" : "the launcher did not start in the sandbox",
      evidence,
    };
  }

  /** A launcher that was killed reports no exits: its ranks died with it. */
  private noteMissingExits(): void {
    const now = Date.now() / 1000;
    for (const record of this.ranks) {
      if (record.exit !== null) continue;
      if (this.kill !== null) this.killedByUs.add(record.rank);
      record.exit = { code: null, signal: "SIGKILL", at: this.kill?.atS ?? now };
    }
    if (this.kill === null) this.noteLoss(performance.now());
  }

  /** Every rank's outcome of a test, or null where the test is to be launched again. */
  private settle(id: string, end: LaunchEnd): ReportedOutcome[] | null {
    const { culprit, kill } = this;
    const isCulprit = culprit?.ids.includes(id) ?? false;
    const last = kill?.reason === "group-timeout" || kill?.reason === "canceled" || kill?.reason === "output-limit";
    const settled: ReportedOutcome[] = [];
    for (const record of this.ranks) {
      const reported = record.outcomeOf(id);
      const blamed = isCulprit && culprit?.rank === record.rank;
      if (reported !== null && !(blamed && culprit.kind === "crashed")) {
        settled.push(reported);
      } else if (isCulprit || last) {
        settled.push(this.interrupted(record, id, blamed, end));
      } else {
        return null;
      }
    }
    return settled;
  }

  private interrupted(record: RankRecord, id: string, blamed: boolean, end: LaunchEnd): ReportedOutcome {
    const open = record.open?.id === id;
    const collecting = record.collected === null && (this.culprit?.collecting ?? false);
    if (!open && !blamed && !collecting) return notRun;
    const diedItself = record.exit !== null && !this.killedByUs.has(record.rank);
    const crashed = blamed ? this.culprit?.kind === "crashed" : diedItself;
    const started = record.items.get(id);
    const stack = parseStackDump(end.outputs[record.rank]?.stderr.toString("utf8") ?? "", this.input.frames);
    return {
      status: crashed ? "crashed" : "hung",
      durationMs: started === undefined ? null : Math.max(0, (this.kill?.atMs ?? performance.now()) - started.sinceMs),
      failure: {
        phase: record.collected === null ? "collect" : started === undefined ? "launch" : "call",
        exceptionType: null,
        mro: [],
        message: crashed ? this.crashMessage(record, end) : this.hangMessage(),
        frames: stack,
        activeCheck: null,
        secondaryOf: null,
      },
      failedAt: crashed ? (record.exit?.at ?? null) : (this.kill?.atS ?? null),
    };
  }

  private crashMessage(record: RankRecord, end: LaunchEnd): string {
    const { exit } = record;
    const how = exit?.signal ? `by ${exit.signal}` : `with code ${exit?.code ?? "unknown"}`;
    const when = record.collected === null ? "while it loaded the tests" : "before it had reported all its tests";
    const memory =
      exit?.signal === "SIGKILL" && (end.outOfMemoryKills ?? 0) > 0
        ? `; the launch was out of memory (limit ${this.input.memoryMb} MB)`
        : "";
    return `the rank's process ended ${how} ${when}${memory}`;
  }

  private hangMessage(): string {
    const { group } = this.input;
    const messages: Record<Kill["reason"], string> = {
      "test-timeout": `ended at the test's limit of ${group.test_timeout_sec} s`,
      "group-timeout": `ended at the group's limit of ${group.timeout_sec} s`,
      "rank-lost": `still waiting when it was ended, after rank ${this.culprit?.rank ?? 0} was lost`,
      canceled: "ended because the grading was canceled",
      "output-limit": "ended because a rank's event channel overflowed",
    };
    return messages[this.kill?.reason ?? "test-timeout"];
  }

  private timed(id: string, rank: number, reported: ReportedOutcome, logLine: number | null): TimedOutcome {
    const item = this.ranks[rank]?.items.get(id);
    return {
      outcome: {
        rank,
        status: reported.status,
        launch: this.input.index,
        startedAt: item === undefined ? null : new Date(item.startedAt * 1000).toISOString(),
        durationMs: reported.durationMs,
        failure: reported.failure,
        logLine,
      },
      failedAt: reported.failedAt,
    };
  }

  private observeCanaries(): { observed: Guard["canaries"]; tampered: boolean } {
    const observed: Guard["canaries"] = [];
    let tampered = false;
    const { order, canaries } = this.input.canaries;
    for (const record of this.ranks) {
      for (const canary of canaries) {
        const status = record.outcomeOf(canary.id)?.status ?? "not-run";
        observed.push({ launch: this.input.index, rank: record.rank, expected: canary.expected, observed: status });
        const later = order.slice(order.indexOf(canary.id) + 1);
        const passedAfter = later.some((id) => record.outcomeOf(id)?.status === "passed");
        const wrong =
          canary.expected === "failed"
            ? status === "passed" || status === "skipped"
            : status === "failed" || status === "skipped";
        if (wrong || (status === "not-run" && passedAfter)) {
          tampered = true;
          this.findings.push({
            code: "canary.outcome",
            message: `launch ${this.input.index}, rank ${record.rank}: a guard item that must have ${canary.expected} is ${status}`,
          });
        } else if (status !== canary.expected && status !== "not-run") {
          this.findings.push({
            code: "canary.disturbed",
            message: `launch ${this.input.index}, rank ${record.rank}: a guard item ended as ${status} in place of ${canary.expected}`,
          });
        }
      }
    }
    return { observed, tampered };
  }

  private noteForgery(): boolean {
    const before = this.findings.length;
    for (const [rank, stream] of this.streams.entries()) {
      for (const line of stream.forged) {
        this.findings.push({
          code: "event.forged",
          message: `launch ${this.input.index}, rank ${rank}: a line that the plugin did not write: ${JSON.stringify(line)}`,
        });
      }
    }
    for (const record of this.ranks) {
      for (const what of record.irregular.slice(0, 5)) {
        this.findings.push({
          code: "event.order",
          message: `launch ${this.input.index}, rank ${record.rank}: ${what}`,
        });
      }
      for (const what of record.integrity) {
        this.findings.push({
          code: "integrity.replaced",
          message: `launch ${this.input.index}, rank ${record.rank}: ${what} was replaced while tests ran`,
        });
      }
    }
    if (this.overflowed) {
      this.findings.push({
        code: "event.overflow",
        message: `launch ${this.input.index}: an event channel overflowed`,
      });
    }
    return this.findings.length > before;
  }

  private describe(): Launch {
    const { group } = this.input;
    return {
      group: group.id,
      launcher: group.launcher,
      isolation: group.isolation,
      nproc: group.nproc,
      tests: [...this.input.tests],
      startedAt: this.startedAt.toISOString(),
      durationMs: performance.now() - this.startedMs,
      killed: this.kill?.reason ?? null,
      exits: this.ranks.map(({ rank, exit }) => ({ rank, code: exit?.code ?? null, signal: exit?.signal ?? null })),
      ...(this.input.gpus === null ? {} : { gpus: [...this.input.gpus.uuids] }),
    };
  }
}

/** Line numbers, from 1, of the markers that the plugin prints where a test's output begins. */
function markerLines(stdout: Buffer): Map<string, number> {
  const found = new Map<string, number>();
  for (const [index, line] of stdout.toString("utf8").split("\n").entries()) {
    if (line.startsWith("=== ") && !found.has(line.slice(4))) found.set(line.slice(4), index + 1);
  }
  return found;
}
