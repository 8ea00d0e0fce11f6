import type { FailureDetail, Resource } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import { isAssertion } from "@/lib/taxonomy/classify";
import { isGuardId } from "./canaries";
import type { RankEvent, RankException } from "./event-stream";
import type { FrameMapper } from "./frames";

type Report = Extract<RankEvent, { event: "report" }>;
type CollectError = Extract<RankEvent, { event: "collect_error" }>;

export type ItemRecord = {
  id: string;
  startedAt: number;
  /** The parent's monotonic clock, in milliseconds. */
  sinceMs: number;
  endedAt: number | null;
  reports: Report[];
  resources: Resource[];
};

/** An outcome as one rank reported it; `failedAt` in Unix seconds orders failures of a launch's ranks. */
export type ReportedOutcome = {
  status: OutcomeStatus;
  durationMs: number | null;
  failure: FailureDetail | null;
  failedAt: number | null;
};

/** What one rank of a launch said and did, folded from its events. */
export class RankRecord {
  readonly rank: number;
  readonly items = new Map<string, ItemRecord>();
  readonly collectErrors: CollectError[] = [];
  readonly integrity: string[] = [];
  /** Events that the plugin never writes in this order. */
  readonly irregular: string[] = [];
  sessionStarted: boolean = false;
  sessionFinished: boolean = false;
  collected: string[] | null = null;
  extra: string[] = [];
  /** The file being collected: "" while the initial conftest files load, null before and after. */
  collecting: string | null = null;
  open: ItemRecord | null = null;
  /** Whether the rank stands before the open item until the others are there too. */
  waiting: boolean = false;
  exit: { code: number | null; signal: string | null; at: number } | null = null;
  /** Whether everything was read that the rank can have written before its end. */
  exitHeard: boolean = false;
  peakRssKb = 0;
  userS = 0;
  systemS = 0;
  lastEventMs: number;
  private readonly frames: FrameMapper;

  constructor(rank: number, nowMs: number, frames: FrameMapper) {
    this.rank = rank;
    this.lastEventMs = nowMs;
    this.frames = frames;
  }

  /** Folds one event in. Returns the id of an item that this event completed, else null. */
  apply(event: RankEvent, nowMs: number): string | null {
    this.lastEventMs = nowMs;
    switch (event.event) {
      case "session_start":
        this.sessionStarted = true;
        return null;
      case "collect_start":
        this.collecting = event.path;
        return null;
      case "collect_error":
        this.collectErrors.push(event);
        return null;
      case "collected":
        this.collecting = null;
        this.collected = event.ids;
        this.extra = event.extra;
        return null;
      case "test_start":
        if (this.items.has(event.id)) {
          this.irregular.push(`${event.id} was started twice`);
          return null;
        }
        if (this.open !== null) this.irregular.push(`${event.id} was started within ${this.open.id}`);
        this.open = {
          id: event.id,
          startedAt: event.time,
          sinceMs: nowMs,
          endedAt: null,
          reports: [],
          resources: [],
        };
        this.items.set(event.id, this.open);
        return null;
      case "call_start":
        if (this.open?.id !== event.id) this.irregular.push(`${event.id} was called before it was started`);
        return null;
      case "report":
        return this.report(event);
      case "resource":
        this.resource(event);
        return null;
      case "integrity":
        this.integrity.push(event.what);
        return null;
      case "session_finish":
        this.sessionFinished = true;
        return null;
    }
  }

  private report(event: Report): string | null {
    const item = this.items.get(event.id);
    if (item === undefined || item.endedAt !== null) {
      this.irregular.push(`${event.id} was reported ${item === undefined ? "before it was started" : "after its end"}`);
      return null;
    }
    item.reports.push(event);
    this.peakRssKb = Math.max(this.peakRssKb, event.peak_rss_kb);
    if (event.phase !== "teardown") return null;
    item.endedAt = event.time;
    if (this.open === item) this.open = null;
    return item.id;
  }

  private resource(event: Extract<RankEvent, { event: "resource" }>): void {
    const item = event.id === null ? undefined : this.items.get(event.id);
    item?.resources.push({
      name: event.name,
      rank: this.rank,
      property: event.property,
      value: event.value,
      limit: event.limit,
      unit: event.unit,
      repeats: event.repeats,
      met: event.value <= event.limit,
    });
  }

  /** Lets the rank, which waits before an item, begin it: its time runs from now on. */
  begin(nowMs: number): void {
    this.waiting = false;
    this.lastEventMs = nowMs;
    if (this.open !== null) this.open.sinceMs = nowMs;
  }

