import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { z } from "zod";
import type { Result } from "@/lib/contract/result";
import type { resourceLimitSchema } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import { processOwner } from "../processes/owner";
import { type LoadedTask, loadTask } from "../suites/load";
import { readReferencePatch, referenceCandidate } from "../suites/reference";
import { sealTask } from "../suites/seal";
import { runnerVersion } from "../version";

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

/** A patch that changes nothing that a test looks at. */
const harmlessPatch = `diff --git a/ranks/note.py b/ranks/note.py
new file mode 100644
--- /dev/null
+++ b/ranks/note.py
@@ -0,0 +1 @@
+"""Nothing."""
`;

const file = "tests/test_ranks.py";
/** The id of a known task's test by its function's name. */
export const idOf = (name: string): string => `${file}::${name}`;

/** A limit as `tests.json` states it. */
export type StatedLimit = z.input<typeof resourceLimitSchema>;

export type KnownTask = {
  slug: string;
  gpus: number;
  /** Size of the launches' own /dev/shm; as much as their memory by default. */
  shmMb?: number;
  /** What stands in the tests' file; it may import `ranks.group`. */
  source: string;
  groups: readonly { id: string; testTimeoutSec: number; env?: Readonly<Record<string, string>> }[];
  /** Tests by their function's name. */
  tests: Readonly<Record<string, { group: string; needsGpus?: number; limit?: StatedLimit }>>;
  /** Whether a reference patch stands there, by which failures that look like the host's are controlled. */
  withGold?: boolean;
};

const groupToml = ({ id, testTimeoutSec, env = {} }: KnownTask["groups"][number]): string => `
[[metadata.infradev.groups]]
id = "${id}"
launcher = "torchrun"
nproc = 2
isolation = "test"
timeout_sec = 400
test_timeout_sec = ${testTimeoutSec}
env = { ${Object.entries(env)
  .map(([name, value]) => `${name} = "${value}"`)
  .join(", ")} }
`;

const taskToml = ({ slug, gpus, shmMb, groups }: KnownTask): string => `version = "1.0"

[metadata]
name = "Two ranks that do known things"

[environment]
memory_mb = 32768
${shmMb === undefined ? "" : `shm_mb = ${shmMb}\n`}
[metadata.infradev]
format = "1"
slug = "${slug}"
repo = "infradev/${slug}"
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
${groups.map(groupToml).join("")}`;

/**
 * Writes a task below `dir` whose two ranks do known things, one launch a test. It has nothing to solve: what the grader
 * says of each test is compared with what the test does.
 */
export async function writeKnownTask(dir: string, known: KnownTask): Promise<LoadedTask> {
  const entryOf = ([name, { group, needsGpus = 0, limit }]: [string, KnownTask["tests"][string]]) => {
    const needs = { ranks: 2, gpus: needsGpus };
    const requirement = "says what the rank does";
    return [idOf(name), { kind: "official", group, property: "value", needs, requirement, ...(limit && { limit }) }];
  };
  const testsFile = {
    FAIL_TO_PASS: [],
    PASS_TO_PASS: Object.keys(known.tests).map(idOf),
    tests: Object.fromEntries(Object.entries(known.tests).map(entryOf)),
  };
  const { slug } = known;
  const files: Record<string, string> = {
    "base/ranks/__init__.py": "",
    "base/ranks/group.py": program,
    [`${slug}/task.toml`]: taskToml(known),
    [`${slug}/instruction.md`]: "There is nothing to change.\n",
    [`${slug}/interfaces.json`]: "[]\n",
    [`${slug}/tests/tests.json`]: JSON.stringify(testsFile, null, 2),
    [`${slug}/tests/official/${file}`]: known.source,
    ...(known.withGold ? { [`${slug}/solution/gold.patch`]: harmlessPatch } : {}),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const taskDir = join(dir, slug);
  await sealTask(taskDir);
  return await loadTask(taskDir);
}

export type KnownGrading = {
  executor: RunnerExecutor;
  python: PythonRuntime;
  gpus: GpuGrant | null;
  signal: AbortSignal;
  onTest?: (id: string, status: OutcomeStatus) => void;
};

/** Grades the base of a known task as it is. */
export async function gradeKnownTask(
  { executor, python, gpus, signal, onTest }: KnownGrading,
  known: KnownTask,
): Promise<Result> {
  const work = await mkdtemp(join(tmpdir(), `infradev-known-${processOwner}-`));
  try {
    const task = await writeKnownTask(join(work, "task"), known);
    const { result } = await gradeTask({
      task,
      suite: task.suite,
      patch: await readReferencePatch(task, "nop"),
      candidate: referenceCandidate("nop"),
      gradingId: randomUUID(),
      attemptId: null,
      lease: null,
      executor,
      gpus,
      python,
      workDir: join(work, "grading"),
      signal,
      runnerVersion,
      onProgress: (event) => {
        if (event.type === "test") onTest?.(event.id, event.status);
      },
    });
    signal.throwIfAborted();
    return result;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
