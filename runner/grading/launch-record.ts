import type { Guard, Launch, RankOutcome, Resource } from "@/lib/contract/result";
import type { Group } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { ExecutorSession, Mount, RankOutput } from "../executors/executor";
import type { GpuGrant } from "../gpus/grant";
import type { LaunchObserver } from "../resources/observer";
import type { CanaryPlan } from "./canaries";
import type { EvidenceFile } from "./evidence";
import type { FrameMapper } from "./frames";

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
  /** What was under way when earlier launches lost their launcher: where it is again, that is the candidate's doing. */
  suspects: ReadonlySet<string>;
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
  /** What the frameworks left beside failures. */
  evidence: EvidenceFile[];
  /** Nothing of the candidate was loaded when the launch failed: the host's fault. */
  infra: { message: string; evidence: string[] } | null;
  /** The host took the launch away (its launcher, or a rank that had loaded nothing); null where it did not. */
  lost: LostLaunch | null;
};

/** Stands among suspects for what a launch does before its first test. */
export const whileLoading = "";

/** A launch to be made again: what was under way in it. `loaded`: some code of the candidate had been loaded. */
export type LostLaunch = { message: string; underWay: string[]; loaded: boolean };

/** What was under way in a launch that was lost is watched from then on. */
export function noteSuspects(lost: LostLaunch, suspects: Set<string>): void {
  for (const id of lost.underWay) suspects.add(id);
  if (lost.loaded && lost.underWay.length === 0) suspects.add(whileLoading);
}

export type Kill = { reason: NonNullable<Launch["killed"]>; atMs: number; atS: number; sent: boolean };
/** The test that a launch was ended for, on the rank where it was seen. */
export type Culprit = { ids: string[]; rank: number; kind: "crashed" | "hung"; collecting: boolean };
