import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { idOf, oneFile, outcomeOf, ranksOf, statusesOf, TinyGradings, tinyBase } from "./testing/tiny-gradings";

// Ways in which other graders of tests over several processes report what did not happen.

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

import pytest

RANK = int(os.environ.get("RANK", "0"))


`;

describe("a rank's own end", () => {
  it("counts where it aborts while rank 0 reports that everything passed, and ends with code 0", async () => {
    const source = `${head}def test_a_sum():
    if RANK == 1:
        os.abort()


def test_after():
    pass
`;
    const task = await tiny.task(oneFile(source, ["a_sum", "after"]));
    const { result } = await tiny.grade(task, null);
    expect(ranksOf(result, "test_a_sum")).toEqual(["passed", "crashed"]);
    expect(outcomeOf(result, "test_a_sum").ranks[1]?.failure?.message).toContain("SIGABRT");
    expect(statusesOf(result)).toEqual(["crashed", "passed"]);
  });

  it("is a crash in teardown where it comes there, after the test's body passed", async () => {
    const source = `${head}@pytest.fixture
def group():
    yield
    if RANK == 1:
        os._exit(0)


def test_a_body(group):
    pass


def test_after():
    pass
`;
    const task = await tiny.task(oneFile(source, ["a_body", "after"]));
    const { result } = await tiny.grade(task, null);
    expect(ranksOf(result, "test_a_body")).toEqual(["passed", "crashed"]);
    expect(outcomeOf(result, "test_a_body").ranks[1]?.failure?.phase).toBe("teardown");
    expect(statusesOf(result)).toEqual(["crashed", "passed"]);
  });

  it("does not lose the traceback of another rank behind the collective in which it waits", async () => {
    const source = `${head}import socket

ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def test_a_reduce():
    if RANK == 1:
        raise ValueError("the shard has no such key")
    with socket.create_server(ADDRESS) as server:
        server.accept()


def test_after():
    if RANK == 0:
        with socket.create_server(ADDRESS) as server:
            connection, _ = server.accept()
            connection.sendall(b"x")
            connection.close()
    else:
        for _ in range(200):
            try:
                assert socket.create_connection(ADDRESS, timeout=5).recv(1) == b"x"
                return
            except ConnectionRefusedError:
                time.sleep(0.05)
        raise AssertionError("nobody listened")
`;
    const task = await tiny.task(oneFile(source, ["a_reduce", "after"], { testTimeoutSec: 3 }));
    const { result } = await tiny.grade(task, null);
    const outcome = outcomeOf(result, "test_a_reduce");
    expect(outcome).toMatchObject({ status: "error", rootRank: 1 });
    expect(outcome.ranks[1]?.failure).toMatchObject({ exceptionType: "ValueError", secondaryOf: null });
    expect(outcome.ranks[0]).toMatchObject({ status: "hung", failure: { secondaryOf: 1 } });
    expect(outcome.ranks[0]?.failure?.evidence?.map(({ kind }) => kind)).toEqual(["stack-dump"]);
    // The stalled rank took neither the next test's result nor its port.
    expect(ranksOf(result, "test_after")).toEqual(["passed", "passed"]);
    expect(result.launches.map(({ killed }) => killed)).toEqual(["test-timeout", null]);
  });
});

describe("a failure before a teardown in which the ranks meet", () => {
  const meeting = (body: string) => `${head}import socket

ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


@pytest.fixture
def group():
    yield
    if RANK == 1:
        ${body}


def test_a_value(group):
    assert RANK == 0, "rank 1 read what nobody wrote"
    with socket.create_server(ADDRESS) as server:
        server.accept()
