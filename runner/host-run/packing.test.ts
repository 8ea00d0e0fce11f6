import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { discoverGpus } from "../gpus/discover";
import type { GpuGrant } from "../gpus/grant";
import { GpuPool } from "../gpus/pool";
import { Quarantine } from "../gpus/quarantine";
import { FakeNvidiaSmi } from "../testing/fake-nvidia-smi";
import { askedOf, pack, problemsOf } from "./packing";
import type { Packed } from "./state";

const packed = (gpus: number[], startedMs: number, endedMs: number, more: Partial<Packed> = {}): Packed => ({
  pool: "first",
  asked: gpus.length,
  gpus,
  askedMs: 0,
  startedMs,
  endedMs,
  resolved: true,
  ...more,
});

describe("gradings packed onto GPUs", () => {
  const other = { pool: "second" };

  it("are right where each GPU has one at a time and those of both pools lie side by side", () => {
    const right = [packed([0], 0, 10), packed([1], 1, 12, other), packed([0, 1], 12, 20), packed([0], 20, 30)];
    expect(problemsOf(right)).toEqual([]);
  });

  it("are wrong where a GPU has two, none lie side by side, nobody waits, one fails or has another number", () => {
    expect(problemsOf([packed([0], 0, 10), packed([0, 1], 9, 20), packed([1], 0, 5, other)])).toEqual([
      "grading 1 and grading 2 had GPU 0 at once",
    ]);
    const alone = "no gradings of both pools ran side by side";
    expect(problemsOf([packed([0], 0, 10), packed([1], 10, 20, other)])).toEqual([alone]);
    expect(problemsOf([packed([0], 0, 10), packed([1], 0, 10)])).toEqual([alone, "nobody had to wait"]);
    expect(
      problemsOf([
        packed([0], 0, 10, { resolved: false }),
        packed([1], 0, 20, { ...other, asked: 2 }),
        packed([0], 20, 30),
      ]),
    ).toEqual(["grading 1 is not resolved", "grading 2 had other GPUs"]);
  });

  it("ask for more than a host has, whatever it has", () => {
    for (const gpus of [2, 4, 8]) {
      const asked = askedOf(gpus).flat();
      expect(asked.reduce((sum, each) => sum + each.gpus, 0)).toBe(4 * gpus);
      expect(new Set(asked.map((each) => each.gpus))).toEqual(new Set([gpus / 2, gpus]));
    }
  });
});

describe("whoever waits for GPUs", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is forgotten after three minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const never = (_: number, own: AbortSignal): Promise<never> =>
      new Promise((_, reject) => own.addEventListener("abort", () => reject(own.reason)));
    const pools = new Map([
      ["first", never],
      ["second", never],
    ]);
    const packing = pack({ gpus: 2, pools, signal: new AbortController().signal, resolves: async () => true });
    await vi.advanceTimersByTimeAsync(400_000);
    const { gradings, problems } = await packing;
    expect(gradings).toEqual([]);
    expect(problems.filter((problem) => problem.includes("pool: TimeoutError"))).toHaveLength(6);
  });
});

describe.each([2, 4])("two pools on a host with %d GPUs", (count) => {
  let fake: FakeNvidiaSmi;
  beforeEach(async () => {
    const gpus = Array.from({ length: count }, (_, minor) => ({ uuid: `GPU-${minor}-${randomUUID()}`, minor }));
    fake = await FakeNvidiaSmi.install({ gpus });
  });
  afterEach(() => fake.remove());

  const packWith = (resolves: (grant: GpuGrant) => Promise<boolean>, signal = new AbortController().signal) => {
    const poolOf = () => {
      const pool = new GpuPool({
        what: "packing",
        discover: () => discoverGpus(fake.options),
        quarantine: new Quarantine(join(fake.dir, "state")),
        pollMs: 50,
      });
      return (gpus: number, own: AbortSignal) => pool.acquire(gpus, { signal: own });
    };
    const pools = new Map([
      ["first", poolOf()],
      ["second", poolOf()],
    ]);
    return pack({ gpus: count, pools, signal, resolves });
  };
  const lasting = (ms: number) => new Promise<boolean>((resolve) => setTimeout(() => resolve(true), ms));

  it("share it: side by side first, and then everyone in turn", async () => {
    const { gradings, problems } = await packWith(() => lasting(400));
    expect(problems).toEqual([]);
    expect(gradings).toHaveLength(6);
  });

  it.each([1, 3])("say who failed, the first or a later one, and give every GPU back (%d)", async (broken) => {
    let works = 0;
    const { gradings, problems } = await packWith(async () => {
      works += 1;
      if (works === broken) throw new Error("broken");
      return works !== 4 && (await lasting(100));
    });
    expect(gradings).toHaveLength(5);
    expect(problems.filter((problem) => /pool: Error: broken/.test(problem))).toHaveLength(1);
    expect(problems.filter((problem) => /is not resolved/.test(problem))).toHaveLength(1);
    expect((await packWith(() => lasting(400))).problems).toEqual([]);
  });
});
