import { describe, expect, it } from "vitest";
import { sampleFiles } from "./documents";
import { type GpuSample, parseMeterLine } from "./gpu-sampler";
import { counterGrowth, covers, type MeasureInput, measureLaunch, peakMibOf } from "./measure";
import { parseLoopback } from "./network";

const mebibyte = 1024 * 1024;
const sample = (atMs: number, usedMib: number, sentKib: number | null = null): GpuSample => ({
  atMs,
  usedBytes: usedMib * mebibyte,
  processes: 1,
  nvlinkSentKib: sentKib,
  nvlinkReceivedKib: sentKib,
  eccErrors: 0,
});

describe("a meter's line", () => {
  it("is a sample at this process's time, with what the driver does not say left open", () => {
    expect(parseMeterLine("s 5000000 1 1048576 2 - - 3", 4_000_000)).toEqual({
      kind: "sample",
      gpu: 1,
      sample: {
        atMs: 1000,
        usedBytes: mebibyte,
        processes: 2,
        nvlinkSentKib: null,
        nvlinkReceivedKib: null,
        eccErrors: 3,
      },
    });
    expect(parseMeterLine("absent libnvidia-ml.so.1 cannot be loaded", 0)).toEqual({
      kind: "absent",
      reason: "libnvidia-ml.so.1 cannot be loaded",
    });
    expect(parseMeterLine("lost 1000 0 15", 0)).toEqual({ kind: "lost", gpu: 0, atMs: 1, code: "15" });
  });

  it("is nothing where it was cut short", () => {
    for (const line of ["", "s", "s 5 0", "s 5 0 -", "x 5 0 1 - - - -", "s 5 0 12garbage"]) {
      expect(parseMeterLine(line, 0), line).toBeNull();
    }
  });
});

describe("peaks of a call", () => {
  const steady = [0, 100, 200, 300, 400, 500].map((at) => sample(at, at === 300 ? 900 : 500));

  it("are above the baseline, within the call and the sample that its end asked for", () => {
    expect(peakMibOf(steady, 100 * mebibyte, 250, 350)).toBe(800);
    expect(peakMibOf(steady, 100 * mebibyte, 350, 450)).toBe(400);
    expect(peakMibOf(steady, 100 * mebibyte, 210, 250)).toBe(800);
    expect(peakMibOf(steady, 600 * mebibyte, 350, 450)).toBe(0);
  });

  it("are not known where no sample falls into the call, or the sampler stood still", () => {
    expect(peakMibOf(steady, 0, 510, 900)).toBeNull();
    expect(peakMibOf([sample(0, 5), sample(3000, 5)], 0, 0, 3000)).toBeNull();
    expect(covers(steady, 0, 500)).toBe(true);
    expect(covers(steady, 0, 1600)).toBe(false);
    expect(covers([], 0, 1)).toBe(false);
  });
});

describe("a counter", () => {
  it("grows, or wraps once at 32 bits, or says nothing", () => {
    expect(counterGrowth(10, 25)).toBe(15);
    expect(counterGrowth(2 ** 32 - 5, 7)).toBe(12);
    expect(counterGrowth(2 ** 40, 7)).toBeNull();
    expect(counterGrowth(1000, 7)).toBeNull();
    expect(counterGrowth(null, 7)).toBeNull();
  });
});

