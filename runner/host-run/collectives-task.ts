import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type LoadedTask, loadTask } from "../suites/load";
import { sealTask } from "../suites/seal";

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

const program = `"""Two ranks and their group: NCCL where each has a GPU of its own, else gloo."""

import datetime
import os

import torch
import torch.distributed as dist


def rank():
    return int(os.environ["RANK"])


def device():
    count = torch.cuda.device_count()
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]) % count) if count else torch.device("cpu")


def backend():
    world = int(os.environ["LOCAL_WORLD_SIZE"])
    return "nccl" if torch.cuda.device_count() >= world else "gloo"


def open_group(seconds=120):
    if device().type == "cuda":
        torch.cuda.set_device(device())
    dist.init_process_group(backend(), timeout=datetime.timedelta(seconds=seconds))
    meet()


def meet(elements=1):
    value = torch.ones(elements, device=device())
    dist.all_reduce(value)
    if device().type == "cuda":
        torch.cuda.synchronize()
    return value
`;

const tests = `import os
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
def test_crashes(group, which):
    if rank() == which:
        os.abort()
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
        time.sleep(12)
    meet()
`;

const healthy = [
  "test_all_reduce",
  "test_no_network_outside",
  "test_moves_nothing",
  "test_moves_by_all_reduce",
  "test_moves_by_all_gather",
  "test_moves_by_reduce_scatter",
  "test_moves_by_broadcast",
  "test_holds_memory",
] as const;
const faulty = [
  ...["test_hangs", "test_crashes", "test_exits", "test_raises"].flatMap((name) => [`${name}[0]`, `${name}[1]`]),
  "test_times_out",
];

const file = "tests/test_collectives.py";
export const idOf = (name: string): string => `${file}::${name}`;

const groupToml = (id: string, testTimeoutSec: number): string => `
[[metadata.infradev.groups]]
id = "${id}"
launcher = "torchrun"
nproc = 2
isolation = "test"
timeout_sec = 400
test_timeout_sec = ${testTimeoutSec}
`;

const taskToml = (gpus: number): string => `version = "1.0"

[metadata]
name = "Two ranks that meet, and fail to"

[environment]
memory_mb = 32768

[metadata.infradev]
format = "1"
slug = "collectives"
repo = "infradev/collectives"
category = "training"
type = "feature"
base_path = "../base"
base_tree = ""
env_key = "python-torch"
gpus_agent = 0
gpus_grade = ${gpus}
min_gpu_memory_mb = 0
protected_paths = ["tests/"]

[[metadata.infradev.prompts]]
id = "interface"
file = "instruction.md"
default = true
${groupToml("healthy", 60)}${groupToml("faulty", 20)}`;

/** Generous limits: they make the grader measure, and what it measured is compared with theory. */
function limitOf(name: string, gpus: number) {
  const bytes = theoreticalBytes[name];
  if (bytes !== undefined) {
    const meter = gpus >= 2 ? "nvlink" : "transport";
    return { resource: "bytes_moved", unit: "bytes", value: 4 * bytes + 64 * 1024 * 1024, meter } as const;
  }
  if (name !== "test_holds_memory" || gpus === 0) return null;
  return { resource: "gpu_memory", unit: "MiB", value: 16 * heldMb, meter: "gpu-memory" } as const;
}

/**
 * Writes a task whose tests move known amounts of data between two ranks, and whose ranks hang, crash, leave and raise,
 * one launch each. It has nothing to solve: what the grader says of each test is compared with what the test does.
 */
export async function writeCollectivesTask(dir: string, gpus: number): Promise<LoadedTask> {
  const entryOf = (name: string, group: string) => {
    const limit = limitOf(name, gpus);
    const needs = { ranks: 2, gpus: limit?.meter === "gpu-memory" ? 1 : 0 };
    const requirement = "says what the rank does";
    return [idOf(name), { kind: "official", group, property: "value", needs, requirement, ...(limit && { limit }) }];
  };
  const testsFile = {
    FAIL_TO_PASS: [],
    PASS_TO_PASS: [...healthy, ...faulty].map(idOf),
    tests: Object.fromEntries([
      ...healthy.map((name) => entryOf(name, "healthy")),
      ...faulty.map((name) => entryOf(name, "faulty")),
    ]),
  };
  const files: Record<string, string> = {
    "base/ranks/__init__.py": "",
    "base/ranks/group.py": program,
    "collectives/task.toml": taskToml(gpus),
    "collectives/instruction.md": "There is nothing to change.\n",
    "collectives/interfaces.json": "[]\n",
    "collectives/tests/tests.json": JSON.stringify(testsFile, null, 2),
    [`collectives/tests/official/${file}`]: tests,
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const taskDir = join(dir, "collectives");
  await sealTask(taskDir);
  return await loadTask(taskDir);
}
