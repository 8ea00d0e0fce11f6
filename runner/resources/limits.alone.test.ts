import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resultSchema } from "@/lib/contract/result";
import { checkResult } from "@/lib/evidence/check-result";
import { checkBwrap } from "../executors/bwrap";
import type { Graded } from "../grading/grade";
import { gradeBelow } from "../grading/testing/tiny-gradings";
import { patchOf, writeTinyTask } from "../grading/testing/tiny-task";
import type { LoadedTask } from "../suites/load";

const sandbox = await checkBwrap().then(
  () => true,
  () => false,
);

const base = {
  "lib/__init__.py": "",
  "lib/core.py": `import time


def send(sock, data):
    raise NotImplementedError


def work():
    time.sleep(0.02)


def hold():
    return None
`,
};
const core = (parts: { send?: string; work?: string; hold?: string }) => `import time


def send(sock, data):
    ${parts.send ?? "sock.sendall(data)"}


def work():
    ${parts.work ?? "time.sleep(0.05)"}


def hold():
    ${parts.hold ?? "return bytearray(1024)"}
`;

const megabyte = 1024 * 1024;
const transport = "tests/test_traffic.py::test_sends_once";
const speed = "tests/test_speed.py::test_is_fast";
const memory = "tests/test_memory.py::test_holds_little";

const files = {
  "tests/test_traffic.py": `import os
import socket

from lib.core import send

DATA = bytes(range(256)) * 4096


def test_sends_once():
    address = ("127.0.0.1", int(os.environ["MASTER_PORT"]))
    if os.environ["RANK"] == "0":
        with socket.create_server(address) as server:
            peer, _ = server.accept()
            received = b""
            while part := peer.recv(1 << 20):
                received += part
        assert received[: len(DATA)] == DATA
        return
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            continue
    with peer:
        send(peer, DATA)
`,
  "tests/test_speed.py": `import time

from lib.core import work


def test_is_fast():
    began = time.perf_counter()
    work()
    assert time.perf_counter() - began < 0.1
`,
  "tests/test_memory.py": `from lib.core import hold


def test_holds_little():
    held = hold()
    assert held is not None
`,
};

let scratch: string;
let task: LoadedTask;
let remove: () => Promise<void>;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-limits-"));
  ({ task, remove } = await writeTinyTask({
    base,
    gold: { "lib/core.py": core({}) },
    tests: files,
    groups: [
      { id: "traffic", nproc: 2, isolation: "test" },
      { id: "speed", nproc: 1, isolation: "test" },
      { id: "memory", nproc: 1, isolation: "test" },
    ],
    ids: {
      [transport]: {
        group: "traffic",
        property: "resource.traffic",
        limit: { resource: "bytes-sent", unit: "bytes", value: 1.1 * megabyte, meter: "transport" },
      },
      [speed]: {
        group: "speed",
        property: "resource.speed",
        limit: { resource: "call-time", unit: "ratio", value: 2, relative_to: "gold", meter: "wall-clock", repeats: 5 },
      },
      [memory]: {
        group: "memory",
        property: "resource.memory",
        limit: { resource: "host-peak", unit: "ratio", value: 1.5, relative_to: "gold", meter: "host-memory" },
      },
    },
  }));
});

afterAll(async () => {
  await remove();
  await rm(scratch, { recursive: true, force: true });
});

async function grade(text: string, executor: "bwrap" | "process" = "bwrap"): Promise<Graded> {
  const graded = await gradeBelow(scratch, task, await patchOf(base, { "lib/core.py": text }), { executor });
  expect(checkResult(graded.result, task.manifest)).toEqual([]);
  return graded;
}

/** What NCCL's Inspector would write for one all-reduce of a thousand bytes; a log by another hand for want of GPUs. */
const profiled = {
  base: { "lib/__init__.py": "", "lib/core.py": "def reduce(log):\n    raise NotImplementedError\n" },
  reduce: (times: number) => `import json
import os


def reduce(log):
    for sn in range(1, ${times} + 1):
        header = {"id": "0x1", "rank": int(os.environ["RANK"]), "n_ranks": 2, "nnodes": 1}
        perf = {"coll": "AllReduce", "coll_sn": sn, "coll_msg_size_bytes": 1000}
        log.write(json.dumps({"header": header, "metadata": {}, "coll_perf": perf}) + "\\n")
`,
  test: `import os

from lib.core import reduce


def test_reduces():
    if "NCCL_PROFILER_PLUGIN" not in os.environ:
        return
    assert os.path.exists(os.environ["NCCL_PROFILER_PLUGIN"])
    folder = os.environ["NCCL_INSPECTOR_DUMP_DIR"]
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/sandbox-pid7.log", "w") as log:
        reduce(log)
`,
};

