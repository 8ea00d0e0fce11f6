import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runLockSchema } from "@/lib/contract/result";
import { idOf, oneFile, outcomeOf, ranksOf, statusesOf, TinyGradings } from "./testing/tiny-gradings";

let tiny: TinyGradings;
beforeAll(async () => {
  tiny = await TinyGradings.create();
});
afterAll(async () => {
  await tiny.remove();
});

const programs = (sources: Record<string, string>) => ({
  tests: Object.fromEntries(Object.entries(sources).map(([name, source]) => [`tests/${name}`, source])),
  groups: [
    {
      id: "programs",
      launcher: "script" as const,
      isolation: "test" as const,
      nproc: 2,
      timeoutSec: 150,
      testTimeoutSec: 4,
    },
  ],
  ids: Object.fromEntries(Object.keys(sources).map((name) => [`tests/${name}`, { group: "programs" }])),
});

describe("the launcher torchrun", () => {
  it("gives each rank torchrun's environment, and an error file of its own", async () => {
    const source = `import os
from pathlib import Path

from lib.core import value


def test_contract():
    value()
    rank = int(os.environ["RANK"])
    expected = {"LOCAL_RANK": str(rank), "ROLE_RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3",
                "ROLE_WORLD_SIZE": "3", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1", "ROLE_NAME": "default",
                "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
                "TORCHELASTIC_USE_AGENT_STORE": "False", "OMP_NUM_THREADS": "1"}
    assert {name: os.environ[name] for name in expected} == expected
    assert os.environ["TORCHELASTIC_RUN_ID"] and int(os.environ["MASTER_PORT"]) > 0
    folder = Path(os.environ["TORCHELASTIC_ERROR_FILE"]).parent
    assert folder.is_dir() and str(rank) in folder.name and folder.stat().st_mode & 0o777 == 0o700


def test_group_env():
    assert os.environ["NCCL_P2P_DISABLE"] == "1" and os.environ["TZ"] == "UTC"
`;
    const group = { launcher: "torchrun" as const, nproc: 3, env: { NCCL_P2P_DISABLE: "1" } };
    const task = await tiny.task(oneFile(source, ["contract", "group_env"], group));
    const { result, payloadDir } = await tiny.grade(task, "def value():\n    return 1\n");
    expect(result.tests.flatMap(({ ranks }) => ranks.flatMap(({ failure }) => failure?.message ?? []))).toEqual([]);
    expect(result.summary.resolved).toBe(true);
    const lock = runLockSchema.parse(JSON.parse(await readFile(join(payloadDir, "run.lock.json"), "utf8")));
    expect(lock.launches[0]?.env).toMatchObject({ NCCL_P2P_DISABLE: "1", TZ: "UTC" });
  });

  it("keeps every rank's own truth where torchrun ends the peers at the first failure", async () => {
    const source = `import os
import time

RANK = int(os.environ["RANK"])


def test_each():
    if RANK == 1:
        raise ValueError("first")
    time.sleep(0.5)
    assert RANK == 0, "later, and by itself"
`;
    const task = await tiny.task(oneFile(source, ["each"], { launcher: "torchrun", nproc: 3 }));
    const { result } = await tiny.grade(task, null);
    expect(ranksOf(result, "test_each")).toEqual(["passed", "error", "failed"]);
    expect(outcomeOf(result, "test_each").rootRank).toBe(1);
  });
});

describe("the port of a launch", () => {
  it("is its own, also without a sandbox and with others beside it", async () => {
    const source = `import os
import socket
import time

ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
OWN = os.environ["TMPDIR"].encode()


def test_meets_its_own():
    if os.environ["RANK"] == "0":
        with socket.create_server(ADDRESS) as server:
            connection, _ = server.accept()
            assert connection.recv(4096) == OWN
            return
    for _ in range(400):
        try:
            connection = socket.create_connection(ADDRESS, timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.05)
            continue
        connection.sendall(OWN)
        return
    raise AssertionError("nobody listened")
`;
    const task = await tiny.task(oneFile(source, ["meets_its_own"], { testTimeoutSec: 40 }));
    const graded = await Promise.all([1, 2, 3].map(() => tiny.grade(task, null, { executor: "process" })));
    expect(graded.map(({ result }) => statusesOf(result))).toEqual([["passed"], ["passed"], ["passed"]]);
  });
});

