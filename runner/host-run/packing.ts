import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import type { PythonRuntime } from "../grading/python-runtime";
import { withinTime } from "../within-time";
import { gradeKnownTask, type KnownTask } from "./known-task";
import type { HostRun, Packed } from "./state";

type Asked = { pool: string; gpus: number };

/**
 * What asks for a host's GPUs, in this order, from two pools that know of each other only by the locks: half of them, or
 * all. The first two fit side by side; the others ask at once when those two have begun.
 */
export function askedOf(gpus: number): [first: Asked[], then: Asked[]] {
  const half = Math.max(1, Math.floor(gpus / 2));
  return [
    [
      { pool: "first", gpus: half },
      { pool: "second", gpus: half },
    ],
    [
      { pool: "first", gpus },
      { pool: "second", gpus: half },
      { pool: "first", gpus: half },
      { pool: "second", gpus },
    ],
  ];
}

const seesNodes = (gpus: number): string =>
  `    assert len([name for name in os.listdir("/dev") if name[:6] == "nvidia" and name[6:].isdigit()]) == ${gpus}\n`;

/** Ranks that see the GPUs of their grant and no others, meet, and stay long enough for gradings to lie side by side. */
const packingTask = (gpus: number, sandboxed: boolean): KnownTask => ({
  slug: "packing",
  gpus,
  source: `import os
import time

import torch

from ranks.group import backend, meet, open_group


def test_has_its_gpus_and_no_others():
    assert torch.cuda.device_count() == ${gpus}
${sandboxed ? seesNodes(gpus) : ""}    open_group()
    assert backend() == "${gpus >= 2 ? "nccl" : "gloo"}"
    assert meet().item() == 2
    time.sleep(2)
    assert meet().item() == 2
`,
  groups: [{ id: "packed", testTimeoutSec: 60 }],
  tests: { test_has_its_gpus_and_no_others: { group: "packed", needsGpus: gpus } },
});

/** All six gradings of one launch, with room for a slow host. Whoever waits for GPUs longer than that is forgotten. */
const patienceMs = 180_000;

type Acquire = (count: number, signal: AbortSignal) => Promise<GpuGrant>;

/**
 * Grades with half of a host's GPUs and with all of them, asked for from two pools, and looks at who had which GPU when:
 * never two the same, gradings of both pools side by side, and everyone gets some. What goes wrong stands in `problems`.
 * Throws what `signal` says where it aborts.
 */
export async function runPacking(options: {
  executor: RunnerExecutor;
  python: PythonRuntime;
  /** GPUs of the host. */
  gpus: number;
  pools: ReadonlyMap<string, Acquire>;
  signal: AbortSignal;
  onGraded?: (packed: Packed) => void;
}): Promise<NonNullable<HostRun["packing"]>> {
  const { executor, python, signal } = options;
  return await pack({
    ...options,
    resolves: async (grant) => {
      const task = packingTask(grant.uuids.length, executor === "bwrap");
      const { summary } = await gradeKnownTask({ executor, python, gpus: grant, signal }, task);
      return summary.resolved;
    },
  });
}

/** Asks the pools for GPUs as `askedOf` says, and does a piece of work with each grant. */
export async function pack(options: {
  gpus: number;
  pools: ReadonlyMap<string, Acquire>;
  signal: AbortSignal;
  resolves: (grant: GpuGrant) => Promise<boolean>;
  onGraded?: (packed: Packed) => void;
}): Promise<NonNullable<HostRun["packing"]>> {
  const { signal } = options;
  const beganMs = performance.now();
  const since = (): number => Math.round(performance.now() - beganMs);
  const one = async ({ pool, gpus: count }: Asked, begun: () => void): Promise<Packed> => {
    const askedMs = since();
    const acquire = options.pools.get(pool);
    const grant = await withinTime(
      patienceMs - askedMs,
      signal,
      (within) => acquire?.(count, within) ?? Promise.reject(new Error("there is no such pool")),
    ).finally(begun);
    const startedMs = since();
    try {
      const resolved = await options.resolves(grant);
      const gpus = grant.devices.map(({ index }) => index);
      const packed = { pool, asked: count, gpus, askedMs, startedMs, endedMs: since(), resolved };
      options.onGraded?.(packed);
      return packed;
    } finally {
      await grant.release();
    }
  };
  const [first, then] = askedOf(options.gpus);
  const asked = [...first, ...then];
  const works: Promise<Packed>[] = [];
  const start = (each: Asked, begun: () => void): void => {
    const work = one(each, begun);
    work.catch(() => undefined); // it is looked at once all have ended
    works.push(work);
  };
  await Promise.all(first.map((each) => new Promise<void>((begun) => start(each, begun))));
  for (const each of then) start(each, () => undefined);
  const settled = await Promise.allSettled(works);
  signal.throwIfAborted();
  const gradings = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = settled.flatMap((each, at) =>
    each.status === "rejected"
      ? [`${asked[at]?.gpus} GPUs of the ${asked[at]?.pool} pool: ${String(each.reason)}`]
      : [],
  );
  return { gradings, problems: [...failed, ...problemsOf(gradings)] };
}

/** What is wrong with gradings that were packed onto a host's GPUs. */
export function problemsOf(gradings: readonly Packed[]): string[] {
  const problems: string[] = [];
  const nameOf = (packed: Packed): string => `grading ${gradings.indexOf(packed) + 1}`;
  const overlap = (one: Packed, other: Packed): boolean =>
    one.startedMs < other.endedMs && other.startedMs < one.endedMs;
  let sideBySide = false;
  for (const [at, one] of gradings.entries()) {
    if (!one.resolved) problems.push(`${nameOf(one)} is not resolved`);
    if (one.gpus.length !== one.asked) problems.push(`${nameOf(one)} had other GPUs`);
    for (const other of gradings.slice(at + 1)) {
      if (!overlap(one, other)) continue;
      const shared = one.gpus.filter((gpu) => other.gpus.includes(gpu));
      if (shared.length > 0) problems.push(`${nameOf(one)} and ${nameOf(other)} had GPU ${shared.join(", ")} at once`);
      else sideBySide ||= one.pool !== other.pool;
    }
  }
  if (!sideBySide) problems.push("no gradings of both pools ran side by side");
  const waited = gradings.some((one) => gradings.some((other) => other.endedMs <= one.startedMs));
  if (!waited) problems.push("nobody had to wait");
  return problems;
}
