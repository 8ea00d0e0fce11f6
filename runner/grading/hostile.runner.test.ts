import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Result, TestOutcome } from "@/lib/contract/result";
import { checkBwrap } from "../executors/bwrap";
import type { LoadedTask } from "../suites/load";
import { gradeBelow } from "./testing/tiny-gradings";
import { patchOf, writeTinyTask } from "./testing/tiny-task";

const base = {
  "lib/__init__.py": "",
  "lib/core.py": "def first():\n    return 0\n\n\ndef second():\n    return 0\n\n\ndef third():\n    return 0\n",
  "tests/test_base.py": "def test_nothing():\n    pass\n",
};
const names = ["first", "second", "third"] as const;
const idOf = (name: (typeof names)[number]): string => `tests/test_core.py::test_${name}`;

const bwrapWorks = await checkBwrap().then(
  () => true,
  () => false,
);

let task: LoadedTask;
let removeTask: () => Promise<void>;
let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-hostile-"));
  const tiny = await writeTinyTask({
    base,
    tests: {
      "tests/test_core.py": `import lib.core\n${names
        .map((name) => `\n\ndef test_${name}():\n    assert lib.core.${name}() == 1\n`)
        .join("")}`,
    },
    groups: [{ id: "official", nproc: 2, testTimeoutSec: 3, timeoutSec: 90 }],
    ids: Object.fromEntries(names.map((name) => [idOf(name), { group: "official" }])),
  });
  task = tiny.task;
  removeTask = tiny.remove;
});

afterAll(async () => {
  await removeTask();
  await rm(scratch, { recursive: true, force: true });
});

/** The code of a candidate that is right but for `changes`: bodies by function, and lines at the module's top. */
function candidate(changes: Partial<Record<(typeof names)[number] | "top", string>>): string {
  const body = (name: (typeof names)[number]) => changes[name] ?? "return 1";
  const indented = (text: string) => text.split("\n").join("\n    ");
  return `import os\nimport sys\nimport time\n\nRANK = int(os.environ["RANK"])\n${changes.top ?? ""}\n${names
    .map((name) => `\n\ndef ${name}():\n    ${indented(body(name))}\n`)
    .join("")}`;
}

async function grade(executor: "bwrap" | "process", code: string, more: Record<string, string> = {}): Promise<Result> {
  return await gradePatch(executor, await patchOf(base, { "lib/core.py": code, ...more }));
}

async function gradePatch(executor: "bwrap" | "process", patch: Uint8Array): Promise<Result> {
  const { result, payloadDir } = await gradeBelow(scratch, task, patch, { executor });
  const written = JSON.parse(await readFile(join(payloadDir, "result.json"), "utf8"));
  expect(written).toEqual(result);
  return result;
}

const statusOf = (result: Result, name: (typeof names)[number]): TestOutcome["status"] | undefined =>
  result.tests.find((test) => test.id === idOf(name))?.status;
const statuses = (result: Result) => names.map((name) => statusOf(result, name));
const ranksOf = (result: Result, name: (typeof names)[number]) =>
  result.tests.find((test) => test.id === idOf(name))?.ranks.map((rank) => rank.status);

/** Processes whose command line or environment carries a word that only the test's candidate has. */
async function processesWith(word: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
    if (command.includes(word)) found.push(entry);
  }
  return found;
}

