import type { GpuSample } from "./gpu-sampler";
import type { LaunchMeasures, TestMeasure } from "./measure";

/** Rows that one file of samples holds at most; above it rows are left out evenly, the greatest value never. */
const maxRows = 20_000;

type Row = readonly (number | null)[];

/** Rows after the header; such that only repeat the values of both neighbours are left out. */
function csv(header: string, rows: readonly Row[], greatestColumn: number): string {
  const same = (a: Row | undefined, b: Row) => a !== undefined && b.every((value, at) => at === 0 || value === a[at]);
  let kept = rows.filter((row, at) => !(same(rows[at - 1], row) && same(rows[at + 1], row)));
  const every = Math.ceil(kept.length / maxRows);
  if (every > 1) {
    const greatest = kept.reduce((best, row, at) => {
      return (row[greatestColumn] ?? 0) > (kept[best]?.[greatestColumn] ?? 0) ? at : best;
    }, 0);
    kept = kept.filter((_, at) => at % every === 0 || at === greatest);
  }
  return `${[header, ...kept.map((row) => row.map((value) => value ?? "").join(","))].join("\n")}\n`;
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

const gpuHeader = "time_ms,used_mib,processes,nvlink_sent_kib,nvlink_received_kib,ecc_uncorrected";
const networkHeader = "time_ms,received_bytes,received_packets";

const gpuRow = (sample: GpuSample, startedMs: number): Row => [
  Math.round(sample.atMs - startedMs),
  rounded(sample.usedBytes / 1024 / 1024),
  sample.processes,
  sample.nvlinkSentKib,
  sample.nvlinkReceivedKib,
  sample.eccErrors,
];

/**
 * Files of one launch's samples, by their name below `resources/launch-<n>/`: a CSV for each GPU and one for the
 * loopback interface, times in milliseconds since the launch's start, an empty field where the source did not say.
 */
export function sampleFiles(measures: LaunchMeasures): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [at, { samples }] of measures.gpus.entries()) {
    const rows = samples.map((sample) => gpuRow(sample, measures.startedMs));
    files[`gpu-${at}.csv`] = csv(gpuHeader, rows, 1);
  }
  if (measures.network.length > 0) {
    const rows = measures.network.map(({ atMs, bytes, packets }) => [
      Math.round(atMs - measures.startedMs),
      bytes,
      packets,
    ]);
    files["loopback.csv"] = csv(networkHeader, rows, 1);
  }
  return files;
}

/** What a launch took, for its `resources/launch-<n>.json`: GPUs, the interface, and each test with its call's times. */
export function measuresDocument(measures: LaunchMeasures): unknown {
  return {
    gpus: measures.gpus.map(({ uuid, baselineMib, peakMib }, at) => ({ gpu: at, uuid, baselineMib, peakMib })),
    transportBytes: measures.transportBytes,
    nvlinkBytes: measures.nvlinkBytes,
    nccl: measures.nccl,
    hostPeakMib: measures.hostPeakMib,
    hostMeasuredBy: measures.hostByGroup ? "control-group" : "rusage",
    notes: measures.notes,
    tests: Object.fromEntries([...measures.tests].map(([id, test]) => [id, testDocument(test, measures.startedMs)])),
  };
}

const testDocument = ({ calls, ...test }: TestMeasure, startedMs: number) => ({
  ...test,
  calls: calls.map(({ rank, fromMs, toMs }) => ({
    rank,
    fromMs: rounded(fromMs - startedMs),
    toMs: toMs === null ? null : rounded(toMs - startedMs),
  })),
});
