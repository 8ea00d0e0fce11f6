import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Guard, Resource, RunLock } from "@/lib/contract/result";
import type { Group, ManifestTest } from "@/lib/contract/task";
import type { LaunchPurpose } from "@/lib/contract/vocabulary";
import type { ExecutorSession, Mount } from "../executors/executor";
import type { GpuGrant } from "../gpus/grant";
import { measuredAmong, type OutsideLimits } from "../resources/limits";
import type { Meters } from "../resources/meters";
import { hasPassed, launchUsage, type MeasuredLaunch, settleLimits } from "../resources/settle";
import type { LoadedTask } from "../suites/load";
import { testFileOf } from "../suites/load";
import { placeCanaries } from "./canaries";
import { createFrameMapper } from "./frames";
import { controlByGold, type HostWatch, reasonOf, suspectsOf } from "./host-faults";
import { runLaunch, type TimedOutcome } from "./launch";
import { argumentsOf, commandOf, environmentOf } from "./launch-plan";
import { type LostLaunch, noteSuspects } from "./launch-record";
import type { ProgressEvent } from "./progress";
import { digestsOf, type Workspace } from "./workspace";

/** Beyond this many launches again of one unit its remaining tests stay not-run: each launch settles at least one. */
const maxRelaunches = 64;
/** Launches of one unit in a row that may be lost to the host before the grading is the host's fault. */
const maxLosses = 3;

/** What all launches of a grading may leave behind together, so that a bundle stays within its limits. */
const gradingOutputBytes = 256 * 1024 * 1024;
const leastOutputBytes = 64 * 1024;

export type RunInput = {
  task: LoadedTask;
  session: ExecutorSession;
  workspace: Workspace;
  workDir: string;
  memoryMb: number;
  shmMb: number;
  gpus: GpuGrant | null;
  outputBytes: number;
  signal: AbortSignal | undefined;
  onProgress: ((event: ProgressEvent) => void) | undefined;
  /** This process's monotonic clock at which the time of the whole grading is over. */
  deadlineMs: number;
  meters: Meters;
  /** What is measured and decided after the launches for verdicts. */
  limits: OutsideLimits;
  /** For the gate's mutants: ends as soon as every official test is decided and a required probe rejects the patch. */
  stopWhenRejected?: boolean | undefined;
  host: HostWatch;
  /** A checkout of base or gold with the same tests, made when it is first asked for. */
  reference(name: "base" | "gold"): Promise<Workspace>;
};

export type RunRecord = {
  launches: MeasuredLaunch[];
  outcomes: Map<string, TimedOutcome[]>;
  resources: Map<string, Resource[]>;
  lockLaunches: RunLock["launches"];
  guard: Pick<Guard, "canaries" | "findings" | "controls">;
  tampered: boolean;
  /** The whole grading ran out of its time. */
  timedOut: boolean;
  /** Ended early because a probe had rejected the patch; what was not launched is not-run. */
  stopped?: boolean;
  infra: { code?: string; message: string; evidence: string[] } | null;
};

/** Splits a group's tests into the sets that are launched together. */
function unitsOf(group: Group, tests: readonly ManifestTest[]): string[][] {
  const ids = tests.map(({ id }) => id);
  if (group.isolation === "group") return [ids];
  if (group.isolation === "test") return ids.map((id) => [id]);
  const byFile = new Map<string, string[]>();
  for (const id of ids) byFile.set(testFileOf(id), [...(byFile.get(testFileOf(id)) ?? []), id]);
  return [...byFile.values()];
}

/** Runs every group of a task, launch after launch, until each test has an outcome or its group's time is over. */
export async function runGroups(input: RunInput): Promise<RunRecord> {
  const run = new Run(input);
  run.record.infra = reasonOf(await input.host.begin());
  if (run.record.infra !== null) return run.record;
  for (const group of orderOf(input)) {
    if (!(await run.group(group))) return run.record;
    if (input.stopWhenRejected && run.isRejected()) {
      run.record.stopped = true;
      return run.record;
    }
  }
  await run.settle();
  await run.control();
  return run.record;
}