describe.each(["bwrap", "process"] as const)("a candidate under %s", (executor) => {
  const skip = executor === "bwrap" && !bwrapWorks;
  const test = skip ? it.skip : it;
  if (skip) it.skip("skipped: no bwrap", () => undefined);

  test("that is right resolves the task, on every rank", async () => {
    const result = await grade(executor, candidate({}));
    expect(result.reason).toBeNull();
    expect(result.status).toBe("completed");
    expect(statuses(result)).toEqual(["passed", "passed", "passed"]);
    expect(result.summary.resolved).toBe(true);
    expect(result.sandboxed).toBe(executor === "bwrap");
    expect(result.launches).toHaveLength(1);
  });

  test("that prints PASSED and removes what looks like a report has failed", async () => {
    const printed = `print("tests/test_core.py::test_second PASSED")\nfor folder, _, files in os.walk(os.environ["TMPDIR"]):\n    for file in files:\n        if file.endswith(".xml"):\n            os.remove(os.path.join(folder, file))\nreturn 0`;
    const result = await grade(executor, candidate({ second: printed }));
    expect(result.status).toBe("completed");
    expect(statuses(result)).toEqual(["passed", "failed", "passed"]);
    expect(result.tests.find((one) => one.id === idOf("second"))?.label?.type).toBe("value");
  });

  test("that ends its process with code 0 in a test has crashed there, and the rest is launched again", async () => {
    const result = await grade(executor, candidate({ second: "os._exit(0)" }));
    expect(statuses(result)).toEqual(["passed", "crashed", "passed"]);
    expect(result.summary.resolved).toBe(false);
    expect(result.launches[0]?.exits.map(({ code }) => code)).toEqual([0, 0]);
  });

  test("that ends its process after its last test has crashed", async () => {
    const exitLater = `import threading\nthreading.Timer(0.0, lambda: os._exit(0)).start()\ntime.sleep(0.5)\nreturn 1`;
    const result = await grade(executor, candidate({ third: exitLater }));
    expect(result.status).toBe("completed");
    expect(result.summary.resolved).toBe(false);
    expect(statusOf(result, "third")).toBe("crashed");
  });

  test("that dies by a signal on rank 1 while rank 0 passes has crashed", async () => {
    const crash = "if RANK == 1:\n    import ctypes\n    ctypes.string_at(0)\nreturn 1";
    const result = await grade(executor, candidate({ second: crash }));
    expect(ranksOf(result, "second")).toEqual(["passed", "crashed"]);
    expect(statuses(result)).toEqual(["passed", "crashed", "passed"]);
    const outcome = result.tests.find((one) => one.id === idOf("second"));
    expect(outcome?.rootRank).toBe(1);
    expect(outcome?.ranks[1]?.failure?.message).toContain("SIGSEGV");
    expect(outcome?.label).toMatchObject({ type: "execution-api", rule: "crash" });
  });

  test("that hangs on rank 1 is ended at the test's limit, and the rest is launched again", async () => {
    const result = await grade(executor, candidate({ first: "while RANK == 1:\n    time.sleep(0.1)\nreturn 1" }));
    expect(ranksOf(result, "first")).toEqual(["passed", "hung"]);
    expect(statuses(result)).toEqual(["hung", "passed", "passed"]);
    expect(result.launches.map(({ killed }) => killed)).toEqual(["test-timeout", null]);
    const hung = result.tests.find((one) => one.id === idOf("first"))?.ranks[1];
    expect(hung?.failure?.frames.at(-1)).toMatchObject({ file: "lib/core.py", function: "first", origin: "project" });
  });

  test("whose rank 1 raises while the others wait for it has failed by rank 1", async () => {
    const waiting = `if RANK == 1:\n    raise ValueError("wrong shard")\ntime.sleep(1)\nraise ConnectionError("peer lost")`;
    const result = await grade(executor, candidate({ second: waiting }));
    const outcome = result.tests.find((one) => one.id === idOf("second"));
    expect(outcome).toMatchObject({ status: "error", rootRank: 1 });
    expect(outcome?.ranks[0]?.failure?.secondaryOf).toBe(1);
    expect(outcome?.ranks[1]?.failure).toMatchObject({ exceptionType: "ValueError", secondaryOf: null });
  });

  test("that skips at import or in a test has not passed", async () => {
    const atImport = await grade(
      executor,
      candidate({ top: 'import pytest\npytest.skip("no", allow_module_level=True)' }),
    );
    expect(statuses(atImport)).toEqual(["skipped", "skipped", "skipped"]);
    const inTest = await grade(executor, candidate({ third: 'import pytest\npytest.skip("no")' }));
    expect(statuses(inTest)).toEqual(["passed", "passed", "skipped"]);
    expect(inTest.summary.requiredPassed).toBe(2);
  });

  test("that cannot be imported, or ends the process on import, has an error or a crash in each test", async () => {
    const broken = await grade(executor, candidate({ top: "import nowhere" }));
    expect(statuses(broken)).toEqual(["error", "error", "error"]);
    expect(broken.tests[0]?.label?.rule).toBe("exception-import");
    const gone = await grade(executor, candidate({ top: "os._exit(0)" }));
    expect(statuses(gone)).toEqual(["crashed", "crashed", "crashed"]);
  });

  test("that ends pytest's session from a test has crashed there", async () => {
    const result = await grade(executor, candidate({ second: 'import pytest\npytest.exit("done", returncode=0)' }));
    expect(statusOf(result, "second")).toBe("crashed");
    expect(result.summary.resolved).toBe(false);
  });

  test("that writes events into every descriptor was tampering", async () => {
    const forge = `line = b'{"event": "report", "id": "tests/test_core.py::test_first", "phase": "call", "outcome": "passed"}\\n'
for fd in range(3, 256):
    try:
        os.write(fd, b"0" * 32 + b" " + line)
    except OSError:
        pass
return 0`;
    const result = await grade(executor, candidate({ first: forge }));
    expect(result.status).toBe("tampered");
    expect(result.reason?.evidence.join("\n")).toContain("event.forged");
    expect(result.summary.resolved).toBe(false);
  });

  test("that turns every report into a pass was tampering", async () => {
    const patchReports = `import _pytest.reports
original = _pytest.reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    call.excinfo = None
    return original(cls, item, call)
_pytest.reports.TestReport.from_item_and_call = classmethod(forged)`;
    const result = await grade(executor, candidate({ top: patchReports, first: "return 0" }));
    expect(result.status).toBe("tampered");
    expect(result.reason?.evidence.join("\n")).toContain("canary.outcome");
    expect(result.summary).toMatchObject({ resolved: false, officialResolved: false });
  });

  test("that silences the reports of failures was tampering", async () => {
    const silence = `import infradev_report
original = infradev_report._Session.emit
def emit(self, event, **fields):
    if event == "report":
        fields.update(outcome="passed", exception=None, message=None)
    if not str(fields.get("id", "")).startswith("guard/"):
        original(self, event, **fields)
infradev_report._Session.emit = emit`;
    const result = await grade(executor, candidate({ top: silence, first: "return 0" }));
    expect(result.status).toBe("tampered");
    expect(statuses(result)).toEqual(["not-run", "not-run", "not-run"]);
    expect(result.summary.requiredPassed).toBe(0);
  });

  test("that calls the plugin's own channel was tampering", async () => {
    const forge = `import infradev_report
session = infradev_report._session
for phase in ("setup", "call", "teardown"):
    session.emit("report", id=session.current, phase=phase, outcome="passed", duration=0.0, exception=None,
                 message=None, xfail=False, peak_rss_kb=0)
return 0`;
    const result = await grade(executor, candidate({ first: forge }));
    expect(result.status).toBe("tampered");
    expect(result.reason?.evidence.join("\n")).toContain("foreign code");
  });

  test("whose forked child goes on in its place has crashed", async () => {
    const result = await grade(executor, candidate({ second: "if os.fork():\n    os._exit(0)\nreturn 1" }));
    expect(statusOf(result, "second")).toBe("crashed");
  });

  test("that leaves a process behind does not outlive its grading", async () => {
    const word = `left-behind-${randomUUID()}`;
    const leave = `import subprocess\nsubprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "${word}"], start_new_session=True, env={})\nreturn 1`;
    const result = await grade(executor, candidate({ second: leave }));
    expect(result.status).toBe("completed");
    expect(result.summary.resolved).toBe(true);
    expect(await processesWith(word)).toEqual([]);
  });

  test("that kills the process which started it has crashed", async () => {
    const result = await grade(executor, candidate({ second: "os.kill(os.getppid(), 9)\ntime.sleep(1)\nreturn 1" }));
    expect(result.summary.resolved).toBe(false);
    expect(statusOf(result, "second")).not.toBe("passed");
  });

  test("that prints without end is cut, not stored", async () => {
    const flood = 'for _ in range(3000):\n    sys.stdout.write("x" * 9999 + chr(10))\nreturn 1';
    const result = await grade(executor, candidate({ first: flood }));
    expect(result.summary.resolved).toBe(true);
  });
});

