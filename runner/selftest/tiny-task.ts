import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type LoadedTask, loadTask } from "../suites/load";
import { sealTask } from "../suites/seal";

/** The one source file that a candidate of the tiny task is to change. */
export const answerPath = "tiny/answer.py";
export const baseAnswer = `"""What each rank answers."""


def answer(rank: int) -> int:
    return 0
`;
/** The honest change; the self-test's control. */
export const honestAnswer = baseAnswer.replace("return 0", "return 42 + rank");

/** The code base, by path. Its tests are older than the task's. */
export const baseFiles: Readonly<Record<string, string>> = {
  "tiny/__init__.py": "",
  [answerPath]: baseAnswer,
  "tests/test_answer.py": "def test_answer():\n    import tiny.answer\n",
};

const officialTest = `import os

from tiny.answer import answer


def test_answer():
    rank = int(os.environ["RANK"])
    assert answer(rank) == 42 + rank


def test_answers_of_others():
    assert [answer(rank) for rank in range(4)] == [42, 43, 44, 45]
`;

const probe = `import os

from tiny.answer import answer


def test_is_a_plain_number():
    assert type(answer(int(os.environ["RANK"]))) is int


def test_large_ranks():
    assert answer(1000) == 1042
`;

const official = ["tests/test_answer.py::test_answer", "tests/test_answer.py::test_answers_of_others"];
const probes = ["probes/test_probe.py::test_large_ranks"];
const passing = ["probes/test_probe.py::test_is_a_plain_number"];

const entryOf = (id: string) => [
  id,
  {
    kind: id.startsWith("probes/") ? "probe" : "official",
    group: id.startsWith("probes/") ? "probes-2" : "official-2",
    property: "value",
    needs: { ranks: 2 },
    requirement: "each rank answers 42 plus its number",
    ...(id.startsWith("probes/")
      ? { condition: "two ranks", limit: { resource: "bytes_sent", unit: "bytes", value: 0 } }
      : {}),
  },
];

const taskToml = `version = "1.0"

[metadata]
name = "The answer of each rank"

[metadata.infradev]
format = "1"
slug = "selftest"
repo = "infradev/tiny"
category = "training"
type = "feature"
base_path = "../base"
base_tree = ""
env_key = "python-stdlib"
gpus_agent = 0
gpus_grade = 0
min_gpu_memory_mb = 0
protected_paths = ["tests/", "conftest.py", "pytest.ini", "setup.cfg", "tox.ini", "pyproject.toml"]

[[metadata.infradev.prompts]]
id = "interface"
file = "instruction.md"
default = true

[[metadata.infradev.groups]]
id = "official-2"
launcher = "ranks"
nproc = 2
isolation = "group"
timeout_sec = 30
test_timeout_sec = 3

[[metadata.infradev.groups]]
id = "probes-2"
launcher = "ranks"
nproc = 2
isolation = "group"
timeout_sec = 30
test_timeout_sec = 3
`;

/** A torch of two meters: what it counts is what was asked of it. Stands in the base, so it is the same everywhere. */
const smallTorch: Readonly<Record<string, string>> = {
  "torch/__init__.py": "from . import cuda\n\n\ndef empty(size):\n    cuda._count(size)\n    return [0] * size\n",
  "torch/cuda.py": `import time

_peak = 0


def _count(size):
    global _peak
    _peak = max(_peak, 4 * size)


def reset_peak_memory_stats(device=None):
    global _peak
    _peak = 0


def max_memory_allocated(device=None):
    return _peak


def memory_stats(device=None):
    return {"allocated_bytes.all.peak": _peak}


def synchronize(device=None):
    pass


class Event:
    def __init__(self, enable_timing=False):
        self._at = 0.0

    def record(self, stream=None):
        self._at = time.perf_counter()

    def elapsed_time(self, end):
        return (end._at - self._at) * 1000
`,
};

const meterProbe = `import torch
from infradev_report import check_resource
from tiny.answer import answer


def test_peak_memory():
    torch.cuda.reset_peak_memory_stats()
    assert answer(7) == 49
    check_resource("peak_memory", torch.cuda.max_memory_allocated(), 1000, "bytes")


def test_memory_by_stats():
    torch.cuda.reset_peak_memory_stats()
    assert answer(7) == 49
    check_resource("peak_memory", torch.cuda.memory_stats()["allocated_bytes.all.peak"], 1000, "bytes")


def test_time():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    assert answer(7) == 49
    end.record()
    torch.cuda.synchronize()
    check_resource("time", start.elapsed_time(end), 20, "ms")
`;
const meterProbes = ["test_peak_memory", "test_memory_by_stats", "test_time"].map(
  (name) => `probes/test_meters.py::${name}`,
);

/**
 * Writes a task of one function and two ranks below `dir`, seals and loads it. With `meters` the base has a small
 * torch, and probes limit the memory and the time that it measures; `gpus` are those that a launch asks for.
 */
export async function writeTinyTask(dir: string, { meters = false, gpus = 0 } = {}): Promise<LoadedTask> {
  const probed = meters ? [...probes, ...meterProbes] : probes;
  const testsFile = {
    FAIL_TO_PASS: [...official, ...probed],
    PASS_TO_PASS: passing,
    tests: Object.fromEntries([...official, ...probed, ...passing].map(entryOf)),
  };
  const files: Record<string, string> = {
    ...Object.fromEntries(
      Object.entries({ ...baseFiles, ...(meters ? smallTorch : {}) }).map(([path, text]) => [`base/${path}`, text]),
    ),
    ...(meters ? { "selftest/tests/probes/test_meters.py": meterProbe } : {}),
    "selftest/task.toml": taskToml.replace("gpus_grade = 0", `gpus_grade = ${gpus}`),
    "selftest/instruction.md": "Make `tiny.answer.answer(rank)` return 42 plus the rank.\n",
    "selftest/interfaces.json": "[]\n",
    "selftest/tests/tests.json": JSON.stringify(testsFile, null, 2),
    "selftest/tests/official/tests/test_answer.py": officialTest,
    "selftest/tests/probes/test_probe.py": probe,
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const taskDir = join(dir, "selftest");
  await sealTask(taskDir);
  return await loadTask(taskDir);
}