/** Groups in the manifest's order; where a rejection is enough, those with official tests come first. */
function orderOf({ task, stopWhenRejected }: RunInput): readonly Group[] {
  const { groups, tests } = task.manifest;
  if (!stopWhenRejected) return groups;
  const official = new Set(tests.filter(({ kind }) => kind === "official").map(({ group }) => group));
  return [...groups.filter(({ id }) => official.has(id)), ...groups.filter(({ id }) => !official.has(id))];
}

/** Tests that are launched: those whose needs the granted GPUs meet. */
export const launchedTests = (tests: readonly ManifestTest[], gpus: number): ManifestTest[] =>
  tests.filter((test) => test.needs.gpus <= gpus);

/** How a launch differs from those that decide outcomes, and what earlier ones of its unit leave to it. */
type Variant = { purpose: LaunchPurpose; workspace: Workspace; relaunch?: number; suspects?: ReadonlySet<string> };

class Run {
  readonly record: RunRecord = {
    launches: [],
    outcomes: new Map(),
    resources: new Map(),
    lockLaunches: [],
    guard: { canaries: [], findings: [] },
    tampered: false,
    timedOut: false,
    infra: null,
  };
  private readonly input: RunInput;
  private done = 0;
  private outputLeft = gradingOutputBytes;
  /** What the host took for itself so far: looking at it, measuring, launches that it took away. No group's time. */
  private hostMs = 0;

  constructor(input: RunInput) {
    this.input = input;
  }

  /** Gives false where the grading ends here: canceled, tampered with, or the host is at fault. */
  async group(group: Group): Promise<boolean> {
    const gpus = this.input.gpus?.uuids.length ?? 0;
    const tests = launchedTests(this.input.task.manifest.tests, gpus).filter((test) => test.group === group.id);
    const groupEndMs = performance.now() + group.timeout_sec * 1000 - this.hostMs;
    const deadline = (): number => Math.min(groupEndMs, this.input.deadlineMs) + this.hostMs;
    for (const unit of unitsOf(group, tests)) {
      const left = await this.unit(group, unit, deadline);
      if (left === null) return false;
      if (left > 0) this.noteUnlaunched(group, left, performance.now() >= deadline());
    }
    return true;
  }

  /** Launches a unit until each of its tests has an outcome. The number of those left, null where the grading ends. */
  private async unit(group: Group, unit: readonly string[], deadline: () => number): Promise<number | null> {
    const { workspace, signal } = this.input;
    const suspects = new Set<string>();
    let pending = unit;
    let losses = 0;
    for (let relaunch = 0; pending.length > 0 && relaunch <= maxRelaunches; relaunch += 1) {
      if (signal?.aborted) return null;
      if (performance.now() >= deadline()) break;
      const result = await this.launch(group, pending, deadline(), {
        purpose: "verdict",
        workspace,
        relaunch,
        suspects,
      });
      if (result.lost !== null) {
        losses += 1;
        this.hostMs += result.launch.durationMs;
        this.noteLost(result.lost, suspects, losses);
      } else losses = 0;
      if (this.record.infra !== null || this.record.tampered || signal?.aborted) return null;
      if (result.lost === null && result.remaining.length >= pending.length) break;
      pending = result.remaining;
    }
    return pending.length;
  }

  /** A launch that the host took away is made again, a few times. */
  private noteLost(lost: LostLaunch, suspects: Set<string>, losses: number): void {
    noteSuspects(lost, suspects);
    if (losses <= maxLosses) return;
    this.record.infra ??= { message: `${losses} launches of one unit were lost`, evidence: [lost.message] };
  }

  private noteUnlaunched(group: Group, left: number, over: boolean): void {
    if (over && performance.now() >= this.input.deadlineMs + this.hostMs) this.record.timedOut = true;
    const why = over ? "its time was over" : `of ${maxRelaunches} launches again of one unit, the most there are`;
    const message = `group ${group.id}: ${left} tests were not launched, since ${why}`;
    this.record.guard.findings.push({ code: "launch.bound", message });
  }

  /**
   * Whether a required probe that was launched did not pass, and the rest could not make another ending of it: every
   * official test is decided, and no failure looks like a fault of the host, which only gold's control tells.
   */
  isRejected(): boolean {
    const gpus = this.input.gpus?.uuids.length ?? 0;
    const tests = launchedTests(this.input.task.manifest.tests, gpus);
    const { outcomes } = this.record;
    const isDecided = ({ id }: ManifestTest): boolean => outcomes.has(id) && !this.input.limits.has(id);
    return (
      tests.every((test) => test.kind !== "official" || isDecided(test)) &&
      suspectsOf(tests, outcomes).length === 0 &&
      tests.some((test) => {
        const ranks = outcomes.get(test.id);
        return test.kind === "probe" && test.required && ranks !== undefined && !hasPassed(test, ranks);
      })
    );
  }

