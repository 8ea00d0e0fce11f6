import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Result, runLockSchema } from "@/lib/contract/result";
import { manifestSchema } from "@/lib/contract/task";
import { checkResult } from "@/lib/evidence/check-result";
import { discoverGpus } from "../gpus/discover";
import type { GpuGrant } from "../gpus/grant";
import { GpuPool } from "../gpus/pool";
import { Quarantine } from "../gpus/quarantine";
import type { LoadedTask } from "../suites/load";
import { type FakeGpu, FakeNvidiaSmi } from "../testing/fake-nvidia-smi";
import type { Graded, GradeInput } from "./grade";
import { gradeBelow, tinyBase, tinyExecutor } from "./testing/tiny-gradings";
import { patchOf, writeTinyTask } from "./testing/tiny-task";

const goldCore = "def value():\n    return 1\n";
const valueId = "tests/test_core.py::test_value";
const pairId = "tests/test_core.py::test_pair";
const valueTest = "from lib.core import value\n\n\ndef test_value():\n    assert value() == 1\n";

let scratch: string;
let gpus: FakeGpu[];
let fake: FakeNvidiaSmi;
let quarantine: Quarantine;
let pool: GpuPool;
const removals: (() => Promise<void>)[] = [];
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-gpu-host-"));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});
beforeEach(async () => {
  gpus = [0, 1, 2].map((minor) => ({ uuid: `GPU-${minor}-${randomUUID()}`, minor }));
  fake = await FakeNvidiaSmi.install({ gpus });
  removals.push(() => fake.remove());
  quarantine = new Quarantine(join(fake.dir, "state"));
  pool = new GpuPool({ what: "test", discover, quarantine, pollMs: 50 });
});
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

const discover = () => discoverGpus(fake.options);

/** A task of one file on two ranks; `gpusGrade` and what a test needs are those of a task for GPUs. */
async function tiny(source: string, gpusGrade: number, needs: Record<string, number> = {}): Promise<LoadedTask> {
  const ids = [valueId, ...(source.includes("test_pair") ? [pairId] : [])];
  const { task, remove } = await writeTinyTask({
    base: tinyBase,
    gold: { "lib/core.py": goldCore },
    tests: { "tests/test_core.py": source },
    groups: [{ id: "official", nproc: 2 }],
    ids: Object.fromEntries(ids.map((id) => [id, { group: "official" }])),
  });
  removals.push(remove);
  const { manifest } = task;
  const tests = manifest.tests.map((test) => ({ ...test, needs: { ...test.needs, gpus: needs[test.id] ?? 0 } }));
  return { ...task, manifest: { ...manifest, task: { ...manifest.task, gpusGrade }, tests } };
}

async function grade(task: LoadedTask, core: string, more: Partial<GradeInput> = {}): Promise<Graded> {
  const graded = await gradeBelow(scratch, task, await patchOf(tinyBase, { "lib/core.py": core }), {
    ...more,
    hostWatch: { discover, quarantine, kernelLog: async () => null, settleLimitMs: 300, ...more.hostWatch },
  });
  const written = manifestSchema.parse(JSON.parse(await readFile(join(graded.payloadDir, "manifest.json"), "utf8")));
  expect(checkResult(graded.result, written)).toEqual([]);
  return graded;
}

async function withGpus<T>(count: number, work: (grant: GpuGrant) => Promise<T>): Promise<T> {
  const grant = await pool.acquire(count);
  try {
    return await work(grant);
  } finally {
    await grant.release();
  }
}

const statusOf = (result: Result, id: string) => result.tests.find((test) => test.id === id)?.status;