describe("the launcher script", () => {
  it("passes a program that reaches its own end with success on every rank, and no other", async () => {
    const task = await tiny.task(
      programs({
        "ends.py": 'import os\nfrom lib.core import value\nassert value() == 1\nprint("rank", os.environ["RANK"])\n',
        "exits.py": "import sys\nimport lib.core\nsys.exit(0)\n",
        "leaves.py": "import lib.core\nlib.core.leave()\n",
        "dies.py": "import lib.core\nlib.core.die()\n",
        "raises.py": 'import os\nif os.environ["RANK"] == "1":\n    raise KeyError("x")\n',
        "skips.py": "import unittest\nraise unittest.SkipTest('no')\n",
        "unittest_skips.py":
          "import unittest\n\n\nclass Case(unittest.TestCase):\n    @unittest.skip('no')\n    def test(self):\n        pass\n\n\nunittest.main()\n",
        "ends.sh": 'test "$WORLD_SIZE" = 2\n"$(command -v python3 || command -v python)" -c "import lib.core"\n',
        "stops.sh": "echo before\nexit 0\n",
        "fails.sh": "false\necho after\n",
        "late.py": "import atexit\nimport os\natexit.register(lambda: os._exit(4))\n",
        "hangs.py": "import time\ntime.sleep(60)\n",
      }),
    );
    const core =
      "import os\nimport sys\n\n\ndef value():\n    return 1\n\n\ndef leave():\n    sys.exit(0)\n\n\ndef die():\n    os._exit(0)\n";
    const { result } = await tiny.grade(task, core);
    const seen = Object.fromEntries(result.tests.map(({ id, ranks }) => [id, ranks.map(({ status }) => status)]));
    const both = (status: string) => [status, status];
    expect(seen).toEqual({
      "tests/ends.py": both("passed"),
      "tests/exits.py": both("passed"),
      "tests/leaves.py": both("error"),
      "tests/dies.py": both("crashed"),
      "tests/raises.py": ["passed", "error"],
      "tests/skips.py": both("skipped"),
      "tests/unittest_skips.py": both("skipped"),
      "tests/ends.sh": both("passed"),
      "tests/stops.sh": both("crashed"),
      "tests/fails.sh": both("failed"),
      "tests/late.py": both("error"),
      "tests/hangs.py": both("hung"),
    });
    expect(result.status).toBe("completed");
    expect(outcomeOf(result, "raises.py").ranks[1]?.failure).toMatchObject({
      exceptionType: "KeyError",
      phase: "call",
    });
    expect(outcomeOf(result, "leaves.py").ranks[0]?.failure?.frames.at(-1)).toMatchObject({ file: "lib/core.py" });
    expect(outcomeOf(result, "hangs.py").ranks[0]?.failure?.frames.at(-1)).toMatchObject({ file: "tests/hangs.py" });
    expect(outcomeOf(result, "late.py").ranks[0]?.failure?.phase).toBe("teardown");
  });

  it("takes from a program what its probes measure and which check was active", async () => {
    const source = `import os
from infradev_report import check_resource, checks

with checks("resource.traffic"):
    check_resource("bytes_sent", 60 + 60 * int(os.environ["RANK"]), 100, "bytes")
`;
    const task = await tiny.task(programs({ "measures.py": source }));
    const { result } = await tiny.grade(task, null);
    expect(ranksOf(result, "measures.py")).toEqual(["passed", "failed"]);
    const measured = outcomeOf(result, "measures.py").resources.map(({ rank, value, met }) => [rank, value, met]);
    expect(measured).toEqual([
      [0, 60, true],
      [1, 120, false],
    ]);
    expect(outcomeOf(result, "measures.py").label).toMatchObject({ type: "resource", rule: "assertion-active-check" });
  });

  it("is not told an end by a candidate that writes into every descriptor", async () => {
    const forge = `import os\nimport json\n\nfor descriptor in range(3, 64):\n    try:\n        os.write(descriptor, b'{"nonce": "0", "end": "finished"}\\n')\n    except OSError:\n        pass\nos._exit(0)\n`;
    const task = await tiny.task(programs({ "imports.py": "import lib.core\nassert lib.core.value() == 1\n" }));
    const { result } = await tiny.grade(task, forge);
    expect(statusesOf(result)).toEqual(["crashed"]);
    expect(result.status).toBe("completed");
  });
});

describe("the time of a grading", () => {
  const slow = `import time\n\n\ndef test_one():\n    time.sleep(60)\n\n\ndef test_two():\n    time.sleep(60)\n`;

  it("that is over before every group was launched is the candidate's time-out", async () => {
    const task = await tiny.task({
      tests: { "tests/test_core.py": slow, "tests/test_other.py": "def test_there():\n    pass\n" },
      groups: [{ id: "official", testTimeoutSec: 30 }, { id: "other" }],
      ids: {
        [idOf("one")]: { group: "official" },
        [idOf("two")]: { group: "official" },
        "tests/test_other.py::test_there": { group: "other", expect: "p2p" },
      },
      verifierTimeoutSec: 5,
    });
    const { result } = await tiny.grade(task, null);
    expect(result).toMatchObject({ status: "candidate-timeout", reason: { code: "grading.timeout" } });
    expect(result.reason?.evidence.join("\n")).toContain("group other");
    expect(statusesOf(result)).toEqual(["hung", "not-run", "not-run"]);
    expect(result.summary).toMatchObject({ resolved: false, officialResolved: false });
  });

  it("of a group goes on over its launches again, which are counted", async () => {
    const group = { timeoutSec: 8, testTimeoutSec: 1, nproc: 1 };
    const task = await tiny.task(oneFile(slow, ["one", "two"], group));
    const { result } = await tiny.grade(task, null);
    expect(statusesOf(result)).toEqual(["hung", "hung"]);
    expect(result.launches.map(({ killed, relaunch }) => [killed, relaunch])).toEqual([
      ["test-timeout", undefined],
      ["test-timeout", 1],
    ]);
    expect(result.status).toBe("completed");
  });
});