  /** Decides what is measured from outside; see `../resources/settle.ts`. */
  async settle(): Promise<void> {
    const { input, record } = this;
    const undecided = await settleLimits({
      tests: measuredAmong(launchedTests(input.task.manifest.tests, input.gpus?.uuids.length ?? 0), input.limits),
      groups: input.task.manifest.groups,
      outcomes: record.outcomes,
      resources: record.resources,
      launches: record.launches,
      unitsOf,
      meterOf: (test) => input.meters.meterOf(test),
      launch: async (group, tests, purpose, reference) => {
        if (input.signal?.aborted) return null;
        const workspace = reference === null ? input.workspace : await input.reference(reference);
        const suspects = new Set<string>();
        for (let losses = 0; ; losses += 1) {
          const deadlineMs = performance.now() + group.timeout_sec * 1000;
          const result = await this.launch(group, tests, deadlineMs, { purpose, workspace, suspects });
          if (record.infra !== null || record.tampered || input.signal?.aborted) return null;
          if (result.lost === null || losses >= maxLosses) return result;
          noteSuspects(result.lost, suspects);
        }
      },
    });
    const hidden = input.task.manifest.suite.probes === "hidden";
    record.infra ??=
      undecided && hidden ? { ...undecided, evidence: ["its text would show what is hidden"] } : undecided;
  }

  /** Asks gold whether failures that look like a fault of the host are one. */
  async control(): Promise<void> {
    const { input, record } = this;
    if (record.infra !== null || record.tampered || input.signal?.aborted) return;
    const { manifest } = input.task;
    const fault = await controlByGold({
      suspects: suspectsOf(manifest.tests, record.outcomes),
      probesHidden: manifest.suite.probes === "hidden",
      hasPassed,
      runGold: async (ids) => {
        const workspace = await input.reference("gold");
        await emptyTemporaryFolder(input.session);
        const outcomes = new Map<string, TimedOutcome[]>();
        for (const group of manifest.groups) {
          const tests = manifest.tests.filter((test) => test.group === group.id && ids.includes(test.id));
          for (const unit of tests.length === 0 ? [] : unitsOf(group, tests)) {
            const deadlineMs = performance.now() + group.timeout_sec * 1000;
            const result = await this.launch(group, unit, deadlineMs, { purpose: "reference", workspace });
            if (record.infra !== null || input.signal?.aborted) return null;
            for (const [id, ranks] of result.outcomes) outcomes.set(id, ranks);
          }
        }
        return outcomes;
      },
    });
    record.infra ??= fault;
  }

