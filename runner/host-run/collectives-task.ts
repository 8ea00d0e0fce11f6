import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { KnownTask, StatedLimit } from "./known-task";

/** Elements of the tensors whose transfer is measured: float32, 64 MiB. */
const measuredElements = 16 * 1024 * 1024;
const bytes = measuredElements * 4;
/** Bytes that both ranks send together, by the algorithms' lower bound for two ranks. */
export const theoreticalBytes: Readonly<Record<string, number>> = {
  test_moves_nothing: 0,
  test_moves_by_all_reduce: 2 * bytes,
  test_moves_by_all_gather: bytes,
  test_moves_by_reduce_scatter: bytes,
  test_moves_by_broadcast: bytes,
};
/** What one test allocates on each rank's GPU and holds, in MiB. */
export const heldMb = 1024;

const source = `import ctypes
import os
import socket
import time

import pytest
import torch
import torch.distributed as dist

from ranks.group import backend, device, meet, open_group, rank

ELEMENTS = ${measuredElements}


@pytest.fixture
def group():
    open_group()
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def parting(group):
    yield
    dist.barrier()


def synchronize():
    if device().type == "cuda":
        torch.cuda.synchronize()


def test_all_reduce(group):
    value = torch.full((1024,), float(rank() + 1), device=device())
    dist.all_reduce(value)
    assert value.eq(3).all()


def test_no_network_outside(group):
    assert meet().item() == 2
    with pytest.raises(OSError):
        socket.create_connection(("192.0.2.1", 443), timeout=2)


def test_moves_nothing(group):
    time.sleep(0.3)


def test_moves_by_all_reduce(group):
    value = torch.ones(ELEMENTS, device=device())
    dist.all_reduce(value)
    synchronize()


def test_moves_by_all_gather(group):
    part = torch.ones(ELEMENTS // 2, device=device())
    whole = torch.empty(ELEMENTS, device=device())
    dist.all_gather_into_tensor(whole, part)
    synchronize()


def test_moves_by_reduce_scatter(group):
    whole = torch.ones(ELEMENTS, device=device())
    part = torch.empty(ELEMENTS // 2, device=device())
    dist.reduce_scatter_tensor(part, whole)
    synchronize()


def test_moves_by_broadcast(group):
    value = torch.ones(ELEMENTS, device=device())
    dist.broadcast(value, 0)
    synchronize()


def test_holds_memory(group):
    held = torch.ones(${heldMb} * 1024 * 1024 // 4, device=device())
    synchronize()
    time.sleep(1)
    assert held.numel() > 0


@pytest.mark.parametrize("which", [0, 1])
def test_hangs(group, which):
    if rank() == which:
        time.sleep(600)
    meet()


@pytest.mark.parametrize("which", [0, 1])
def test_aborts(group, which):
    if rank() == which:
        os.abort()
    meet()


@pytest.mark.parametrize("which", [0, 1])
def test_crashes(group, which):
    if rank() == which:
        ctypes.string_at(0)
    meet()


@pytest.mark.parametrize("which", [0, 1])
def test_fails_before_parting(parting, which):
    assert rank() != which
    meet()
    meet()


def test_asserts_on_the_device(group):
    if rank() == 1:
        torch.ones(4, device=device())[torch.tensor([9], device=device())]
    meet()


@pytest.mark.parametrize("which", [0, 1])
def test_exits(group, which):
    if rank() == which:
        os._exit(0)
    meet()


@pytest.mark.parametrize("which", [0, 1])
def test_raises(group, which):
    if rank() == which:
        raise ValueError("before the collective")
    meet()


def test_times_out():
    open_group(seconds=5)
    if rank() == 1:
        time.sleep(600)
    meet()
`;