`;

  it("is the cause of the wait in it, and of the other rank's", async () => {
    const task = await tiny.task(oneFile(meeting("time.sleep(60)"), ["a_value"], { testTimeoutSec: 3 }));
    const { result } = await tiny.grade(task, null);
    const outcome = outcomeOf(result, "test_a_value");
    expect(outcome).toMatchObject({ status: "failed", rootRank: 1 });
    expect(outcome.ranks[1]?.failure).toMatchObject({ phase: "call", secondaryOf: null });
    expect(outcome.ranks[1]?.failure?.message).toContain("rank 1 read what nobody wrote");
    expect(outcome.ranks[0]).toMatchObject({ status: "hung", failure: { secondaryOf: 1 } });
    expect(result.launches.map(({ killed }) => killed)).toEqual(["test-timeout"]);
  });

  it("stays what it was where the rank dies there", async () => {
    const task = await tiny.task(oneFile(meeting("os.abort()"), ["a_value"], { testTimeoutSec: 3 }));
    const { result } = await tiny.grade(task, null);
    const outcome = outcomeOf(result, "test_a_value");
    expect(outcome).toMatchObject({ status: "failed", rootRank: 1 });
    expect(outcome.ranks[1]).toMatchObject({ status: "failed", failure: { phase: "call" } });
    expect(outcome.ranks[0]).toMatchObject({ status: "hung", failure: { secondaryOf: 1 } });
  });
});

describe("a launcher", () => {
  it("that the candidate ends in each of many tests is never the host's fault", async () => {
    const names = ["one", "two", "three", "four", "five"];
    const source = names
      .map((name) => `from lib.core import value\n\n\ndef test_${name}():\n    value()\n`)
      .join("\n\n");
    const task = await tiny.task(oneFile(source, names, { nproc: 1 }));
    const { result } = await tiny.grade(
      task,
      "import os\nimport time\n\n\ndef value():\n    os.kill(os.getppid(), 9)\n    time.sleep(9)\n",
    );
    expect(result.status).toBe("completed");
    expect(statusesOf(result)).toEqual(names.map(() => "crashed"));
  });

  it("that the candidate ends in launches that measure is no fault of the host's either", async () => {
    const source = "from lib.core import value\n\n\ndef test_one():\n    value(1)\n\n\ndef test_two():\n    value(2)\n";
    const spec = oneFile(source, ["one", "two"], { nproc: 1 });
    const limit = { resource: "memory", unit: "MiB", value: 100_000, meter: "host-memory" as const, repeats: 2 };
    const task = await tiny.task({
      ...spec,
      ids: { ...spec.ids, [idOf("two")]: { group: "official", property: "resource.memory", limit } },
    });
    // Alone, as it is measured, the second test finds no first one before it.
    const core = `import os
import time

seen = []


def value(number):
    if number == 2 and not seen:
        os.kill(os.getppid(), 9)
        time.sleep(9)
    seen.append(number)
`;
    const { result } = await tiny.grade(task, core);
    expect(result.reason).toBeNull();
    expect(statusesOf(result)).toEqual(["passed", "crashed"]);
  });
});

describe("what was finished", () => {
  it("stands where one rank stalls later, and only the rest is launched again", async () => {
    const source = `${head}def test_first():
    print("ran first")


def test_second():
    while RANK == 1:
        time.sleep(0.1)


def test_third():
    pass
`;
    const task = await tiny.task(oneFile(source, ["first", "second", "third"], { testTimeoutSec: 2 }));
    const { result } = await tiny.grade(task, null);
    expect(statusesOf(result)).toEqual(["passed", "hung", "passed"]);
    expect(result.launches.map(({ tests }) => tests.length)).toEqual([3, 1]);
    expect(outcomeOf(result, "test_first").ranks.map(({ launch }) => launch)).toEqual([0, 0]);
  });

  it("keeps a test over its limit hung, whatever its processes do when they are ended", async () => {
    const source = `${head}import signal
import subprocess


def test_stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(300)"], env={})
    try:
        time.sleep(300)
    finally:
        raise RuntimeError("the teardown failed")
`;
    const task = await tiny.task(oneFile(source, ["stubborn"], { testTimeoutSec: 2 }));
    const { result } = await tiny.grade(task, null);
    expect(result.status).toBe("completed");
    expect(ranksOf(result, "test_stubborn")).toEqual(["hung", "hung"]);
  });
});

describe("a test that nothing ran", () => {
  it("is not-run where a conftest turns pytest's code 5 into 0", async () => {
    const conftest = "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n";
    const task = await tiny.task({
      base: { ...tinyBase, "tests/conftest.py": conftest },
      tests: {
        "tests/test_core.py": "import lib.core\n\nif lib.core.value():\n\n    def test_there():\n        pass\n",
      },
      groups: [{ id: "official" }],
      ids: { [idOf("there")]: { group: "official" } },
    });
    const { result } = await tiny.grade(task, null);
    expect(statusesOf(result)).toEqual(["not-run"]);
    expect(result.launches[0]?.exits.map(({ code }) => code)).toEqual([0, 0]);
  });

  it("is not-run where a rank collects other tests, and an error where one cannot collect", async () => {
    const source = `${head}if RANK == 0:

    def test_lonely():
        pass