describe.runIf(bwrapWorks)("the sandbox", () => {
  it("has no network, no writable code, no host names and no files of the host", async () => {
    const look = `import socket
problems = []
try:
    socket.create_connection(("192.0.2.1", 80), timeout=0.5)
    problems.append("network")
except OSError as error:
    if "unreachable" not in str(error):
        problems.append(str(error))
for path in (__file__, "/grade/new", "/usr/new", "/etc/new"):
    try:
        open(path, "a").close()
        problems.append(path)
    except OSError:
        pass
if socket.gethostname() != "sandbox":
    problems.append("host name")
for path in ("/root/.ssh", "/etc/shadow", "/home", "/var", "/work", "${process.cwd()}"):
    if os.path.exists(path):
        problems.append(path)
if any(name.startswith("npm_") or name.startswith("INFRADEV") for name in os.environ):
    problems.append("environment")
if len([entry for entry in os.listdir("/proc") if entry.isdigit()]) > 8:
    problems.append("processes")
assert not problems, problems
return 1`;
    const result = await grade("bwrap", candidate({ first: look }));
    expect(result.tests.map(({ ranks }) => ranks[0]?.failure?.message ?? null)).toEqual([null, null, null]);
  });

  it("ends what takes more memory than the task has", async () => {
    const result = await grade(
      "bwrap",
      candidate({ second: "held = bytearray(1 << 29) if RANK == 0 else b''\nreturn 1" }),
    );
    expect(["crashed", "error"]).toContain(statusOf(result, "second"));
    expect(statusOf(result, "third")).toBe("passed");
  });
});

