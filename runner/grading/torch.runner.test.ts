import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolvePython } from "./python-runtime";
import { oneFile, outcomeOf, ranksOf, statusesOf, TinyGradings } from "./testing/tiny-gradings";

// Torch's own exceptions, launchers and files. They need a Python with torch: INFRADEV_PYTHON names one.

const python = await resolvePython().catch(() => null);

let tiny: TinyGradings;
beforeAll(async () => {
  tiny = await TinyGradings.create();
});
afterAll(async () => {
  await tiny.remove();
});

const head = `import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record

RANK = int(os.environ.get("RANK", "0"))


def init(seconds=60):
    dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))


`;

describe.skipIf(python?.torch == null)("torch's ranks", { timeout: 300_000 }, () => {
  it("meet over env:// under the launcher torchrun", async () => {
    const source = `${head}def test_sum():
    assert dist.is_torchelastic_launched()
    init()
    total = torch.tensor([RANK + 1.0])
    dist.all_reduce(total)
    assert total.item() == 3
`;
    const group = { launcher: "torchrun" as const, testTimeoutSec: 60, timeoutSec: 200 };
    const task = await tiny.task({ ...oneFile(source, ["sum"], group), memoryMb: 4096 });
    const { result } = await tiny.grade(task, null);
    expect(outcomeOf(result, "test_sum").ranks.map(({ failure }) => failure?.message ?? null)).toEqual([null, null]);
  });

  it("that lose a peer fail as a consequence of the peer, with torch's error file beside its traceback", async () => {
    const source = `${head}@record
def step():
    init()
    if RANK == 1:
        raise KeyError("layers.0.weight")
    dist.all_reduce(torch.ones(4))


def test_step():
    step()


def test_lost():
    if RANK == 1:
        os._exit(1)
    dist.all_reduce(torch.ones(4))
`;
    const group = { launcher: "torchrun" as const, testTimeoutSec: 15, timeoutSec: 200 };
    const task = await tiny.task({ ...oneFile(source, ["lost", "step"], group), memoryMb: 4096 });
    const { result } = await tiny.grade(task, null);
    const step = outcomeOf(result, "test_step");
    expect(step).toMatchObject({ status: "error", rootRank: 1 });
    expect(step.ranks[1]?.failure).toMatchObject({ exceptionType: "KeyError", secondaryOf: null });
    expect(step.ranks[0]?.failure?.secondaryOf).toBe(1);
    const file = step.ranks[1]?.failure?.evidence?.find(({ kind }) => kind === "torch-error-file");
    expect(file?.excerpt).toContain("KeyError: 'layers.0.weight'");
    expect(file?.excerpt).toContain("in step");
    expect(outcomeOf(result, "test_lost")).toMatchObject({ status: "crashed", rootRank: 1 });
  });

  it("that see a connection close or a store not answer have errors of communication", async () => {
    const source = `${head}def test_closed():
    init()
    if RANK == 1:
        time.sleep(0.5)
        os._exit(3)
    dist.all_reduce(torch.ones(4))


def test_store():
    if RANK == 1:
        raise ValueError("never came to the store")
    dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), 2, True, timeout=timedelta(seconds=2))
`;
    const group = { launcher: "torchrun" as const, testTimeoutSec: 20, timeoutSec: 200 };
    const task = await tiny.task({ ...oneFile(source, ["closed", "store"], group), memoryMb: 4096 });
    const { result } = await tiny.grade(task, null);
    const closed = outcomeOf(result, "test_closed");
    expect(ranksOf(result, "test_closed")).toEqual(["error", "crashed"]);
    expect(closed).toMatchObject({ status: "crashed", rootRank: 1 });
    expect(closed.ranks[0]?.failure?.message).toMatch(/connection closed by peer/i);
    expect(closed.ranks[0]?.failure?.secondaryOf).toBe(1);
    const store = outcomeOf(result, "test_store");
    expect(store).toMatchObject({ status: "error", rootRank: 1 });
    expect(store.ranks[0]?.failure?.exceptionType).toMatch(/^torch\.distributed\.Dist(?:Store|Network)Error$/);
    expect(store.ranks[0]?.failure?.secondaryOf).toBe(1);
  });
});

describe.skipIf(python?.torch == null)("torch's spawned processes", { timeout: 300_000 }, () => {
  it("give the traceback of the child, and no pass where a child skips or ends early", async () => {
    const source = `${head}import pytest


def load(rank, key):
    if rank == 1:
        raise KeyError(key)


def skips(rank):
    pytest.skip("no device")


def leaves(rank):
    sys.exit(0)


def works(rank):
    pass


def test_raises():
    mp.spawn(load, args=("layers.0",), nprocs=2)


def test_skips():
    mp.start_processes(skips, nprocs=1, start_method="fork", join=False).processes[0].join()


def test_leaves():
    mp.start_processes(leaves, nprocs=2, start_method="fork")


def test_works():
    mp.start_processes(works, nprocs=2, start_method="fork")


def test_elastic(tmp_path):
    file = tmp_path / "error.json"
    os.environ["TORCHELASTIC_ERROR_FILE"] = str(file)
    with pytest.raises(KeyError):
        record(load)(1, "layers.1")
    raise ChildFailedError("trainer", {1: ProcessFailure(1, os.getpid(), 1, str(file))})
`;
    const names = ["elastic", "leaves", "raises", "skips", "works"];
    const group = { launcher: "pytest" as const, nproc: 1, testTimeoutSec: 60, timeoutSec: 250 };
    const task = await tiny.task({ ...oneFile(source, names, group), memoryMb: 4096 });
    const { result } = await tiny.grade(task, null);
    expect(statusesOf(result)).toEqual(["error", "error", "error", "skipped", "passed"]);
    const failure = (name: string) => outcomeOf(result, name).ranks[0]?.failure;
    for (const name of ["test_raises", "test_elastic"]) {
      expect(failure(name)).toMatchObject({ exceptionType: "KeyError" });
      expect(failure(name)?.frames.at(-1)).toMatchObject({ function: "load", origin: "test" });
    }
    expect(failure("test_raises")?.message).toContain("raised in process 1 of torch.multiprocessing.spawn");
    expect(failure("test_elastic")?.message).toContain("raised on rank 1 below torch's elastic agent");
    expect(failure("test_leaves")?.message).toContain("ended with code 0 before leaves returned");
  });
});
