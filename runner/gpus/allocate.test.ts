import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseGpus, planStarts, type WaitingJob } from "./allocate";

const names = (from: number, count: number) => Array.from({ length: count }, (_, n) => `gpu-${from + n}`);
const twoIslands = [names(0, 4), names(4, 4)];

describe("a job's GPUs", () => {
  it("come from the island that they fit best", () => {
    const free = ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-6", "gpu-7"];
    expect(chooseGpus({ free, islands: twoIslands }, 1)).toEqual(["gpu-6"]);
    expect(chooseGpus({ free, islands: twoIslands }, 2)).toEqual(["gpu-6", "gpu-7"]);
    expect(chooseGpus({ free, islands: twoIslands }, 3)).toEqual(["gpu-0", "gpu-1", "gpu-2"]);
    expect(chooseGpus({ free, islands: twoIslands }, 5)).toEqual(["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-6"]);
    expect(chooseGpus({ free, islands: twoIslands }, 7)).toBeNull();
  });

  it("share a NUMA node where their island has them on one", () => {
    const numaNodes = new Map([
      ["gpu-0", 0],
      ["gpu-1", 1],
      ["gpu-2", 1],
      ["gpu-3", 1],
    ]);
    const state = { free: names(0, 4), islands: [names(0, 4)], numaNodes };
    expect(chooseGpus(state, 2)).toEqual(["gpu-1", "gpu-2"]);
    expect(chooseGpus(state, 1)).toEqual(["gpu-0"]);
  });

  const host = fc
    .record({
      sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 }),
      mask: fc.infiniteStream(fc.boolean()),
    })
    .map(({ sizes, mask }) => {
      let next = 0;
      const islands = sizes.map((size) => {
        const island = names(next, size);
        next += size;
        return island;
      });
      const free = islands.flat().filter(() => mask.next().value);
      return { islands, free };
    });

  it("are as many as asked for, free, distinct, and of one island where any has so many", () => {
    fc.assert(
      fc.property(host, fc.integer({ min: 1, max: 32 }), ({ islands, free }, count) => {
        const chosen = chooseGpus({ free, islands }, count);
        expect(chosen === null).toBe(count > free.length);
        if (chosen === null) return;
        expect(new Set(chosen).size).toBe(count);
        expect(chosen.every((uuid) => free.includes(uuid))).toBe(true);
        const freeOf = (island: string[]) => island.filter((uuid) => free.includes(uuid));
        const used = islands.filter((island) => island.some((uuid) => chosen.includes(uuid)));
        const enough = islands.filter((island) => freeOf(island).length >= count);
        if (enough.length > 0) {
          expect(used).toHaveLength(1);
          const least = Math.min(...enough.map((island) => freeOf(island).length));
          expect(freeOf(used[0] ?? []).length).toBe(least);
        }
      }),
    );
  });
});

describe("a queue of jobs", () => {
  const state = (free: string[]) => ({ free, islands: twoIslands });
  const all = names(0, 8);

  it("packs small jobs side by side", () => {
    const waiting = [1, 2, 1, 2, 2].map((gpus, job) => ({ job, gpus }));
    const starts = planStarts(waiting, state(all), all);
    expect(starts.map(({ job }) => job)).toEqual([0, 1, 2, 3, 4]);
    expect(new Set(starts.flatMap(({ uuids }) => uuids)).size).toBe(8);
  });

  it("reserves what is free for the oldest job that needs more, and lets jobs without GPUs pass", () => {
    const waiting = [
      { job: "small", gpus: 1 },
      { job: "large", gpus: 8 },
      { job: "cpu", gpus: 0 },
      { job: "younger", gpus: 1 },
    ];
    expect(planStarts(waiting, state(names(0, 3)), all).map(({ job }) => job)).toEqual(["small", "cpu"]);
  });

  it("is not held up by a job that the host can never serve", () => {
    const huge: WaitingJob<string> = { job: "huge", gpus: 9 };
    const picky: WaitingJob<string> = { job: "picky", gpus: 1, usable: () => false };
    const starts = planStarts([huge, picky, { job: "small", gpus: 1 }], state(names(0, 1)), all);
    expect(starts.map(({ job }) => job)).toEqual(["small"]);
  });

  it("starts every job in the end, however many small ones keep coming, and no GPU twice", () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.infiniteStream(fc.nat()), (jobs, choices) => {
        const waiting = jobs.map((gpus, job) => ({ job, gpus }));
        const running: string[][] = [];
        const started = new Set<number>();
        let small = 1000;
        for (let round = 0; started.size < jobs.length; round += 1) {
          // Each start or end is a step: without starvation there are no more of them than this.
          expect(round).toBeLessThan(jobs.length * 20);
          waiting.push({ job: small++, gpus: 1 });
          const busy = new Set(running.flat());
          for (const { job, uuids } of planStarts(waiting, state(all.filter((uuid) => !busy.has(uuid))), all)) {
            for (const uuid of uuids) {
              expect(busy.has(uuid)).toBe(false);
              busy.add(uuid);
            }
            waiting.splice(
              waiting.findIndex((each) => each.job === job),
              1,
            );
            if (uuids.length > 0) running.push(uuids);
            if (job < jobs.length) started.add(job);
          }
          if (running.length > 0) running.splice((choices.next().value as number) % running.length, 1);
        }
      }),
    );
  });
});
