import { InfraDevError } from "@/lib/contract/errors";
import type { Group } from "@/lib/contract/task";
import type { LaunchPurpose } from "@/lib/contract/vocabulary";
import { environment } from "../environment";
import type { ExecutorSession, Mount } from "../executors/executor";
import type { LaunchResult } from "../grading/launch";
import type { GpuSample } from "./gpu-sampler";
import { GpuSampler } from "./gpu-sampler";
import type { MeasuredTest, OutsideMeter } from "./limits";
import { type LaunchMeasures, measureLaunch } from "./measure";
import { findProfilerPlugin, pluginMount, profilerEnv } from "./nccl";
import { Observer } from "./observer";

/** One launch being measured: its observer, and the joining of what was seen after its end. */
export type LaunchMeter = {
  observer: Observer;
  end(result: LaunchResult): Promise<LaunchMeasures>;
};

/** The meters of one grading: a GPU sampler as long as it lasts, and an observer for each launch. */
export class Meters {
  private readonly sampler: GpuSampler | null;
  private readonly tests: ReadonlyMap<string, MeasuredTest>;
  /** Path of NCCL's profiler plugin, where a limit needs it and this host has it. */
  private readonly profiler: string | null;

  private constructor(sampler: GpuSampler | null, tests: readonly MeasuredTest[], profiler: string | null) {
    this.sampler = sampler;
    this.profiler = profiler;
    this.tests = new Map(tests.map((test) => [test.id, test]));
  }

  /**
   * Starts the sampler where GPUs were granted. Throws `resource.not-measured` where a test that will be launched has a
   * limit that cannot be measured here: such a grading decides nothing.
   */
  static async start(options: {
    session: ExecutorSession;
    /** UUIDs of the launch's GPUs, in the order of its ranks. */
    gpus: readonly string[];
    /** Tests that will be launched and have a limit that the grader decides. */
    tests: readonly MeasuredTest[];
  }): Promise<Meters> {
    const { session, gpus, tests: measured } = options;
    let sampler: GpuSampler | null = null;
    if (gpus.length > 0) {
      const libraries = environment.variables.LD_LIBRARY_PATH;
      sampler = new GpuSampler({
        uuids: gpus,
        python: session.python.executable,
        env: libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries },
      });
      await sampler.start();
    }
    const profiled = measured.some(({ limit }) => limit.meter === "nccl");
    const profiler = profiled ? findProfilerPlugin(environment.variables) : null;
    try {
      for (const test of measured) checkMeasurable(test, session, sampler, profiler);
    } catch (error) {
      await sampler?.close();
      throw error;
    }
    return new Meters(sampler, measured, profiler);
  }

  /** The sampler's process, null where none runs. */
  get samplerPid(): number | null {
    return this.sampler?.pid ?? null;
  }

  /** Without NCCL's profiler plugin, a ratio of what NCCL sends is one of what the links carried. */
  meterOf({ limit }: MeasuredTest): OutsideMeter {
    return limit.meter === "nccl" && this.profiler === null ? "nvlink" : limit.meter;
  }

  /** What a launch needs beside its own to be measured: the profiler where one of its tests asks for it. */
  additions(
    tests: readonly string[],
    purpose: LaunchPurpose,
    session: Pick<ExecutorSession, "pathOf">,
  ): { env: Record<string, string>; mounts: Mount[] } {
    const wanted = tests.some((id) => this.tests.get(id)?.limit.meter === "nccl");
    if (this.profiler === null || !wanted || purpose === "verdict") return { env: {}, mounts: [] };
    const mount = pluginMount(this.profiler);
    return { env: profilerEnv(session.pathOf(mount)), mounts: [mount] };
  }

  /** Takes the baseline of a launch of these tests, and gives what watches it. */
  async begin(group: Group, tests: readonly string[]): Promise<LaunchMeter> {
    const { sampler } = this;
    sampler?.forgetBefore(performance.now() - 1_000);
    await sampler?.fresh();
    const startedMs = performance.now();
    const baseline: (GpuSample | null)[] = sampler?.uuids.map((_, at) => sampler.lastBefore(at, startedMs)) ?? [];
    const observer = new Observer({
      nproc: group.nproc,
      gated: tests.some((id) => this.tests.has(id)),
      onBoundary: () => sampler?.poke(),
    });
    return {
      observer,
      end: async (result) => {
        const observed = observer.finish();
        await sampler?.fresh();
        return measureLaunch({
          observed,
          sampler,
          baseline,
          startedMs,
          endedMs: performance.now(),
          result,
          ranksOf: (id) => {
            const ranks = this.tests.get(id)?.ranks;
            return Array.isArray(ranks) ? ranks : null;
          },
        });
      },
    };
  }

  async close(): Promise<void> {
    await this.sampler?.close();
  }
}

function checkMeasurable(
  test: MeasuredTest,
  session: ExecutorSession,
  sampler: GpuSampler | null,
  profiler: string | null,
): void {
  const { meter } = test.limit;
  const refuse = (message: string, remedy: string) =>
    new InfraDevError("unavailable", {
      code: "resource.not-measured",
      message,
      where: `the limit '${test.limit.resource}' of ${test.id}`,
      rule: "a limit that the grader decides is measured from outside of the candidate, or nothing is decided",
      remedy,
    });
  if (meter === "transport" && !session.sandboxed) {
    throw refuse(
      `the executor '${session.name}' gives a launch no network interface of its own, so its bytes cannot be counted`,
      "grade with --executor bwrap",
    );
  }
  if (meter === "nccl" && profiler === null && test.limit.relativeTo === null) {
    throw refuse(
      "NCCL's profiler plugin was not found, and the links' counters cannot stand for message sizes",
      "install NCCL's Inspector plugin and set NCCL_PROFILER_PLUGIN to its path",
    );
  }
  if (needsSampler(meter, profiler) && (sampler === null || sampler.absent !== null)) {
    throw refuse(
      `NVML cannot be read here: ${sampler?.absent ?? "no GPU was granted"}`,
      "grade on a host whose NVIDIA driver works (runner doctor says what is missing)",
    );
  }
}

const needsSampler = (meter: OutsideMeter, profiler: string | null): boolean =>
  meter === "gpu-memory" || meter === "nvlink" || (meter === "nccl" && profiler === null);
