import type { Launch } from "@/lib/contract/result";
import type { LaunchEnd } from "../executors/executor";
import { isGuardId } from "./canaries";
import type { EventStream } from "./event-stream";
import { attachEvidence, type EvidenceFile, terminateMessage } from "./evidence";
import { parseStackDump } from "./frames";
import { inspectGuard } from "./guard-items";
import {
  type Culprit,
  type Kill,
  type LaunchInput,
  type LaunchResult,
  type LostLaunch,
  type TimedOutcome,
  whileLoading,
} from "./launch-record";
import { notRun, type RankRecord, type ReportedOutcome } from "./rank-record";

/** A launch whose processes are gone, as it was watched. */
export type WatchedLaunch = {
  input: LaunchInput;
  streams: readonly EventStream[];
  ranks: readonly RankRecord[];
  kill: Kill | null;
  culprit: Culprit | null;
  /** Ranks that ended because the parent ended the launch. */
  killedByUs: ReadonlySet<number>;
  ready: boolean;
  /** Whether the launcher itself said that the launch is over. */
  ended: boolean;
  overflowed: boolean;
  startedAt: Date;
  startedMs: number;
  files: EvidenceFile[];
  end: LaunchEnd;
};

/** Says what each test did on each rank of a launch that is over, and which tests are to be launched again. */
export function conclude(watched: WatchedLaunch): LaunchResult {
  return new Conclusion(watched).result();
}

class Conclusion {
  private readonly watched: WatchedLaunch;
  private culprit: Culprit | null;
  private readonly findings: LaunchResult["findings"] = [];

  constructor(watched: WatchedLaunch) {
    this.watched = watched;
    this.culprit = watched.culprit;
  }

  result(): LaunchResult {
    const { input, ranks, streams, end, files } = this.watched;
    const infra = this.infraFault();
    const lost = infra === null ? this.lostLaunch() : null;
    this.noteMissingExits();
    const outcomes = new Map<string, TimedOutcome[]>();
    const remaining: string[] = [];
    const logLines = end.outputs.map((output) => markerLines(output.stdout));
    for (const id of input.tests) {
      const settled = infra === null && !lost?.underWay.includes(id) ? this.settle(id) : null;
      if (settled === null) {
        remaining.push(id);
        continue;
      }
      outcomes.set(
        id,
        settled.map((reported, rank) => this.timed(id, rank, reported, logLines[rank]?.get(id) ?? null)),
      );
    }
    const judged = [...outcomes.values()].flat().map(({ outcome, failedAt }) => ({ ...outcome, failedAt }));
    attachEvidence(input.index, judged, files, (rank) => this.stderrOf(rank));
    const guard = inspectGuard(this.watched);
    return {
      launch: this.describe(),
      outcomes,
      remaining,
      resources: new Map(
        input.tests.map((id) => [id, ranks.flatMap((record) => record.items.get(id)?.resources ?? [])] as const),
      ),
      extra: [...new Set(ranks.flatMap((record) => record.extra))],
      canaries: guard.canaries,
      findings: [...this.findings, ...guard.findings],
      tampered: guard.tampered,
      eventLines: streams.map((stream) => stream.lines),
      outputs: end.outputs,
      usage: ranks.map(({ rank, peakRssKb, userS, systemS }) => ({ rank, peakRssKb, userS, systemS })),
      memoryPeakMb: end.memoryPeakMb,
      outOfMemoryKills: end.outOfMemoryKills,
      evidence: files,
      infra,
      lost,
    };
  }

