import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkResult } from "@/lib/evidence/check-result";
import { discoverGpus } from "../gpus/discover";
import { GpuPool } from "../gpus/pool";
import { Quarantine } from "../gpus/quarantine";
import type { Graded } from "../grading/grade";
import { gradeBelow } from "../grading/testing/tiny-gradings";
import { patchOf, writeTinyTask } from "../grading/testing/tiny-task";
import type { LoadedTask } from "../suites/load";
import { FakeNvidiaSmi, fakeGpus } from "../testing/fake-nvidia-smi";
import { compiler, FakeNvml } from "./testing/fake-nvml";

const memoryId = "tests/test_memory.py::test_holds";
const linkId = "tests/test_links.py::test_sends";
const held = 100;
const base = {
  "lib/__init__.py": "",
  "torch.py": `class cuda:
    is_initialized = staticmethod(lambda: True)
    reset_peak_memory_stats = staticmethod(lambda: None)
    max_memory_allocated = staticmethod(lambda: 5 << 20)
    max_memory_reserved = staticmethod(lambda: 8 << 20)
`,
  "lib/core.py": "def hold(): raise NotImplementedError\ndef send(): raise NotImplementedError\n",
};

let scratch: string;
let nvml: FakeNvml;
let smi: FakeNvidiaSmi;
let pool: GpuPool;
let quarantine: Quarantine;
let task: LoadedTask;
let remove: () => Promise<void>;
const [gpu] = fakeGpus(1);
const uuid = gpu?.uuid ?? "";
const libraries = process.env.LD_LIBRARY_PATH;
const discover = () => discoverGpus(smi.options);

/** A candidate without a sandbox that is its own driver: what it writes is what NVML answers the sampler. */
const core = (hold: string, send = "driver(sent=100)") => `import os
import signal
import time

import torch


def driver(used=${held}, code=0, sent=0):
    state = "${nvml.state}"
    with open(state + ".mine", "w") as file:
        file.write(f"${uuid} {code} {used << 20} 1 {sent} {sent} 0\\n")
    os.replace(state + ".mine", state)


def kill_sampler():
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline") as file:
                arguments = file.read().split("\\0")
        except OSError:
            continue
        if "${uuid}" in arguments and any(part.endswith("infradev_meters.py") for part in arguments):
            os.kill(int(entry), signal.SIGKILL)


def hold():
    ${hold}
    driver()


def send():
    ${send}
    time.sleep(0.15)
`;
const holding = (mebibytes: number) => `driver(used=${held} + ${mebibytes}); time.sleep(0.3)`;

async function grade(text: string): Promise<Graded> {
  const grant = await pool.acquire(1);
  try {
    const graded = await gradeBelow(scratch, task, await patchOf(base, { "lib/core.py": text }), {
      executor: "process",
      gpus: grant,
      hostWatch: { discover, quarantine, kernelLog: async () => null, settleLimitMs: 300 },
    });
    expect(checkResult(graded.result, task.manifest)).toEqual([]);
    return graded;
  } finally {
    await grant.release();
  }
}

const testOf = ({ result }: Graded, id: string) => result.tests.find((test) => test.id === id);

describe.runIf(compiler !== undefined && existsSync("/proc/self/stat"))("limits on a GPU", () => {
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "infradev-gpu-limits-"));
    nvml = await FakeNvml.build(scratch);
    smi = await FakeNvidiaSmi.install({ gpus: fakeGpus(1) });
    quarantine = new Quarantine(join(scratch, "quarantine"));
    pool = new GpuPool({ what: "test", discover, quarantine, pollMs: 50 });
    process.env.LD_LIBRARY_PATH = scratch;
    const made = await writeTinyTask({
      base,
      tests: {
        "tests/test_memory.py": "from lib.core import hold\n\n\ndef test_holds():\n    hold()\n",
        "tests/test_links.py": "from lib.core import send\n\n\ndef test_sends():\n    send()\n",
      },
      groups: [
        { id: "memory", nproc: 1, isolation: "test" },
        { id: "links", nproc: 1, isolation: "test" },
      ],
      ids: {
        [memoryId]: {
          group: "memory",
          property: "resource.memory",
          limit: { resource: "peak", unit: "MiB", value: 500, meter: "gpu-memory" },
        },
        [linkId]: {
          group: "links",
          property: "resource.traffic",
          limit: { resource: "sent", unit: "KiB", value: 250, meter: "nvlink" },
        },
      },
    });
    remove = made.remove;
    const { manifest } = made.task;
    const tests = manifest.tests.map((test) => ({ ...test, needs: { ...test.needs, gpus: 1 } }));
    task = { ...made.task, manifest: { ...manifest, task: { ...manifest.task, gpusGrade: 1 }, tests } };
  });

  beforeEach(async () => {
    await nvml.answer({ uuid, usedMib: held });
  });

  afterAll(async () => {
    if (libraries === undefined) delete process.env.LD_LIBRARY_PATH;
    else process.env.LD_LIBRARY_PATH = libraries;
    await remove();
    await smi.remove();
    await rm(scratch, { recursive: true, force: true });
  });

  it("are met by what was held and sent during the call, with the samples behind it", async () => {
    const graded = await grade(core(holding(400)));
    expect(graded.result.reason).toBeNull();
    expect(graded.result.summary.resolved).toBe(true);
    expect(testOf(graded, memoryId)).toMatchObject({
      resources: [{ meter: "gpu-memory", value: 400, unit: "MiB", met: true, rank: 0 }],
      usage: { gpuPeakMib: 400, allocatorPeakMib: 8 },
    });
    expect(testOf(graded, linkId)?.resources).toMatchObject([{ meter: "nvlink", value: 100, unit: "KiB", met: true }]);
    const launch = testOf(graded, memoryId)?.ranks[0]?.launch;
    const samples = await readFile(join(graded.payloadDir, `resources/launch-${launch}/gpu-0.csv`), "utf8");
    expect(samples).toContain(`,${held + 400},`);
    expect(graded.result.launches[0]?.usage?.gpuPeakMib).toBe(400);
  });

  it("are missed by what holds or sends more", async () => {
    const graded = await grade(core(holding(800), "driver(sent=300)"));
    expect(testOf(graded, memoryId)).toMatchObject({ status: "failed", resources: [{ value: 800, met: false }] });
    expect(testOf(graded, linkId)).toMatchObject({ status: "failed", resources: [{ value: 300, met: false }] });
    expect(testOf(graded, memoryId)?.ranks[0]?.failure?.exceptionType).toBe("infradev.ResourceLimitExceeded");
    expect(graded.result.status).toBe("completed");
  });

  it("outlive one kill of the sampler", async () => {
    const graded = await grade(core(`kill_sampler(); ${holding(400)}`));
    expect(graded.result.summary.resolved).toBe(true);
    expect(testOf(graded, memoryId)?.resources[0]?.value).toBe(400);
  });

  it("decide nothing where the sampler is kept from measuring, or the GPU is lost", async () => {
    const starved = "[(kill_sampler(), time.sleep(0.02)) for _ in range(100)]";
    const lost = "driver(code=15); time.sleep(0.3)";
    for (const [hold, note] of [
      [`driver(used=5000); ${starved}`, "lost"],
      [lost, "was lost to NVML"],
    ] as const) {
      await nvml.answer({ uuid, usedMib: held });
      const { result } = await grade(core(hold));
      expect(result.status, hold).toBe("infra");
      expect(result.reason?.evidence.join("\n")).toContain(note);
      expect(result.summary.resolved).toBe(false);
    }
  });
});