def test_shared():
    pass
`;
    const broken = `${head}if RANK == 1:
    import no_such_module


def test_all():
    pass
`;
    const task = await tiny.task({
      tests: { "tests/test_core.py": source, "tests/test_broken.py": broken },
      groups: [{ id: "official", isolation: "file" }],
      ids: {
        [idOf("lonely")]: { group: "official" },
        [idOf("shared")]: { group: "official" },
        "tests/test_broken.py::test_all": { group: "official" },
      },
    });
    const { result } = await tiny.grade(task, null);
    expect(ranksOf(result, "test_lonely")).toEqual(["passed", "not-run"]);
    expect(outcomeOf(result, "test_lonely").status).toBe("not-run");
    expect(outcomeOf(result, "test_shared").status).toBe("passed");
    expect(outcomeOf(result, "test_all")).toMatchObject({ status: "error", rootRank: 1 });
    expect(outcomeOf(result, "test_all").ranks[1]?.failure).toMatchObject({
      phase: "collect",
      exceptionType: "ModuleNotFoundError",
    });
  });

  it("has not passed by a child process that skips, ends in the middle or never comes to its function", async () => {
    const source = `${head}import functools
import multiprocessing

fork = multiprocessing.get_context("fork")
spawn = multiprocessing.get_context("spawn")


class Unreadable:
    def __reduce__(self):
        return (int, ("no number",))


def works(*_):
    pass


def skips():
    pytest.skip("no device")


def leaves():
    sys.exit(0)


def dies():
    os._exit(0)


def fails():
    raise ValueError("seen by the test")


def join(process):
    process.start()
    process.join()
    return process.exitcode


def test_works():
    assert join(fork.Process(target=works)) == 0
    assert join(spawn.Process(target=functools.partial(works, 1))) == 0


def test_skips():
    join(fork.Process(target=skips))


def test_leaves():
    assert join(spawn.Process(target=leaves)) == 0


def test_dies():
    assert join(fork.Process(target=dies)) == 0


def test_never_runs():
    join(spawn.Process(target=works, args=(Unreadable(),)))


def test_expects_failure():
    assert join(fork.Process(target=fails)) == 1
`;
    const names = ["works", "skips", "leaves", "dies", "never_runs", "expects_failure"];
    const task = await tiny.task(oneFile(source, names, { launcher: "pytest", nproc: 1 }));
    const { result } = await tiny.grade(task, null);
    expect(Object.fromEntries(names.map((name) => [name, outcomeOf(result, `test_${name}`).status]))).toEqual({
      works: "passed",
      skips: "skipped",
      leaves: "error",
      dies: "error",
      never_runs: "error",
      expects_failure: "passed",
    });
    const message = (name: string) => outcomeOf(result, name).ranks[0]?.failure?.message;
    expect(message("test_skips")).toContain("no device");
    expect(message("test_dies")).toContain("ended with code 0 before dies returned");
    expect(message("test_never_runs")).toContain("before it began works");
  });
});

describe("an exception", () => {
  it("is the one that explains the most: of a group, below a pool, before a cause", async () => {
    const source = `${head}import concurrent.futures
import multiprocessing


def load(key):
    raise KeyError(key)


def test_group():
    raise ExceptionGroup("ranks", [ConnectionError("peer lost"), ExceptionGroup("inner", [KeyError("w.0")])])


def test_pool():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(load, "w.1").result()


def test_cause():
    try:
        load("w.2")
    except KeyError as error:
        raise RuntimeError("cannot restore") from error


class Wordless(Exception):
    def __str__(self):
        raise TypeError("no words")


def test_wordless():
    raise Wordless()


class Unreadable(Exception):
    @property
    def exceptions(self):
        raise ValueError("not for you")


def test_unreadable():
    raise Unreadable("but raised")