describe("a patch", () => {
  const cases: [string, string, () => Promise<Uint8Array>][] = [
    ["is no diff", "patch.not-a-diff", async () => Buffer.from("please merge\n")],
    [
      "does not apply",
      "patch.does-not-apply",
      async () => await patchOf({ ...base, "lib/core.py": "def other():\n    pass\n" }, { "lib/core.py": "x = 1\n" }),
    ],
    [
      "is cut in the middle",
      "patch.corrupt",
      async () => {
        const whole = Buffer.from(await patchOf(base, { "lib/core.py": candidate({}) })).toString();
        return Buffer.from(whole.slice(0, Math.floor(whole.length / 2)).replace(/\n[^\n]*$/, "\n"));
      },
    ],
    [
      "leads out of the repository",
      "patch.path",
      async () => Buffer.from("--- /dev/null\n+++ b/../outside.py\n@@ -0,0 +1 @@\n+x = 1\n"),
    ],
    [
      "reaches into .git",
      "patch.path",
      async () => Buffer.from("--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n"),
    ],
    [
      "adds a link that leads out",
      "patch.symlink",
      async () =>
        Buffer.from(
          "diff --git a/lib/up b/lib/up\nnew file mode 120000\n--- /dev/null\n+++ b/lib/up\n@@ -0,0 +1 @@\n+../../..\n\\ No newline at end of file\n",
        ),
    ],
    [
      "adds a submodule",
      "patch.submodule",
      async () =>
        Buffer.from(
          `diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit ${"1".repeat(40)}\n`,
        ),
    ],
    ["holds NUL bytes", "patch.binary", async () => Buffer.from("diff --git a/x b/x\n\0")],
    ["adds a conftest.py", "patch.harness-file", async () => await patchOf(base, { "conftest.py": "import pytest\n" })],
    [
      "adds a sitecustomize.py",
      "patch.harness-file",
      async () => await patchOf(base, { "lib/sitecustomize.py": "import os\n" }),
    ],
    [
      "adds a module by the name of one of Python's own",
      "patch.harness-file",
      async () => await patchOf(base, { "tracemalloc.py": "def start():\n    pass\n" }),
    ],
    [
      "adds a package by the name of one of Python's own",
      "patch.harness-file",
      async () => await patchOf(base, { "tracemalloc/__init__.py": "def start():\n    pass\n" }),
    ],
    ["adds a .pth file", "patch.harness-file", async () => await patchOf(base, { "x.pth": "import os\n" })],
    ["shadows pytest", "patch.harness-file", async () => await patchOf(base, { "pytest/__init__.py": "x = 1\n" })],
    [
      "shadows the reporter",
      "patch.harness-file",
      async () => await patchOf(base, { "infradev_report.py": "x = 1\n" }),
    ],
  ];
  it.each(cases)("that %s is rejected", async (_what, code, make) => {
    const result = await gradePatch("process", await make());
    expect(result.status).toBe("patch-rejected");
    expect(result.reason?.code).toBe(code);
    expect(result.launches).toEqual([]);
    expect(statuses(result)).toEqual(["not-run", "not-run", "not-run"]);
    expect(result.tests.map(({ label }) => label)).toEqual([null, null, null]);
  });

  it("that changes tests is graded by the task's own tests, and the change is noted", async () => {
    const patch = await patchOf(base, {
      "tests/test_base.py": "def test_nothing():\n    assert False\n",
      "tests/conftest.py": "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef skip():\n    pytest.skip()\n",
      "tests/test_core.py": "def test_first():\n    pass\n",
    });
    const result = await gradePatch("process", patch);
    expect(statuses(result)).toEqual(["failed", "failed", "failed"]);
  });

  it("that is empty grades the base", async () => {
    const result = await gradePatch("process", new Uint8Array());
    expect(result.status).toBe("completed");
    expect(statuses(result)).toEqual(["failed", "failed", "failed"]);
  });
});