describe("a launch with GPUs", () => {
  it("sees the granted ones and no other, and its lock tells what it was told", async () => {
    const dev = join(fake.dir, "dev");
    const isolated = tinyExecutor === "bwrap";
    const source = `import os
from lib.core import value


def test_value():
    assert value() == 1
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "${gpus[0]?.uuid},${gpus[1]?.uuid}"
    assert os.environ["NCCL_NVLS_ENABLE"] == "0"
    assert os.environ["TRITON_CACHE_DIR"].startswith(os.environ["TMPDIR"])
    seen = [name for name in ("nvidia0", "nvidia1", "nvidia2") if os.path.exists("${dev}/" + name)]
    assert seen == ${isolated ? '["nvidia0", "nvidia1"]' : '["nvidia0", "nvidia1", "nvidia2"]'}
    shm = os.statvfs("/dev/shm")
    assert not ${isolated ? "True" : "False"} or shm.f_blocks * shm.f_frsize == 256 * 1024 * 1024
`;
    const task = await tiny(source, 2, { [valueId]: 2 });
    await withGpus(2, async (grant) => {
      const { result, payloadDir } = await grade(task, goldCore, { gpus: grant });
      expect(statusOf(result, valueId), JSON.stringify(result.tests[0]?.ranks[0]?.failure)).toBe("passed");
      expect(result.launches.map((launch) => launch.gpus)).toEqual([[...grant.uuids]]);
      const lock = runLockSchema.parse(JSON.parse(await readFile(join(payloadDir, "run.lock.json"), "utf8")));
      expect(lock.launches[0]?.env).toMatchObject({
        CUDA_VISIBLE_DEVICES: grant.uuids.join(","),
        CUDA_DEVICE_ORDER: "PCI_BUS_ID",
        NCCL_NVLS_ENABLE: "0",
      });
      expect(lock.limits.shmMb).toBe(256);
    });
  });

  it("without any sees none", async () => {
    const source = `import glob
import os
from lib.core import value


def test_value():
    assert value() == 1 and os.environ["CUDA_VISIBLE_DEVICES"] == ""
    assert ${tinyExecutor === "bwrap" ? 'glob.glob("/dev/nvidia*") == []' : "True"}
`;
    const { result } = await grade(await tiny(source, 0), goldCore);
    expect(result.summary.resolved).toBe(true);
    expect(result.launches[0]?.gpus).toBeUndefined();
  });

  it("with fewer than its task asks for neither runs nor requires what needs more", async () => {
    const source = `${valueTest}\n\ndef test_pair():\n    assert False, "never launched"\n`;
    const task = await tiny(source, 2, { [pairId]: 2 });
    await withGpus(1, async (grant) => {
      const { result } = await grade(task, goldCore, { gpus: grant });
      expect(result.summary).toMatchObject({ requiredTotal: 1, requiredPassed: 1, resolved: true });
      expect(result.tests.find(({ id }) => id === pairId)).toMatchObject({ required: false, status: "not-run" });
    });
  });

  it("sees no more than its task asks for", async () => {
    const task = await tiny(valueTest, 1, { [valueId]: 1 });
    await withGpus(3, async (grant) => {
      const { result } = await grade(task, goldCore, { gpus: grant });
      expect(result.launches[0]?.gpus).toEqual(grant.uuids.slice(0, 1));
    });
  });
});

