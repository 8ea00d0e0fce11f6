import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import type { PythonRuntime } from "../grading/python-runtime";
import type { LoadedTask } from "../suites/load";
import { gradeKnownTask } from "./collectives";
import { writeKnownTask } from "./known-task";
import type { HostRun, Packed } from "./state";

/** What asks for GPUs at once, in this order, from two pools that know of each other only by the locks. */
const asked: readonly { pool: string; gpus: number }[] = [
  { pool: "first", gpus: 1 },
  { pool: "second", gpus: 1 },
  { pool: "first", gpus: 2 },
  { pool: "second", gpus: 1 },
  { pool: "first", gpus: 1 },
  { pool: "second", gpus: 2 },
];

const seesNodes = (gpus: number): string =>
  `    assert len([name for name in os.listdir("/dev") if name[:6] == "nvidia" and name[6:].isdigit()]) == ${gpus}\n`;

/** Ranks that see the GPUs of their grant and no others, meet, and stay long enough for gradings to lie side by side. */
const writePackingTask = (dir: string, gpus: number, sandboxed: boolean): Promise<LoadedTask> =>
  writeKnownTask(dir, {
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

/**
 * Grades with one GPU and with two, all asked for at once from two pools, and looks at who had which GPU when: never two
 * the same, two gradings of one GPU side by side, and nobody waits for ever.
 */
export async function runPacking(options: {
  executor: RunnerExecutor;
  python: PythonRuntime;
  /** GPUs of the host, in its order. */
  gpuUuids: readonly string[];
  pools: ReadonlyMap<string, (count: number) => Promise<GpuGrant>>;
  signal: AbortSignal;
  onGraded?: (packed: Packed) => void;
}): Promise<NonNullable<HostRun["packing"]>> {
  const beganMs = performance.now();
  const since = (): number => Math.round(performance.now() - beganMs);
  const one = async ({ pool, gpus: count }: (typeof asked)[number]): Promise<Packed> => {
    const acquire = options.pools.get(pool);
    if (acquire === undefined) throw new Error(`there is no pool ${pool}`);
    const askedMs = since();
    const grant = await acquire(count);
    const startedMs = since();
    let endedMs = startedMs;
    try {
      const { executor, python, signal } = options;
      const result = await gradeKnownTask({ executor, python, gpus: grant, signal }, "nop", (dir) =>
        writePackingTask(dir, count, executor === "bwrap"),
      );
      endedMs = since();
      const gpus = grant.uuids.map((uuid) => options.gpuUuids.indexOf(uuid));
      const packed = { pool, asked: count, gpus, askedMs, startedMs, endedMs, resolved: result.summary.resolved };
      options.onGraded?.(packed);
      return packed;
    } finally {
      await grant.release();
    }
  };
  const settled = await Promise.allSettled(asked.map(one));
  const failed = settled.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  const gradings = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  return { gradings, problems: problemsOf(gradings) };
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
    if (one.gpus.length !== one.asked || one.gpus.includes(-1)) problems.push(`${nameOf(one)} had other GPUs`);
    for (const other of gradings.slice(at + 1)) {
      if (!overlap(one, other)) continue;
      const shared = one.gpus.filter((gpu) => other.gpus.includes(gpu));
      if (shared.length > 0) problems.push(`${nameOf(one)} and ${nameOf(other)} had GPU ${shared.join(", ")} at once`);
      else sideBySide = true;
    }
  }
  if (!sideBySide) problems.push("no two gradings ran side by side");
  return problems;
}