describe("the loopback interface", () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
  eth0: 77 1 0 0 0 0 0 0 88 2 0 0 0 0 0 0
    lo: 1052000      40    0    0    0     0          0         0  1052000      40    0    0    0     0       0          0
`;

  it("is counted on its received side", () => {
    expect(parseLoopback(text)).toEqual({ bytes: 1_052_000, packets: 40 });
    expect(parseLoopback(text.replace("lo:", "lo2:"))).toBeNull();
    expect(parseLoopback("")).toBeNull();
  });
});

describe("a launch", () => {
  const id = "tests/test_a.py::test_a";
  const input = (change: Partial<MeasureInput> = {}): MeasureInput => ({
    observed: {
      tests: new Map([
        [
          id,
          {
            calls: [
              { rank: 0, fromMs: 200, toMs: 400 },
              { rank: 1, fromMs: 200, toMs: 450 },
            ],
            networkFrom: { bytes: 100, packets: 2 },
            networkTo: { bytes: 350, packets: 4 },
            allocator: [{ rank: 0, allocated: 5 * mebibyte, reserved: 8 * mebibyte }],
          },
        ],
      ]),
      network: [],
      networkTotal: { bytes: 400, packets: 5 },
      profiles: new Map(),
    },
    sampler: {
      uuids: ["GPU-a", "GPU-b"],
      absent: null,
      notes: [],
      between: (gpu) =>
        [100, 200, 300, 400, 500].map((at) => sample(at, gpu === 1 && at === 300 ? 70 : 40, gpu === 0 ? at : 10)),
    },
    baseline: [sample(90, 30, 90), sample(90, 20, 10)],
    startedMs: 95,
    endedMs: 600,
    result: {
      memoryPeakMb: null,
      usage: [
        { rank: 0, peakRssKb: 2048, userS: 0, systemS: 0 },
        { rank: 1, peakRssKb: 1024, userS: 0, systemS: 0 },
      ],
      launch: { nproc: 2 } as MeasureInput["result"]["launch"],
    },
    ranksOf: () => null,
    ...change,
  });

  it("is joined with its tests' times: slowest rank, fullest GPU, bytes of the call", () => {
    const measures = measureLaunch(input());
    expect(measures.tests.get(id)).toMatchObject({
      wallClockS: { rank: 1, value: 0.25 },
      gpuPeakMib: { rank: 1, value: 50 },
      allocator: { allocatedMib: 5, reservedMib: 8 },
      transportBytes: 250,
      nvlinkBytes: 300 * 1024,
    });
    expect(measures).toMatchObject({
      transportBytes: 400,
      nvlinkBytes: 410 * 1024,
      hostPeakMib: 3,
      hostByGroup: false,
    });
    expect(measures.notes.join()).toContain("held by 1 other processes");
  });

  it("counts the ranks that a test must pass on for its time alone", () => {
    expect(measureLaunch(input({ ranksOf: () => [0] })).tests.get(id)?.wallClockS).toEqual({ rank: 0, value: 0.2 });
  });

  it("measures nothing of a call that did not end, and no memory on a GPU that was lost meanwhile", () => {
    const open = input();
    const windows = open.observed.tests.get(id);
    if (windows?.calls[1]) windows.calls[1].toMs = null;
    const unended = measureLaunch(open).tests.get(id);
    expect([unended?.wallClockS, unended?.gpuPeakMib, unended?.transportBytes, unended?.nvlinkBytes]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    const lost = input();
    const { sampler } = lost;
    if (sampler !== null) lost.sampler = { ...sampler, between: (gpu) => (gpu === 0 ? sampler.between(0, 0, 0) : []) };
    const measured = measureLaunch(lost).tests.get(id);
    expect(measured?.gpuPeakMib).toBeNull();
    expect(measured?.wallClockS).not.toBeNull();
  });

  it("keeps its samples with units in the header, and leaves out rows that repeat their neighbours", () => {
    const files = sampleFiles(measureLaunch(input()));
    expect(Object.keys(files)).toEqual(["gpu-0.csv", "gpu-1.csv"]);
    expect(Object.values(files).at(1)?.split("\n")).toEqual([
      "time_ms,used_mib,processes,nvlink_sent_kib,nvlink_received_kib,ecc_uncorrected",
      "5,40,1,10,10,0",
      "105,40,1,10,10,0",
      "205,70,1,10,10,0",
      "305,40,1,10,10,0",
      "405,40,1,10,10,0",
      "",
    ]);
    const long = input();
    if (long.sampler !== null) {
      long.sampler = {
        ...long.sampler,
        between: () => Array.from({ length: 90_000 }, (_, at) => sample(at * 100, at === 40_001 ? 9_999 : at % 2)),
      };
    }
    const rows =
      Object.values(sampleFiles(measureLaunch(long)))
        .at(0)
        ?.split("\n") ?? [];
    expect(rows.length).toBeLessThan(20_010);
    expect(rows.some((row) => row.includes(",9999,"))).toBe(true);
  });
});