const testOf = ({ result }: Graded, id: string) => {
  const found = result.tests.find((test) => test.id === id);
  if (found === undefined) throw new Error(`no test ${id}`);
  return found;
};

describe.runIf(sandbox)("limits that the grader decides", () => {
  it("are met by gold, and say what was measured, by whom, and how exactly", async () => {
    const graded = await grade(core({}));
    expect(graded.result.reason).toBeNull();
    expect(graded.result.summary.resolved).toBe(true);
    const [sent] = testOf(graded, transport).resources;
    expect(sent).toMatchObject({ meter: "transport", unit: "bytes", repeats: 1, met: true });
    // Headers, acknowledgements, and what a loaded machine sends again.
    expect(sent?.value).toBeGreaterThanOrEqual(megabyte);
    expect(sent?.value).toBeLessThan(1.03 * megabyte);
    const [time] = testOf(graded, speed).resources;
    expect(time).toMatchObject({
      meter: "wall-clock",
      unit: "ratio",
      repeats: 5,
      relative: { to: "gold", sideUnit: "s" },
    });
    expect(time?.relative?.measured).toBeGreaterThan(0.05);
    expect(time?.spread?.min).toBeLessThanOrEqual(time?.value ?? 0);
    const purposes = graded.result.launches.filter(({ group }) => group === "speed").map(({ purpose }) => purpose);
    expect(purposes).toEqual([undefined, ...Array(5).fill(["reference", "timing"]).flat()]);
    const launch = testOf(graded, transport).ranks[0]?.launch;
    const samples = await readFile(join(graded.payloadDir, `resources/launch-${launch}/loopback.csv`), "utf8");
    expect(samples.split("\n")[0]).toBe("time_ms,received_bytes,received_packets");
  });

  it("fail a change that sends everything twice, is four times slower with a faked clock, or holds more", async () => {
    const graded = await grade(
      core({
        send: "sock.sendall(data); sock.sendall(data)",
        // The test's next reading of its clock gives the time before the work, and puts the real clock back.
        work: "real, began = time.perf_counter, time.perf_counter(); time.sleep(0.2); time.perf_counter = lambda: setattr(time, 'perf_counter', real) or began",
        hold: "return bytearray(b'x') * (150 * 1024 * 1024)",
      }),
    );
    expect(graded.result.status).toBe("completed");
    for (const [id, meter] of [
      [transport, "transport"],
      [speed, "wall-clock"],
      [memory, "host-memory"],
    ] as const) {
      const test = testOf(graded, id);
      expect(test.status, id).toBe("failed");
      expect(test.resources[0]).toMatchObject({ meter, met: false });
      expect(test.label).toMatchObject({ class: "behavioral", type: "resource" });
      const failure = test.ranks.find(({ status }) => status === "failed")?.failure;
      expect(failure?.exceptionType).toBe("infradev.ResourceLimitExceeded");
      expect(failure?.message).toContain("exceeds the limit of");
    }
    expect(testOf(graded, speed).resources[0]?.value).toBeGreaterThan(2.5);
  });

  it("decide nothing where an executor has nothing to measure with", async () => {
    const { result } = await grade(core({}), "process");
    expect(result.status).toBe("infra");
    expect(result.reason?.code).toBe("resource.not-measured");
    expect(result.reason?.evidence.join()).toContain("--executor bwrap");
    expect(result.summary.resolved).toBe(false);
  });

  it("decide nothing where base or gold does not pass the test that compares", async () => {
    const tests = structuredClone(task.testsFile.tests);
    for (const [id, test] of Object.entries(tests)) {
      if (id !== memory) delete test.limit;
      else if (test.limit !== undefined) test.limit.relative_to = "base";
    }
    const relative: LoadedTask = { ...task, testsFile: { ...task.testsFile, tests } };
    const graded = await gradeBelow(scratch, relative, await patchOf(base, { "lib/core.py": core({}) }), {
      executor: "bwrap",
    });
    expect(graded.result.status).toBe("infra");
    expect(graded.result.reason?.evidence.join()).toContain("base on rank 0: failed");
  });

  it("take NCCL's own log where its profiler plugin is found, in launches of their own", async () => {
    const id = "tests/test_nccl.py::test_reduces";
    const made = await writeTinyTask({
      base: profiled.base,
      tests: { "tests/test_nccl.py": profiled.test },
      groups: [{ id: "nccl", nproc: 2, isolation: "test" }],
      ids: {
        [id]: {
          group: "nccl",
          property: "resource.traffic",
          limit: { resource: "reduced", unit: "bytes", value: 2500, meter: "nccl" },
        },
      },
    });
    const plugin = join(scratch, "libnccl-profiler-inspector.so");
    await writeFile(plugin, "");
    process.env.NCCL_PROFILER_PLUGIN = plugin;
    try {
      for (const times of [1, 2]) {
        const { result } = await gradeBelow(
          scratch,
          made.task,
          await patchOf(profiled.base, { "lib/core.py": profiled.reduce(times) }),
          { executor: "bwrap" },
        );
        expect(result.reason).toBeNull();
        expect(result.tests[0]?.status).toBe(times === 1 ? "passed" : "failed");
        expect(result.tests[0]?.resources[0]).toMatchObject({ meter: "nccl", value: 2000 * times, met: times === 1 });
        expect(result.launches.map(({ purpose }) => purpose)).toEqual([undefined, "profile"]);
      }
      delete process.env.NCCL_PROFILER_PLUGIN;
      const without = await gradeBelow(
        scratch,
        made.task,
        await patchOf(profiled.base, { "lib/core.py": profiled.reduce(1) }),
        { executor: "bwrap" },
      );
      expect(without.result.reason?.code).toBe("resource.not-measured");
    } finally {
      delete process.env.NCCL_PROFILER_PLUGIN;
      await made.remove();
    }
  });

  it("let no replay input show that a hidden probe has a profiler", async () => {
    const made = await writeTinyTask({
      base: profiled.base,
      tests: { "probes/test_nccl.py": profiled.test },
      groups: [{ id: "nccl", nproc: 2, isolation: "test" }],
      ids: {
        "probes/test_nccl.py::test_reduces": {
          group: "nccl",
          property: "resource.traffic",
          limit: { resource: "reduced", unit: "bytes", value: 2500, meter: "nccl" },
        },
      },
      probes: "hidden",
    });
    const plugin = join(scratch, "libnccl-profiler-hidden.so");
    await writeFile(plugin, "");
    process.env.NCCL_PROFILER_PLUGIN = plugin;
    try {
      const { result, payloadDir, sealedDir } = await gradeBelow(
        scratch,
        made.task,
        await patchOf(profiled.base, { "lib/core.py": profiled.reduce(1) }),
        { executor: "bwrap" },
      );
      expect(result.summary.resolved).toBe(true);
      expect(await readFile(join(payloadDir, "run.lock.json"), "utf8")).not.toMatch(/PROFILER|INSPECTOR/);
      expect(await readFile(join(sealedDir ?? "", "run.lock.json"), "utf8")).toContain("NCCL_PROFILER_PLUGIN");
    } finally {
      delete process.env.NCCL_PROFILER_PLUGIN;
      await made.remove();
    }
  });

  it("show nothing of what a hidden probe measured, beside its verdict", async () => {
    const id = "probes/test_traffic.py::test_sends_once";
    const made = await writeTinyTask({
      base,
      tests: { "probes/test_traffic.py": files["tests/test_traffic.py"] },
      groups: [{ id: "traffic", nproc: 2, isolation: "test" }],
      ids: {
        [id]: {
          group: "traffic",
          property: "resource.traffic",
          limit: { resource: "bytes-sent", unit: "MiB", value: 1.1, meter: "transport", repeats: 2 },
        },
      },
      probes: "hidden",
    });
    try {
      const gradeOn = async (executor: "bwrap" | "process") =>
        await gradeBelow(scratch, made.task, await patchOf(base, { "lib/core.py": core({}) }), { executor });
      const { result, payloadDir, sealedDir } = await gradeOn("bwrap");
      expect(result.tests[0]?.resources[0]).toMatchObject({ met: true, repeats: 2 });
      expect(result.launches.map(({ purpose }) => purpose)).toEqual([undefined, "profile", "profile"]);
      const shown = resultSchema.parse(JSON.parse(await readFile(join(payloadDir, "result.json"), "utf8")));
      expect(checkResult(shown, made.task.manifest)).toEqual([]);
      expect(shown.summary.resolved).toBe(true);
      expect(shown.tests[0]).toMatchObject({ status: "passed", resources: [] });
      expect(shown.tests[0]?.usage).toBeUndefined();
      for (const launch of shown.launches) expect([launch.usage, launch.purpose]).toEqual([undefined, undefined]);
      expect(existsSync(join(payloadDir, "resources"))).toBe(false);
      expect(existsSync(join(sealedDir ?? "", "resources/launch-0/loopback.csv"))).toBe(true);
      const refused = (await gradeOn("process")).result;
      expect(refused.reason?.code).toBe("resource.not-measured");
      expect(JSON.stringify(refused.reason)).not.toMatch(/network|bytes|transport/);
    } finally {
      await made.remove();
    }
  });
});