describe("a fault that the host shows", () => {
  /** Grades gold on one GPU, with another answer of the driver from the launch on. */
  async function fault(change: (gpu: FakeGpu) => FakeGpu | null): Promise<Result> {
    const task = await tiny(valueTest, 1, { [valueId]: 1 });
    return await withGpus(1, async (grant) => {
      let asked = 0;
      const { result } = await grade(task, goldCore, {
        gpus: grant,
        hostWatch: {
          discover: async () => {
            asked += 1;
            if (asked === 2) await fake.answer({ gpus: gpus.flatMap((gpu) => change(gpu) ?? []) });
            return await discover();
          },
        },
      });
      return result;
    });
  }
  const first = (changed: Partial<FakeGpu>) => (gpu: FakeGpu) => (gpu.minor === 0 ? { ...gpu, ...changed } : gpu);

  it.each<[string, (gpu: FakeGpu) => FakeGpu | null, string]>([
    ["a lost GPU", (gpu) => (gpu.minor === 0 ? null : gpu), "unreadable"],
    ["uncorrected ECC errors", first({ eccUncorrected: 1 }), "ecc-uncorrected"],
    ["memory that does not come back", first({ usedMb: 4000 }), "leftover-memory"],
  ])("makes the grading the host's, and quarantines the GPU: %s", async (_what, change, code) => {
    const result = await fault(change);
    expect(result.status).toBe("infra");
    expect(result.reason?.code).toBe(
      { unreadable: "host.gpu-lost", "ecc-uncorrected": "host.gpu-ecc", "leftover-memory": "host.gpu-not-free" }[code],
    );
    expect(result.reason?.evidence.join("\n")).toContain(gpus[0]?.uuid);
    expect((await quarantine.list()).map((entry) => [entry.uuid, entry.code])).toEqual([[gpus[0]?.uuid, code]]);
  });

  it("ends the grading before anything is launched where it stands there already", async () => {
    const { result } = await grade(await tiny(valueTest, 0), goldCore, {
      hostWatch: { freeBytes: async () => 1024 },
    });
    expect(result).toMatchObject({ status: "infra", reason: { code: "host.disk-full" }, launches: [] });
    const task = await tiny(valueTest, 1, { [valueId]: 1 });
    await withGpus(1, async (gpu) => {
      await fake.answer({ stdout: "Failed to initialize NVML: Driver/library version mismatch\n", code: 18 });
      const mismatch = await grade(task, goldCore, { gpus: gpu });
      expect(mismatch.result).toMatchObject({
        status: "infra",
        reason: { code: "host.driver-mismatch" },
        launches: [],
      });
    });
  });

  it("is told by the kernel's log, for the GPUs that were granted", async () => {
    const task = await tiny(valueTest, 1, { [valueId]: 1 });
    const line = (bus: string) => `[ 99.1] NVRM: Xid (PCI:${bus}): 79, GPU has fallen off the bus.`;
    const run = async (bus: string) => {
      let read = 0;
      const kernelLog = async () => (read++ === 0 ? "" : line(bus));
      return await withGpus(
        1,
        async (gpu) => (await grade(task, goldCore, { gpus: gpu, hostWatch: { kernelLog } })).result,
      );
    };
    expect(await run("0000:1b:00")).toMatchObject({ status: "infra", reason: { code: "host.gpu-error" } });
    expect((await run("0000:5e:00")).status).toBe("completed");
  });
});

describe("a failure that only says that it is the host's", () => {
  it.each([
    [
      "prints and raises it",
      'def value():\n    print("CUDA error: device lost")\n    raise RuntimeError("CUDA error: device lost")\n',
    ],
    ["raises ENOSPC", 'def value():\n    raise OSError(28, "No space left on device")\n'],
    ["dies by SIGBUS", "import os\nimport signal\n\n\ndef value():\n    os.kill(os.getpid(), signal.SIGBUS)\n"],
  ])("stays the candidate's where gold passes right after: %s", async (_what, core) => {
    const { result } = await grade(await tiny(valueTest, 0), core);
    expect(result.status).toBe("completed");
    expect(["error", "crashed"]).toContain(statusOf(result, valueId));
    expect(result.launches.map(({ purpose }) => purpose)).toEqual([undefined, "reference"]);
  });

  it.runIf(tinyExecutor === "bwrap").each(["/tmp", "/dev/shm"])(
    "stays the candidate's where it fills what is the launch's own: %s",
    async (folder) => {
      const write = `file.write(b"0" * (1 << 20))`;
      const core = `def value():\n    with open("${folder}/much", "wb") as file:\n        while True:\n            ${write}\n`;
      const { result } = await grade(await tiny(valueTest, 0), core);
      expect(result.status).toBe("completed");
      expect(["error", "crashed"]).toContain(statusOf(result, valueId));
    },
  );

  it("is the host's where gold fails as well", async () => {
    const source =
      'from lib.core import value\n\n\ndef test_value():\n    value()\n    with open("/dev/full", "w") as file:\n        file.write("x")\n';
    const { result } = await grade(await tiny(source, 0), "def value():\n    return 2\n");
    expect(result).toMatchObject({ status: "infra", reason: { code: "host.control-failed" } });
    expect(result.reason?.evidence).toEqual([
      expect.stringMatching(/candidate: .*No space left on device/),
      expect.stringMatching(/gold: .*No space left on device/),
    ]);
  });

  it("costs no control run where it is an assertion or any other exception", async () => {
    for (const core of [
      "def value():\n    return 2\n",
      'def value():\n    raise RuntimeError("CUDA out of memory")\n',
    ]) {
      const { result } = await grade(await tiny(valueTest, 0), core);
      expect(result.status).toBe("completed");
      expect(result.launches).toHaveLength(1);
    }
  });
});