  private infraFault(): LaunchResult["infra"] {
    const { input, ranks, end, kill, ready } = this.watched;
    if (!end.clean) {
      const evidence = [`group ${input.group.id}`];
      const message = "processes of the launch outlived it";
      if (kill === null) return { message, evidence };
      // What ended the launch stays what it was: a test over its limit does not turn into a fault of the host.
      this.findings.push({ code: "launch.leftover", message: `launch ${input.index}: ${message}` });
    }
    const started = ranks.some((record) => record.sessionStarted);
    if (started || kill !== null) return null;
    const evidence = [end.launcherOutput, ...end.outputs.map((output) => output.stderr.toString("utf8"))]
      .flatMap((text) => text.trim().split("\n").slice(-5))
      .filter((line) => line !== "")
      .slice(0, 10);
    return { message: ready ? "no rank started its session" : "the launcher did not start in the sandbox", evidence };
  }

  /**
   * A launcher that ended before it said so, and a rank that died before it had loaded anything of the candidate, were
   * taken away by the host: the launch is made again. Where the same test is under way for the second time, it did it.
   */
  private lostLaunch(): LostLaunch | null {
    const { input, ranks, kill, ended } = this.watched;
    if (kill !== null && kill.reason !== "rank-lost" && kill.reason !== "test-timeout") return null;
    if (ended || kill !== null) {
      const victim = ranks.find((record) => record.rank === this.culprit?.rank);
      if (this.culprit === null || victim === undefined || victim.hasLoaded) return null;
      const what = this.culprit.kind === "crashed" ? "died" : "did not come on";
      this.culprit = null;
      const message = `rank ${victim.rank} ${what} before it had loaded anything of the candidate`;
      return this.toRepeat({ message, underWay: [], loaded: false });
    }
    const unfinished = ranks.filter((record) => !record.sessionFinished);
    const underWay = unfinished.flatMap((record) => record.open?.id ?? record.lastDone() ?? []);
    const tests = [...new Set(underWay)].filter((id) => !isGuardId(id));
    const loaded = ranks.some((record) => record.hasLoaded);
    if (loaded && tests.length === 0 && input.suspects.has(whileLoading)) {
      const rank = unfinished[0]?.rank ?? 0;
      this.culprit = { ids: [...input.tests], rank, kind: "crashed", collecting: true };
      return null;
    }
    const repeated = tests.find((id) => input.suspects.has(id));
    if (repeated !== undefined) {
      const rank = unfinished.find((record) => (record.open?.id ?? record.lastDone()) === repeated)?.rank ?? 0;
      this.culprit = { ids: [repeated], rank, kind: "crashed", collecting: false };
      return null;
    }
    const message = "the launcher ended before its ranks had";
    return this.toRepeat({ message, underWay: tests, loaded });
  }

  private toRepeat(lost: LostLaunch): LostLaunch {
    this.findings.push({ code: "launch.lost", message: `launch ${this.watched.input.index}: ${lost.message}` });
    return lost;
  }

  /** A launcher that was killed reports no exits: its ranks died with it. */
  private noteMissingExits(): void {
    const { kill, ranks } = this.watched;
    for (const record of ranks) {
      record.exit ??= { code: null, signal: "SIGKILL", at: kill?.atS ?? Date.now() / 1000 };
    }
  }

  private wasKilledByUs({ rank, exit }: RankRecord): boolean {
    const { killedByUs, kill } = this.watched;
    return killedByUs.has(rank) || (kill !== null && exit?.signal === "SIGKILL" && exit.at === kill.atS);
  }

  /** Every rank's outcome of a test, or null where the test is to be launched again. */
  private settle(id: string): ReportedOutcome[] | null {
    const { culprit } = this;
    const { kill, ranks } = this.watched;
    const isCulprit = culprit?.ids.includes(id) ?? false;
    const last = kill?.reason === "group-timeout" || kill?.reason === "canceled" || kill?.reason === "output-limit";
    const settled: ReportedOutcome[] = [];
    for (const record of ranks) {
      const reported = record.outcomeOf(id);
      const blamed = isCulprit && culprit?.rank === record.rank;
      if (reported !== null && !(blamed && culprit.kind === "crashed")) {
        settled.push(reported);
      } else if (isCulprit || last) {
        settled.push(this.interrupted(record, id, blamed));
      } else {
        return null;
      }
    }
    return settled;
  }

