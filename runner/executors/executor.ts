import type { Executor as ExecutorName, Launcher } from "@/lib/contract/vocabulary";
import type { GpuGrant } from "../gpus/grant";
import type { PythonRuntime } from "../grading/python-runtime";

/** A host folder or file that a launch may read, and the name by which its code knows it. */
export type Mount = { hostPath: string; name: string };

/** What one launch runs; paths of `args`, `searchPath` and `cwd` are those that `ExecutorSession.pathOf` gives. */
export type LaunchRequest = {
  nproc: number;
  /** Which environment each process gets, and whether it runs pytest or programs. */
  launcher: Launcher;
  mounts: readonly Mount[];
  cwd: string;
  /** Put in front of Python's import path. */
  searchPath: readonly string[];
  /** Arguments of pytest. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Sent to each rank over its event channel before anything of the candidate is loaded. */
  openings: readonly string[];
  memoryMb: number | null;
  /** Size of the launch's own /dev/shm, in MiB, where the executor makes one. */
  shmMb: number;
  /** GPUs that the launch may see; null for none at all. */
  gpus: GpuGrant | null;
  outputBytes: number;
  handlers: LaunchHandlers;
};

export type ControlEvent =
  | { event: "ready"; time: number; port: number }
  | {
      event: "exit";
      time: number;
      rank: number;
      code: number | null;
      signal: string | null;
      max_rss_kb: number;
      user_s: number;
      system_s: number;
    }
  /** A part of a file that a framework left beside a failure, in base64; `bytes` is the whole file's size. */
  | { event: "evidence"; time: number; rank: number; name: string; part: number; bytes: number; data: string }
  /** The stacks and dumps that were asked for are written. */
  | { event: "dumped"; time: number }
  | { event: "end"; time: number };

type LaunchHandlers = {
  /** One line of a rank's event channel, without its line break; as it came, not yet trusted. */
  onEventLine(rank: number, line: Buffer): void;
  onControl(event: ControlEvent): void;
  /** A rank's event channel carried more than the limit. */
  onOverflow(rank: number): void;
};

/** A rank's output, each stream cut at the launch's limit with a marker line. */
export type RankOutput = { stdout: Buffer; stderr: Buffer };

export type LaunchEnd = {
  outputs: RankOutput[];
  /** What the launcher itself printed: empty unless it failed. */
  launcherOutput: string;
  /** Peak memory of the whole launch where a control group measured it. */
  memoryPeakMb: number | null;
  /** Processes that the kernel killed at the memory limit, where a control group counts them. */
  outOfMemoryKills: number | null;
  /** Whether every process of the launch is known to be gone. */
  clean: boolean;
};

export type RunningLaunch = {
  /** The process, on this host, that everything else of the launch descends from. */
  readonly pid: number | undefined;
  /** Lets a rank go on that waits before a test's call (see `RankPlan.gated`). */
  release(rank: number): void;
  /**
   * `dump`: each rank prints its stacks to its stderr and its flight recorder writes what it has; the control event
   * `dumped` follows. `kill`: ends every process of the launch.
   */
  signal(kind: "dump" | "kill"): void;
  /** Resolves when no process of the launch is left and every stream was read to its end. */
  wait(): Promise<LaunchEnd>;
};

export type ExecutorSession = {
  readonly name: ExecutorName;
  readonly sandboxed: boolean;
  readonly python: PythonRuntime;
  /** The path under which a launch sees a mount. */
  pathOf(mount: Mount): string;
  /** Resolves once the launch's processes were started; rejects with `executor.start` where they cannot be. */
  start(request: LaunchRequest): Promise<RunningLaunch>;
  /** Environment of every launch, before the request's own. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Removes what the session made. */
  collect(): Promise<void>;
};

export type PrepareOptions = { python: PythonRuntime; workDir: string };

/** One way to run a launch. `prepare` checks that it works here and throws an `InfraDevError` with the remedy. */
export type ExecutorKind = {
  readonly name: ExecutorName;
  prepare(options: PrepareOptions): Promise<ExecutorSession>;
};
