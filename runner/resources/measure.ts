import type { LaunchResult } from "../grading/launch";
import type { Measurement } from "./decide";
import type { GpuSample, GpuSampler } from "./gpu-sampler";
import { type OperationSum, readInspector } from "./nccl";
import type { NetworkSample, Observed, TestWindows } from "./observer";

const mebibyte = 1024 * 1024;
/** A hole between samples beyond this says that the sampler, or the machine, stood still: no measurement. */
const maxGapMs = 1_000;
/** The sample asked for as a call ends arrives this much later at most. */
const endSlackMs = 60;

/** What one test took in one launch, in the meters' units; null where it was not measured. */
export type TestMeasure = {
  /** The slowest rank's call. */
  wallClockS: Measurement | null;
  /** Peak above the baseline, on the GPU where it is greatest. */
  gpuPeakMib: Measurement | null;
  /** Greatest peaks of torch's allocator as the ranks' plugins read them: what a process says of itself. */
  allocator: { allocatedMib: number; reservedMib: number } | null;
  transportBytes: number | null;
  nvlinkBytes: number | null;
  calls: TestWindows["calls"];
};

/** One GPU's part in a launch. */
type GpuMeasure = {
  uuid: string;
  baselineMib: number | null;
  peakMib: number | null;
  samples: GpuSample[];
};

/** What one launch took, with the samples behind it. */
export type LaunchMeasures = {
  tests: Map<string, TestMeasure>;
  gpus: GpuMeasure[];
  network: NetworkSample[];
  transportBytes: number | null;
  /** What all GPUs' links sent, from the baseline to the launch's end. */
  nvlinkBytes: number | null;
  /** What NCCL's profiler plugin logged, all ranks together; null where it was not loaded or lost something. */
  nccl: { bytes: number; operations: OperationSum[] } | null;
  hostPeakMib: number | null;
  /** Whether a control group measured the host's memory; else the sum of the ranks' own peaks. */
  hostByGroup: boolean;
  /** This process's monotonic clock at the launch's start. */
  startedMs: number;
  notes: string[];
};

const kibWidth = 2 ** 32;

/** Growth of a counter in KiB; where it went back, across one wrap at 32 bits if that is plausible, else null. */
export function counterGrowth(before: number | null, after: number | null): number | null {
  if (before === null || after === null) return null;
  if (after >= before) return after - before;
  const wrapped = after + kibWidth - before;
  return before < kibWidth && wrapped >= 0 && wrapped < kibWidth / 2 ? wrapped : null;
}

/** Whether samples cover a time without a hole. */
export function covers(samples: readonly GpuSample[], fromMs: number, toMs: number): boolean {
  const times = [fromMs, ...samples.map(({ atMs }) => atMs).filter((at) => at > fromMs && at < toMs), toMs];
  return samples.length > 0 && times.every((at, index) => index === 0 || at - (times[index - 1] ?? at) <= maxGapMs);
}

/** Peak above `baselineBytes` from `fromMs` to `toMs`, in MiB; null where the samples do not cover that time. */
export function peakMibOf(
  samples: readonly GpuSample[],
  baselineBytes: number,
  fromMs: number,
  toMs: number,
): number | null {
  const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs + endSlackMs);
  if (inside.length === 0 || !covers(inside, fromMs, toMs)) return null;
  return Math.max(0, Math.max(...inside.map(({ usedBytes }) => usedBytes)) - baselineBytes) / mebibyte;
}

type Baseline = (GpuSample | null)[];

/** Everything a launch is measured with: the observer's windows, the sampler, and what the launch itself reports. */
export type MeasureInput = {
  observed: Observed;
  sampler: Pick<GpuSampler, "uuids" | "between" | "notes" | "absent"> | null;
  baseline: Baseline;
  startedMs: number;
  endedMs: number;
  result: Pick<LaunchResult, "memoryPeakMb" | "usage" | "launch">;
  /** Ranks that must pass, by test; all others do not count for its time. */
  ranksOf: (id: string) => readonly number[] | null;
};