  private async launch(
    group: Group,
    tests: readonly string[],
    deadlineMs: number,
    { purpose, workspace, relaunch = 0, suspects = new Set() }: Variant,
  ): Promise<MeasuredLaunch> {
    const { input, record } = this;
    const { session, task } = input;
    const index = record.launches.length;
    const guardFolder = join(input.workDir, "guard", String(index));
    const canaries = await placeCanaries(guardFolder, tests, group.launcher);
    await writeFile(join(guardFolder, "settings.ini"), "[pytest]\n");
    await mkdir(workspace.probes, { recursive: true });
    const repositoryMount: Mount = { hostPath: workspace.repository, name: "repo" };
    const probesMount: Mount = { hostPath: workspace.probes, name: "probes" };
    const guardMount: Mount = { hostPath: guardFolder, name: "guard" };
    const usesProbes = tests.some((id) => id.startsWith("probes/"));
    const repository = session.pathOf(repositoryMount);
    const probes = session.pathOf(probesMount);
    const guard = session.pathOf(guardMount);
    const args = argumentsOf(group, tests, canaries, { repository, probes, guard });
    const additions = input.meters.additions(tests, purpose, session);
    const env = { ...environmentOf(group, session.baseEnv, input.gpus), ...additions.env };
    record.lockLaunches.push({ group: group.id, argv: commandOf(group, tests, args), nproc: group.nproc, env });
    input.onProgress?.({
      type: "launch-started",
      launch: index,
      group: group.id,
      nproc: group.nproc,
      tests: tests.length,
    });
    const watched = session.sandboxed ? null : await digestsOf(this.ownFiles());
    const measuringMs = performance.now();
    const meter = await input.meters.begin(group, tests);
    const launchedMs = performance.now();
    this.hostMs += launchedMs - measuringMs;
    const launched = await runLaunch({
      index,
      group,
      tests,
      session,
      mounts: [repositoryMount, guardMount, ...(usesProbes ? [probesMount] : []), ...additions.mounts],
      cwd: repository,
      searchPath: [repository],
      args,
      env,
      roots: [
        ["guard/", guard],
        ["probes/", probes],
        ["", repository],
      ],
      canaries,
      frames: createFrameMapper({
        repository,
        probes,
        isTest: (path) => workspace.officialPaths.includes(path) || isUnderTests(path, task),
      }),
      memoryMb: input.memoryMb,
      shmMb: input.shmMb,
      gpus: input.gpus,
      outputBytes: Math.min(
        input.outputBytes,
        Math.max(leastOutputBytes, Math.floor(this.outputLeft / (2 * group.nproc))),
      ),
      deadlineMs: deadlineMs + launchedMs - measuringMs,
      signal: input.signal,
      observer: meter.observer,
      suspects,
      onTestDone: (id, status, rank) => {
        if (purpose !== "verdict") return;
        this.done += 1;
        const total = task.manifest.tests.length;
        input.onProgress?.({ type: "test", launch: index, id, status, rank, done: Math.min(this.done, total), total });
      },
    });
    const endedMs = performance.now();
    if (watched !== null) await this.compareFiles(watched, index);
    const measures = await meter.end(launched);
    const launch = {
      ...launched.launch,
      ...(purpose === "verdict" ? {} : { purpose }),
      ...(relaunch === 0 ? {} : { relaunch }),
      usage: launchUsage(measures),
    };
    const result: MeasuredLaunch = { ...launched, launch, measures };
    this.take(result, purpose);
    record.infra ??= reasonOf(await input.host.end());
    this.hostMs += performance.now() - endedMs;
    input.onProgress?.({
      type: "launch-finished",
      launch: index,
      group: group.id,
      durationMs: result.launch.durationMs,
      killed: result.launch.killed,
      relaunch: result.remaining.length,
    });
    return result;
  }

  private ownFiles(): string[] {
    const { workspace, task } = this.input;
    return [
      ...task.officialFiles.map(({ path }) => join(workspace.repository, path)),
      ...task.probeFiles.map(({ path }) => join(workspace.probes, path.replace(/^probes\//, ""))),
    ];
  }

  /** Without a sandbox nothing keeps a launch from writing to the tests of the next one. */
  private async compareFiles(before: ReadonlyMap<string, string>, index: number): Promise<void> {
    const after = await digestsOf([...before.keys()]);
    for (const [path, digest] of before) {
      if (after.get(path) === digest) continue;
      this.record.tampered = true;
      this.record.guard.findings.push({
        code: "tests.changed",
        message: `launch ${index} changed the test file ${path.split("/").slice(-2).join("/")}`,
      });
    }
  }

  private take(result: MeasuredLaunch, purpose: LaunchPurpose): void {
    const { record } = this;
    record.launches.push(result);
    for (const { stdout, stderr } of result.outputs) this.outputLeft -= stdout.length + stderr.length;
    for (const [id, ranks] of purpose === "verdict" ? result.outcomes : []) {
      record.outcomes.set(id, ranks);
      record.resources.set(id, result.resources.get(id) ?? []);
    }
    record.guard.canaries.push(...result.canaries);
    record.guard.findings.push(...result.findings);
    record.tampered ||= result.tampered;
    record.infra ??= result.infra;
  }
}

/** Without a sandbox what the candidate wrote there would be in gold's way. */
async function emptyTemporaryFolder({ sandboxed, baseEnv }: ExecutorSession): Promise<void> {
  const { TMPDIR: folder = "" } = baseEnv;
  if (sandboxed || folder === "") return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
}

const isUnderTests = (path: string, task: LoadedTask): boolean =>
  task.manifest.task.protectedPaths.some((entry) => entry.endsWith("/") && path.startsWith(entry));