  /** Whether any code of the candidate or of a test can have been loaded. */
  get hasLoaded(): boolean {
    return this.collecting !== null || this.collected !== null || this.collectErrors.length > 0;
  }

  /** The phase that an item is in, as far as the rank reported it. */
  phaseOf(id: string): FailureDetail["phase"] {
    const item = this.items.get(id);
    if (item === undefined) return "launch";
    const over = new Set(item.reports.map(({ phase }) => phase));
    return over.has("call") ? "teardown" : over.has("setup") ? "call" : "setup";
  }

  /** Whether the rank reported this item to its end. */
  isDone(id: string): boolean {
    return this.items.get(id)?.endedAt != null;
  }

  /** The first collected item that the rank did not report to its end. */
  nextUndone(): string | undefined {
    return this.collected?.find((id) => !this.isDone(id));
  }

  /** The last test, guard items apart, that the rank reported to its end. */
  lastDone(): string | undefined {
    return [...this.items.values()].filter((item) => item.endedAt !== null && !isGuardId(item.id)).at(-1)?.id;
  }

  /** Whether an error outside any test (a conftest file that cannot be loaded) ended collection as pytest does it. */
  get collectionEnded(): boolean {
    return this.collected === null && this.collectErrors.length > 0;
  }

  /** The rank's outcome of an item that it reported to its end or that could not be collected; null for others. */
  outcomeOf(id: string): ReportedOutcome | null {
    const item = this.items.get(id);
    if (item !== undefined) return item.endedAt === null ? null : this.outcomeOfReports(item);
    if (this.collected === null && !this.collectionEnded) return null;
    const file = id.split("::", 1)[0] ?? id;
    const error = this.collectErrors.find(
      ({ path }) => path === "" || path === file || file.startsWith(path.endsWith("/") ? path : `${path}/`),
    );
    if (error === undefined) return this.collected?.includes(id) ? null : notRun;
    return {
      status: error.outcome === "skipped" ? "skipped" : "error",
      durationMs: null,
      failure: this.detail("collect", error.exception, "the file could not be collected"),
      failedAt: error.time,
    };
  }

  /** How an item failed that the rank did not report to its end: a later wait or death does not undo it. Else null. */
  failureBeforeEnd(id: string): ReportedOutcome | null {
    const item = this.items.get(id);
    const report = item?.reports.find(({ outcome }) => outcome === "failed");
    return item === undefined || report === undefined ? null : this.outcomeOfReport(item, report);
  }

  private outcomeOfReport(item: ItemRecord, report: Report): ReportedOutcome {
    const { phase } = report;
    const failure = this.detail(phase, report.exception, report.message ?? "");
    const status =
      report.outcome === "skipped"
        ? "skipped"
        : phase === "call" && (report.exception === null || isAssertion(failure))
          ? "failed"
          : "error";
    return { status, durationMs: durationOf(item), failure, failedAt: report.time };
  }

  private outcomeOfReports(item: ItemRecord): ReportedOutcome {
    const durationMs = durationOf(item);
    for (const phase of ["setup", "call", "teardown"] as const) {
      // A test with subtests reports its call more than once: it passed only where all of them did.
      const reports = item.reports.filter((report) => report.phase === phase);
      const report = reports.find(({ outcome }) => outcome !== "passed") ?? reports[0];
      if (report === undefined) {
        const failure = this.detail(phase, null, `pytest gave no report of the ${phase} phase`);
        return { status: "error", durationMs, failure, failedAt: item.endedAt };
      }
      if (report.outcome !== "passed") return this.outcomeOfReport(item, report);
    }
    return { status: "passed", durationMs, failure: null, failedAt: null };
  }

  private detail(phase: FailureDetail["phase"], exception: RankException | null, message: string): FailureDetail {
    return {
      phase,
      exceptionType: exception?.type ?? null,
      mro: exception?.mro ?? [],
      message: exception?.message ?? message,
      frames: (exception?.frames ?? []).map((frame) => ({ ...this.frames(frame.file), ...pick(frame) })),
      activeCheck: exception?.check ?? null,
      secondaryOf: null,
    };
  }
}

/** Milliseconds of the phases that were reported. */
const durationOf = ({ reports }: ItemRecord): number =>
  reports.reduce((sum, report) => sum + report.duration, 0) * 1000;

const pick = ({ line, function: name, code }: { line: number; function: string; code: string | null }) => ({
  line,
  function: name,
  code,
});

export const notRun: ReportedOutcome = { status: "not-run", durationMs: null, failure: null, failedAt: null };