/** What a test's ranks do, and what the grader must say of it. */
export type Expectation = {
  test: string;
  status: OutcomeStatus | "not-passed";
  rootRank?: number;
  /** Not there without a GPU. */
  onGpus?: boolean;
  /** Where NCCL carries it, its flight recorder keeps the collective that is waited for. */
  recorded?: boolean;
  /** What one of the ranks says, whichever fails first. */
  says?: { name: string; text: RegExp };
};

const healthy = [
  ...["test_all_reduce", "test_no_network_outside", ...Object.keys(theoreticalBytes), "test_holds_memory"],
].map((test): Expectation => ({ test, status: "passed" }));
const faulty = [
  ...[0, 1].flatMap((rank): Expectation[] => [
    { test: `test_hangs[${rank}]`, status: "hung", rootRank: rank, recorded: true },
    { test: `test_aborts[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_crashes[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_exits[${rank}]`, status: "crashed", rootRank: rank },
    { test: `test_raises[${rank}]`, status: "error", rootRank: rank },
    { test: `test_fails_before_parting[${rank}]`, status: "failed", rootRank: rank },
  ]),
  { test: "test_asserts_on_the_device", status: "not-passed", rootRank: 1, onGpus: true },
] satisfies Expectation[];
/** The rank that waits says that its time is over, and the one that never comes is the cause. */
const late = {
  test: "test_times_out",
  status: "hung",
  rootRank: 1,
  recorded: true,
  says: { name: "a time-out", text: /time(?:d )?-?out/i },
} satisfies Expectation;

/** What the grader must say of each test of the known ranks. */
export const expectations: readonly Expectation[] = [...healthy, ...faulty, late];

/** Generous limits: they make the grader measure, and what it measured is compared with theory. */
function limitOf(name: string, gpus: number): StatedLimit | undefined {
  const moved = theoreticalBytes[name];
  if (moved !== undefined) {
    const meter = gpus >= 2 ? "nvlink" : "transport";
    return { resource: "bytes_moved", unit: "bytes", value: 4 * moved + 64 * 1024 * 1024, meter };
  }
  if (name !== "test_holds_memory" || gpus === 0) return undefined;
  return { resource: "gpu_memory", unit: "MiB", value: 16 * heldMb, meter: "gpu-memory" };
}

/** A task whose ranks move known amounts of data, and hang, abort, crash, leave, raise and time out. */
export function collectivesTask(gpus: number): KnownTask {
  const entryOf = ({ test, onGpus = false }: Expectation, group: string) => {
    const limit = limitOf(test, gpus);
    const needsGpus = limit?.meter === "gpu-memory" || onGpus ? 1 : 0;
    return [test, { group, needsGpus, ...(limit && { limit }) }] as const;
  };
  return {
    slug: "collectives",
    gpus,
    source,
    groups: [
      { id: "healthy", testTimeoutSec: 60 },
      { id: "faulty", testTimeoutSec: 20 },
      // The group's time-out, what torch's watchdog leaves for recordings, and how long a lost rank is waited for.
      { id: "late", testTimeoutSec: 40 },
    ],
    tests: Object.fromEntries([
      ...healthy.map((each) => entryOf(each, "healthy")),
      ...faulty.map((each) => entryOf(each, "faulty")),
      entryOf(late, "late"),
    ]),
  };
}

/**
 * NCCL between two GPUs through host memory, in a sandbox whose /dev/shm has 1 MiB. What it says then looks like a fault
 * of the host, gold says the same, and the grading is the host's: nobody's patch is blamed.
 */
export const withoutSharedMemoryTask = (gpus: number): KnownTask => ({
  slug: "without-shared-memory",
  gpus,
  shmMb: 1,
  source: `from ranks.group import meet, open_group


def test_meets():
    open_group()
    assert meet().item() == 2
`,
  groups: [{ id: "narrow", testTimeoutSec: 60, env: { NCCL_P2P_DISABLE: "1", NCCL_CUMEM_HOST_ENABLE: "0" } }],
  tests: { test_meets: { group: "narrow" } },
  withGold: true,
});