  private interrupted(record: RankRecord, id: string, blamed: boolean): ReportedOutcome {
    const { kill, input } = this.watched;
    const open = record.open?.id === id && !record.waiting;
    const collecting = record.collected === null && (this.culprit?.collecting ?? false);
    if (!open && !blamed && !collecting) return notRun;
    const failed = record.failureBeforeEnd(id);
    if (failed !== null) return failed;
    const diedItself = record.exit !== null && !this.wasKilledByUs(record);
    const crashed = blamed ? this.culprit?.kind === "crashed" : diedItself;
    const started = record.items.get(id);
    return {
      status: crashed ? "crashed" : "hung",
      durationMs: started === undefined ? null : Math.max(0, (kill?.atMs ?? performance.now()) - started.sinceMs),
      failure: {
        phase: record.collected === null ? "collect" : record.phaseOf(id),
        exceptionType: null,
        mro: [],
        message: crashed ? this.crashMessage(record) : this.hangMessage(),
        frames: parseStackDump(this.stderrOf(record.rank), input.frames),
        activeCheck: null,
        secondaryOf: null,
      },
      failedAt: crashed ? (record.exit?.at ?? null) : (kill?.atS ?? null),
    };
  }

  private stderrOf(rank: number): string {
    return this.watched.end.outputs[rank]?.stderr.toString("utf8") ?? "";
  }

  private crashMessage(record: RankRecord): string {
    const { exit } = record;
    const how = exit?.signal ? `by ${exit.signal}` : `with code ${exit?.code ?? "unknown"}`;
    const when = record.collected === null ? "while it loaded the tests" : "before it had reported all its tests";
    const memory =
      exit?.signal === "SIGKILL" && (this.watched.end.outOfMemoryKills ?? 0) > 0
        ? `; the launch was out of memory (limit ${this.watched.input.memoryMb} MB)`
        : "";
    const said = exit?.signal === "SIGABRT" ? terminateMessage(this.stderrOf(record.rank)) : null;
    return `the rank's process ended ${how} ${when}${memory}${said === null ? "" : `: ${said}`}`;
  }

  private hangMessage(): string {
    const { group } = this.watched.input;
    const messages: Record<Kill["reason"], string> = {
      "test-timeout": `ended at the test's limit of ${group.test_timeout_sec} s`,
      "group-timeout": `ended at the group's limit of ${group.timeout_sec} s`,
      "rank-lost": `still waiting when it was ended, after rank ${this.culprit?.rank ?? 0} was lost`,
      canceled: "ended because the grading was canceled",
      "output-limit": "ended because a rank's event channel overflowed",
    };
    return messages[this.watched.kill?.reason ?? "test-timeout"];
  }

  private timed(id: string, rank: number, reported: ReportedOutcome, logLine: number | null): TimedOutcome {
    const item = this.watched.ranks[rank]?.items.get(id);
    return {
      outcome: {
        rank,
        status: reported.status,
        launch: this.watched.input.index,
        startedAt: item === undefined ? null : new Date(item.startedAt * 1000).toISOString(),
        durationMs: reported.durationMs,
        failure: reported.failure === null ? null : { ...reported.failure },
        logLine,
      },
      failedAt: reported.failedAt,
    };
  }

  private describe(): Launch {
    const { input, startedAt, startedMs, kill, ranks } = this.watched;
    const { group, gpus } = input;
    return {
      group: group.id,
      launcher: group.launcher,
      isolation: group.isolation,
      nproc: group.nproc,
      tests: [...input.tests],
      startedAt: startedAt.toISOString(),
      durationMs: performance.now() - startedMs,
      killed: kill?.reason ?? null,
      exits: ranks.map(({ rank, exit }) => ({ rank, code: exit?.code ?? null, signal: exit?.signal ?? null })),
      ...(gpus === null ? {} : { gpus: [...gpus.uuids] }),
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
