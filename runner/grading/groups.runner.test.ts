import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoadedTask } from "../suites/load";
import { outcomeOf, statusesOf, TinyGradings } from "./testing/tiny-gradings";

const official = "tests/test_core.py::test_positive";
const rejecting = "probes/test_value.py::test_value";
const later = "probes/test_later.py::test_later";
const slow = "import time\n\n\ndef value():\n    time.sleep(0.5)\n    return 2\n";

let tiny: TinyGradings;
beforeAll(async () => {
  tiny = await TinyGradings.create();
});
afterAll(async () => {
  await tiny.remove();
});

/** One official test, then two groups of a probe each; `inProbe` stands before what the first probe asserts. */
const taskOf = (inProbe: string = "pass", limit?: object): Promise<LoadedTask> =>
  tiny.task({
    tests: {
      "tests/test_core.py": "from lib.core import value\n\n\ndef test_positive():\n    assert value() > 0\n",
      "probes/test_value.py": `from lib.core import value\n\n\ndef test_value():\n    ${inProbe}\n    assert value() == 1\n`,
      "probes/test_later.py": "def test_later():\n    pass\n",
    },
    groups: ["official", "rejecting", "later"].map((id) => ({ id, nproc: 1 })),
    ids: {
      [official]: { group: "official", ...(limit === undefined ? {} : { property: "resource.speed", limit }) },
      [rejecting]: { group: "rejecting" },
      [later]: { group: "later" },
    },
    gold: { "lib/core.py": "def value():\n    return 1\n" },
  });
const grade = async (task: LoadedTask, core: string) =>
  (await tiny.grade(task, core, { stopWhenRejected: true })).result;
const two = "def value():\n    return 2\n";

describe("a grading that ends with the first probe that rejects", () => {
  it("launches nothing after it", async () => {
    const result = await grade(await taskOf(), two);
    expect([result.status, ...statusesOf(result)]).toEqual(["completed", "passed", "failed", "not-run"]);
  });

  it("goes on where the failure looks like the host's, which gold's control tells", async () => {
    const inUse = 'raise OSError(98, "Address already in use")';
    expect(await grade(await taskOf(inUse), two)).toMatchObject({
      status: "infra",
      reason: { code: "host.control-failed" },
    });
    const candidates = await grade(await taskOf(`if value() == 2: ${inUse}`), two);
    expect([candidates.status, ...statusesOf(candidates)]).toEqual(["completed", "passed", "error", "passed"]);
  });

  it("goes on where an official test has a limit that is measured from outside", async () => {
    const limit = { resource: "time", unit: "s", value: 0.3, meter: "wall-clock", repeats: 1 };
    const result = await grade(await taskOf("pass", limit), slow);
    expect([result.status, ...statusesOf(result)]).toEqual(["completed", "failed", "failed", "passed"]);
    expect(outcomeOf(result, "test_positive").ranks[0]?.failure?.exceptionType).toMatch(/ResourceLimitExceeded/);
  });
});