/** Joins samples with the times of tests. */
export function measureLaunch(input: MeasureInput): LaunchMeasures {
  const { observed, sampler, result } = input;
  const gpus = (sampler?.absent === null ? sampler.uuids : []).map((uuid, at): GpuMeasure => {
    const samples = sampler?.between(at, input.startedMs, input.endedMs) ?? [];
    const baseline = input.baseline[at] ?? null;
    return {
      uuid,
      baselineMib: baseline === null ? null : baseline.usedBytes / mebibyte,
      peakMib:
        baseline === null || samples.length === 0
          ? null
          : Math.max(0, Math.max(...samples.map(({ usedBytes }) => usedBytes)) - baseline.usedBytes) / mebibyte,
      samples,
    };
  });
  const notes = [...(sampler?.notes ?? [])];
  for (const [at, sample] of input.baseline.entries()) {
    if ((sample?.processes ?? 0) > 0) {
      notes.push(`GPU ${sampler?.uuids[at] ?? at} was held by ${sample?.processes} other processes before the launch`);
    }
  }
  const usage = result.usage.reduce((sum, rank) => sum + rank.peakRssKb, 0) / 1024;
  return {
    tests: new Map(
      [...observed.tests].map(([id, windows]) => [
        id,
        measureTest(windows, input.ranksOf(id), gpus, result.launch.nproc),
      ]),
    ),
    gpus,
    network: observed.network,
    nccl: ncclOf(observed.profiles, notes),
    transportBytes: observed.networkTotal?.bytes ?? null,
    nvlinkBytes: sumOf(gpus.map(({ samples }, at) => sentBetween(input.baseline[at] ?? null, lastReading(samples)))),
    hostPeakMib: result.memoryPeakMb ?? (usage > 0 ? usage : null),
    hostByGroup: result.memoryPeakMb !== null,
    startedMs: input.startedMs,
    notes,
  };
}

function measureTest(
  windows: TestWindows,
  ranks: readonly number[] | null,
  gpus: readonly GpuMeasure[],
  nproc: number,
): TestMeasure {
  const { calls, networkFrom, networkTo, allocator } = windows;
  const counted = calls.filter(({ rank }) => ranks === null || ranks.includes(rank));
  const ended = calls.length > 0 && calls.every(({ toMs }) => toMs !== null);
  const fromMs = Math.min(...calls.map((call) => call.fromMs));
  const toMs = Math.max(...calls.map((call) => call.toMs ?? call.fromMs));
  const times = counted.map(({ rank, fromMs: from, toMs: to }) => ({
    rank,
    value: ((to ?? Number.NaN) - from) / 1000,
  }));
  const peaks = gpus.flatMap((gpu, at) => {
    const baseline = gpu.baselineMib === null ? null : gpu.baselineMib * mebibyte;
    const peak = baseline === null ? null : peakMibOf(gpu.samples, baseline, fromMs, toMs);
    return [peak === null ? null : { rank: gpus.length === nproc ? at : 0, value: peak }];
  });
  const known = peaks.filter((peak) => peak !== null);
  return {
    wallClockS: ended ? greatest(times) : null,
    gpuPeakMib: ended && known.length === peaks.length ? greatest(known) : null,
    allocator:
      allocator.length === 0
        ? null
        : {
            allocatedMib: Math.max(...allocator.map(({ allocated }) => allocated)) / mebibyte,
            reservedMib: Math.max(...allocator.map(({ reserved }) => reserved)) / mebibyte,
          },
    transportBytes: ended && networkFrom !== null && networkTo !== null ? networkTo.bytes - networkFrom.bytes : null,
    nvlinkBytes: ended ? nvlinkBytesOf(gpus, fromMs, toMs) : null,
    calls,
  };
}

function ncclOf(profiles: Observed["profiles"], notes: string[]): LaunchMeasures["nccl"] {
  if (profiles.size === 0) return null;
  const texts = [...profiles.values()];
  if (texts.includes(null)) {
    notes.push("the log of NCCL's profiler plugin was too long to be handed over");
    return null;
  }
  const profile = readInspector(texts.filter((text) => text !== null));
  if (profile.missing > 0 || profile.unreadable > 0) {
    notes.push(
      `the log of NCCL's profiler plugin lacks ${profile.missing} operations and has ${profile.unreadable} lines that cannot be read`,
    );
    return null;
  }
  return { bytes: profile.bytes, operations: profile.sums };
}

const greatest = (measured: readonly Measurement[]): Measurement | null =>
  [...measured].sort((a, b) => b.value - a.value)[0] ?? null;

/** What all GPUs' links sent from their last reading before a call to the first one after it, in bytes. */
const nvlinkBytesOf = (gpus: readonly GpuMeasure[], fromMs: number, toMs: number): number | null =>
  sumOf(
    gpus.map(({ samples }) => {
      const read = samples.filter(({ nvlinkSentKib }) => nvlinkSentKib !== null);
      const before = read.findLast(({ atMs }) => atMs <= fromMs) ?? null;
      return sentBetween(before, read.find(({ atMs }) => atMs >= toMs) ?? null);
    }),
  );

const lastReading = (samples: readonly GpuSample[]): GpuSample | null =>
  samples.findLast(({ nvlinkSentKib }) => nvlinkSentKib !== null) ?? null;

/** Bytes that a GPU's links sent between two samples; null where one is missing or holds no counter. */
function sentBetween(before: GpuSample | null, after: GpuSample | null): number | null {
  const sent = counterGrowth(before?.nvlinkSentKib ?? null, after?.nvlinkSentKib ?? null);
  return sent === null ? null : sent * 1024;
}

const sumOf = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