`;
    const names = ["group", "pool", "cause", "wordless", "unreadable"];
    const task = await tiny.task(oneFile(source, names, { nproc: 1 }));
    const { result } = await tiny.grade(task, null);
    const failure = (name: string) => outcomeOf(result, name).ranks[0]?.failure;
    expect(failure("test_group")).toMatchObject({ exceptionType: "KeyError" });
    expect(failure("test_group")?.message).toContain("one of 2 exceptions of ExceptionGroup");
    expect(failure("test_pool")).toMatchObject({ exceptionType: "KeyError" });
    expect(failure("test_pool")?.frames.at(-1)).toMatchObject({ function: "load", origin: "test" });
    expect(failure("test_cause")).toMatchObject({ exceptionType: "RuntimeError" });
    expect(failure("test_cause")?.message).toMatch(
      /^cannot restore\n\ncaused by KeyError: 'w\.2' \(test_core\.py:\d+\)$/,
    );
    expect(failure("test_unreadable")).toMatchObject({
      exceptionType: expect.stringMatching(/Unreadable$/),
      message: "<could not be described: ValueError>",
    });
    expect(failure("test_wordless")?.message).toContain("message could not be made: TypeError");
  });

  it("of a rank that prints a huge log is not lost in it", async () => {
    const source = `${head}def test_loud():
    if RANK == 1:
        for _ in range(3000):
            sys.stderr.write("x" * 9999 + "\\n")
        raise ValueError("after the noise")
`;
    const task = await tiny.task(oneFile(source, ["loud"]));
    const { result, payloadDir } = await tiny.grade(task, null);
    expect(outcomeOf(result, "test_loud").ranks[1]?.failure?.message).toBe("after the noise");
    const log = await readFile(join(payloadDir, "ranks/launch-0/rank-1.stderr.log"), "utf8");
    expect(log.length).toBeLessThan(17 * 1024 * 1024);
    expect(log).toContain("[output cut here:");
  });
});

describe("what frameworks leave", () => {
  it("stands beside the failure: torch's error file, NCCL's warnings, and a dump that is read and never run", async () => {
    const source = `${head}import json
import pickle
import struct

FOLDER = os.path.dirname(os.environ["TORCHELASTIC_ERROR_FILE"])


class Evil:
    def __reduce__(self):
        return (os.system, ("touch /tmp/infradev-evil",))


def recording():
    entry = {"collective_seq_id": 7, "process_group": ("0", "default_pg"), "profiling_name": "nccl:all_reduce",
             "state": "started", "input_sizes": [[4, 3]], "input_dtypes": ["Float"], "output_sizes": [[4, 3]],
             "is_p2p": False, "retired": False, "frames": []}
    return {"version": "2.10", "entries": [entry], "pg_status": {"0": {"last_enqueued_collective": 7}}}


def test_record():
    if RANK == 1:
        error = {"message": {"message": "KeyError: 'w'", "extraInfo": {"py_callstack": "Traceback\\n", "timestamp": "1"}}}
        with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
            json.dump(error, file)
        raise KeyError("w")


def test_wait():
    with open(os.environ["NCCL_DEBUG_FILE"], "w") as file:
        file.write("sandbox:1:1 [0] transport.cc:9 NCCL WARN Connection closed by remote peer\\n")
    with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(RANK), "wb") as file:
        file.write(pickle.dumps(recording() if RANK == 0 else Evil(), protocol=2))
    time.sleep(60)
`;
    const task = await tiny.task(oneFile(source, ["record", "wait"], { launcher: "torchrun", testTimeoutSec: 2 }));
    const { result, payloadDir } = await tiny.grade(task, null);
    expect(statusesOf(result)).toEqual(["error", "hung"]);
    const evidence = (name: string, rank: number) => outcomeOf(result, name).ranks[rank]?.failure?.evidence ?? [];
    expect(evidence("test_record", 1)).toMatchObject([
      { kind: "torch-error-file", file: "ranks/launch-0/rank-1/error.json" },
    ]);
    const waiting = new Map(evidence("test_wait", 0).map((entry) => [entry.kind, entry]));
    expect(waiting.get("nccl-log")?.excerpt).toContain("Connection closed by remote peer");
    expect(waiting.get("flight-recorder")?.excerpt).toContain(
      "nccl:all_reduce sequence 7 of group 0 default_pg: started, input [[4, 3]] [Float], output [[4, 3]]",
    );
    expect(waiting.get("stack-dump")?.excerpt).toContain("test_wait");
    const evil = evidence("test_wait", 1).find(({ kind }) => kind === "flight-recorder");
    expect(evil?.excerpt).toContain("none of plain containers");
    for (const entry of [...waiting.values(), ...evidence("test_record", 1)]) {
      expect((await readFile(join(payloadDir, entry.file), "utf8")).length).toBeGreaterThan(0);
    }
  });
});
