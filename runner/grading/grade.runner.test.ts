import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import { guardSchema, hostFactsSchema, type Result, resultSchema, runLockSchema } from "@/lib/contract/result";
import { checkResult, checkRunLock } from "@/lib/evidence/check-result";
import type { LoadedTask } from "../suites/load";
import type { Graded, GradeInput } from "./grade";
import type { ProgressEvent } from "./progress";
import { resolvePython } from "./python-runtime";
import { gradeBelow, tinyBase, tinyExecutor } from "./testing/tiny-gradings";
import { patchOf, type TinyTask, writeTinyTask } from "./testing/tiny-task";

let scratch: string;
const made: (() => Promise<void>)[] = [];

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-grade-"));
});

afterAll(async () => {
  for (const remove of made) await remove();
  await rm(scratch, { recursive: true, force: true });
});

async function tiny(spec: Partial<TinyTask> & Pick<TinyTask, "tests" | "groups" | "ids">): Promise<LoadedTask> {
  const { task, remove } = await writeTinyTask({ base: tinyBase, ...spec });
  made.push(remove);
  return task;
}

async function grade(task: LoadedTask, core: string | null, more: Partial<GradeInput> = {}): Promise<Graded> {
  const graded = await gradeBelow(
    scratch,
    task,
    core === null ? new Uint8Array() : await patchOf(tinyBase, { "lib/core.py": core }),
    more,
  );
  const json = async (path: string) => JSON.parse(await readFile(join(graded.payloadDir, path), "utf8"));
  const written = resultSchema.parse(await json("result.json"));
  expect(checkResult(written, task.manifest)).toEqual([]);
  const lock = runLockSchema.parse(await json("run.lock.json"));
  expect(checkRunLock(lock, task.manifest, lock.patchSha256)).toEqual([]);
  guardSchema.parse(await json("guard.json"));
  hostFactsSchema.parse(await json("host.json"));
  return graded;
}

const statusesOf = (result: Result) => Object.fromEntries(result.tests.map(({ id, status }) => [id, status]));

describe("a grading", () => {
  it("leaves exactly the payload's files, and canaries that reported as they must", async () => {
    const id = "tests/test_core.py::test_value";
    const task = await tiny({
      tests: {
        "tests/test_core.py": `import getpass\nimport os\nimport pwd\nfrom lib.core import value\n\n\ndef test_value():\n    print("at", os.getcwd(), os.environ["HOME"], getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name)\n    assert value() == 1\n`,
      },
      groups: [{ id: "official", nproc: 2 }],
      ids: { [id]: { group: "official" } },
    });
    const events: ProgressEvent[] = [];
    const { result, payloadDir } = await grade(task, "def value():\n    return 1\n", {
      onProgress: (event) => events.push(event),
    });
    const files = (await readdir(payloadDir, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(payloadDir.length + 1));
    const perRank = [0, 1].flatMap((rank) => [
      `events/launch-0/rank-${rank}.jsonl`,
      `junit/launch-0/rank-${rank}.xml`,
      `ranks/launch-0/rank-${rank}.stderr.log`,
      `ranks/launch-0/rank-${rank}.stdout.log`,
    ]);
    // A sandboxed launch has a network interface of its own.
    const samples = tinyExecutor === "bwrap" ? ["resources/launch-0/loopback.csv"] : [];
    const documents = ["guard.json", "host.json", "manifest.json", "patch.diff", "result.json", "run.lock.json"];
    expect(new Set(files)).toEqual(
      new Set([...documents, "tests.ctrf.json", "resources/launch-0.json", ...perRank, ...samples]),
    );
    const guard = guardSchema.parse(JSON.parse(await readFile(join(payloadDir, "guard.json"), "utf8")));
    expect(guard.canaries).toHaveLength(8);
    expect(guard.canaries.every(({ expected, observed }) => expected === observed)).toBe(true);
    const log = (await readFile(join(payloadDir, "ranks/launch-0/rank-1.stdout.log"), "utf8")).split("\n");
    const line = result.tests[0]?.ranks[1]?.logLine ?? 0;
    expect(log[line - 1]).toBe(`=== ${id}`);
    expect(log[line]).toMatch(/^at /);
    expect(events.at(-1)).toEqual({ type: "finished", status: "completed", passed: 1, required: 1 });
    const text = (await Promise.all(files.map((file) => readFile(join(payloadDir, file), "utf8")))).join("\n");
    expect(text).not.toContain(scratch);
    expect(text).not.toContain(process.cwd());
    if (hostname().length >= 4) expect(text).not.toMatch(new RegExp(`\\b${hostname()}\\b`));
    expect(existsSync(join(payloadDir, "..", "scratch"))).toBe(false);
  });

  it("says of a test while it runs on which rank it did not pass", async () => {
    const task = await tiny({
      tests: {
        "tests/test_core.py":
          'import os\n\n\ndef test_one():\n    assert os.environ["RANK"] != "1"\n\n\ndef test_two():\n    pass\n',
      },
      groups: [{ id: "official", nproc: 2 }],
      ids: {
        "tests/test_core.py::test_one": { group: "official" },
        "tests/test_core.py::test_two": { group: "official", expect: "p2p" },
      },
    });
    const ranks: unknown[] = [];
    await grade(task, null, {
      onProgress: (event) => {
        if (event.type === "test") ranks.push([event.status, event.rank]);
      },
    });
    expect(ranks).toEqual([
      ["failed", 1],
      ["passed", null],
    ]);
  });

  it("gives a result whatever a candidate names its own tests", async () => {
    const task = await tiny({
      tests: {
        "tests/test_core.py":
          'def test_there():\n    pass\n\n\ndef test_more():\n    pass\n\n\nglobals()["test_a\\x01\\n" + "b" * 500] = test_more\n',
      },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_there": { group: "official", expect: "p2p" } },
    });
    const { result } = await grade(task, null);
    expect(result.status).toBe("completed");
    const strange = result.extraTests.map(({ id }) => id).find((id) => id.includes("bbb"));
    expect(strange).toMatch(/^tests\/test_core\.py::test_a\ufffd\ufffdb+$/);
    expect(strange).toHaveLength(400);
  });

  it("of hidden probes shows their verdicts and seals what they check", async () => {
    const secret = "the-secret-requirement";
    const extra = "unlisted_of_a_probe";
    const task = await tiny({
      probes: "hidden",
      tests: {
        "tests/test_core.py": "def test_there():\n    import lib.core\n",
        "probes/test_probe.py": `from infradev_report import check_resource, checks\nfrom lib.core import value\n\n\ndef test_value():\n    print("${secret}")\n    with checks("resource.traffic"):\n        check_resource("${secret}", 7, 10, "bytes")\n    assert value() == 1, "${secret}"\n\n\ndef test_${extra}():\n    pass\n`,
      },
      groups: [{ id: "official" }, { id: "probes" }],
      ids: {
        "tests/test_core.py::test_there": { group: "official", expect: "p2p" },
        "probes/test_probe.py::test_value": { group: "probes" },
      },
    });
    const { result, payloadDir, sealedDir } = await grade(task, null);
    expect(statusesOf(result)).toEqual({
      "tests/test_core.py::test_there": "passed",
      "probes/test_probe.py::test_value": "failed",
    });
    const read = async (folder: string) => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      return { paths, text: (await Promise.all(paths.map((path) => readFile(path, "utf8")))).join("\n") };
    };
    const shown = await read(payloadDir);
    expect(shown.text).not.toContain(secret);
    expect(shown.text).not.toContain(extra);
    expect(shown.paths.some((path) => path.includes("launch-0"))).toBe(true);
    expect(shown.paths.some((path) => path.includes("launch-1"))).toBe(false);
    const written = resultSchema.parse(JSON.parse(await readFile(join(payloadDir, "result.json"), "utf8")));
    expect(statusesOf(written)).toEqual(statusesOf(result));
    expect(written.summary).toEqual(result.summary);
    const sealed = await read(sealedDir ?? "");
    expect(sealed.text).toContain(secret);
    expect(sealed.text).toContain(extra);
    expect(sealed.paths.some((path) => path.includes("ranks/launch-1"))).toBe(true);
  });

  it("counts the ranks that a test requires: all, a list, or any", async () => {
    const file = `import os\n\nRANK = int(os.environ["RANK"])\n\n\ndef test_all():\n    assert RANK != 1\n\n\ndef test_list():\n    assert RANK != 1\n\n\ndef test_any():\n    assert RANK == 1\n`;
    const task = await tiny({
      tests: { "tests/test_ranks.py": file },
      groups: [{ id: "official", nproc: 3 }],
      ids: {
        "tests/test_ranks.py::test_all": { group: "official" },
        "tests/test_ranks.py::test_list": { group: "official", ranks: [0, 2] },
        "tests/test_ranks.py::test_any": { group: "official", ranks: "any" },
      },
    });
    const { result } = await grade(task, null);
    expect(statusesOf(result)).toEqual({
      "tests/test_ranks.py::test_all": "failed",
      "tests/test_ranks.py::test_list": "passed",
      "tests/test_ranks.py::test_any": "passed",
    });
    expect(result.tests.find(({ id }) => id.endsWith("test_all"))?.rootRank).toBe(1);
    expect(result.tests.find(({ id }) => id.endsWith("test_any"))?.rootRank).toBeNull();
  });

  it("launches once per test, file or group, with or without ranks", async () => {
    const file = (ranked: boolean) =>
      `import os\n\n\ndef test_a():\n    assert ("RANK" in os.environ) is ${ranked ? "True" : "False"}\n\n\ndef test_b():\n    pass\n`;
    const task = await tiny({
      tests: {
        "tests/test_one.py": file(true),
        "tests/test_two.py": file(true),
        "tests/test_three.py": file(false),
      },
      groups: [
        { id: "by-test", isolation: "test", nproc: 1 },
        { id: "by-file", isolation: "file", nproc: 2 },
        { id: "plain", launcher: "pytest", nproc: 1 },
      ],
      ids: {
        "tests/test_one.py::test_a": { group: "by-test" },
        "tests/test_one.py::test_b": { group: "by-test" },
        "tests/test_two.py::test_a": { group: "by-file" },
        "tests/test_two.py::test_b": { group: "by-file" },
        "tests/test_three.py::test_a": { group: "plain" },
        "tests/test_three.py::test_b": { group: "plain" },
      },
    });
    const { result } = await grade(task, null);
    expect(new Set(Object.values(statusesOf(result)))).toEqual(new Set(["passed"]));
    expect(result.launches.map(({ group, tests, nproc }) => [group, tests.length, nproc])).toEqual([
      ["by-test", 1, 1],
      ["by-test", 1, 1],
      ["by-file", 2, 2],
      ["plain", 2, 1],
    ]);
  });

  it("records resources per rank and labels what misses a limit", async () => {
    const id = "probes/test_traffic.py::test_bytes";
    const task = await tiny({
      tests: {
        "probes/test_traffic.py": `import os\nfrom infradev_report import check_resource, checks\n\n\ndef test_bytes():\n    with checks("resource.traffic"):\n        check_resource("bytes_sent", 60 + 60 * int(os.environ["RANK"]), 100, "bytes", repeats=3)\n`,
      },
      groups: [{ id: "probes" }],
      ids: { [id]: { group: "probes", property: "resource.traffic" } },
    });
    const { result } = await grade(task, null);
    const test = result.tests[0];
    expect(test?.status).toBe("failed");
    expect(test?.resources.map(({ rank, value, met, repeats }) => ({ rank, value, met, repeats }))).toEqual([
      { rank: 0, value: 60, met: true, repeats: 3 },
      { rank: 1, value: 120, met: false, repeats: 3 },
    ]);
    expect(test?.label).toMatchObject({ class: "behavioral", type: "resource", rule: "assertion-active-check" });
    expect(test?.ranks[1]?.failure?.frames.at(-1)).toMatchObject({ file: "probes/test_traffic.py", origin: "probe" });
  });

  it("lists tests that are collected and not in the manifest as extra, and never runs them", async () => {
    const task = await tiny({
      tests: {
        "tests/test_core.py": `import os\n\n\ndef test_listed():\n    pass\n\n\ndef test_unlisted():\n    os._exit(3)\n`,
      },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_listed": { group: "official" } },
    });
    const { result } = await grade(task, null);
    expect(result.summary.resolved).toBe(true);
    expect(result.extraTests).toEqual([{ id: "tests/test_core.py::test_unlisted", status: "not-run" }]);
  });

  it("has a test that nothing collects as not run", async () => {
    const file =
      "import pytest\nfrom lib.core import value\n\n\n@pytest.mark.parametrize('n', range(value()))\ndef test_n(n):\n    pass\n";
    const task = await tiny({
      tests: { "tests/test_core.py": file },
      groups: [{ id: "official" }],
      ids: {
        "tests/test_core.py::test_n[0]": { group: "official" },
        "tests/test_core.py::test_n[1]": { group: "official" },
      },
    });
    const { result } = await grade(task, "def value():\n    return 1\n");
    expect(statusesOf(result)).toEqual({
      "tests/test_core.py::test_n[0]": "passed",
      "tests/test_core.py::test_n[1]": "not-run",
    });
    expect(result.status).toBe("completed");
  });

  it("ends a group at its limit and keeps what it had", async () => {
    const file = `import time\n\n\ndef test_quick():\n    pass\n\n\ndef test_slow_a():\n    time.sleep(60)\n\n\ndef test_slow_b():\n    time.sleep(60)\n`;
    const task = await tiny({
      tests: { "tests/test_core.py": file },
      groups: [{ id: "official", timeoutSec: 6, testTimeoutSec: 30 }],
      ids: Object.fromEntries(
        ["quick", "slow_a", "slow_b"].map((name) => [`tests/test_core.py::test_${name}`, { group: "official" }]),
      ),
    });
    const { result } = await grade(task, null);
    expect(result.launches.map(({ killed }) => killed)).toEqual(["group-timeout"]);
    expect(Object.values(statusesOf(result))).toEqual(["passed", "hung", "not-run"]);
  });

  it("that is canceled ends every process and says so", async () => {
    const task = await tiny({
      tests: { "tests/test_core.py": "import time\n\n\ndef test_slow():\n    time.sleep(60)\n" },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_slow": { group: "official" } },
    });
    const cancel = new AbortController();
    const started = performance.now();
    const { result } = await grade(task, null, {
      signal: cancel.signal,
      onProgress: (event) => {
        if (event.type === "launch-started") setTimeout(() => cancel.abort(), 1500);
      },
    });
    expect(result.status).toBe("canceled");
    expect(result.summary.resolved).toBe(false);
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it("restores protected paths and notes them", async () => {
    const own = { ...tinyBase, "tests/test_core.py": "def test_old():\n    assert False\n", "tests/extra.txt": "a\n" };
    const task = await tiny({
      base: own,
      tests: {
        "tests/test_core.py":
          "import os\n\n\ndef test_files():\n    assert sorted(os.listdir('tests')) == ['extra.txt', 'test_core.py']\n    assert open('tests/extra.txt').read() == 'a\\n'\n",
      },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_files": { group: "official" } },
    });
    const patch = await patchOf(own, {
      "tests/extra.txt": "b\n",
      "tests/conftest.py": "raise SystemExit\n",
      "tests/test_core.py": null,
    });
    const { result, payloadDir } = await grade(task, null, { patch });
    expect(result.summary.resolved).toBe(true);
    const guard = guardSchema.parse(JSON.parse(await readFile(join(payloadDir, "guard.json"), "utf8")));
    expect(guard.restoredPaths).toEqual(["tests/conftest.py", "tests/extra.txt", "tests/test_core.py"]);
  });

  it("does not begin with a base that is not the sealed one", async () => {
    const task = await tiny({
      tests: { "tests/test_core.py": "def test_a():\n    pass\n" },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_a": { group: "official" } },
    });
    await writeFile(join(task.baseDir, "lib/core.py"), "changed = 1\n");
    await expect(grade(task, null)).rejects.toMatchObject({ problem: { code: "task.base-tree" } });
  });
});

describe("the Python of a grading", () => {
  const fake = async (name: string, script: string): Promise<string> => {
    const folder = join(scratch, name);
    await mkdir(folder, { recursive: true });
    const path = join(folder, "python3");
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const probed = (version: string, pytest: string) =>
    `echo '{"version": ${version}, "pytest": ${pytest}, "torch": null, "executable": "/x/python3", "folders": []}'`;
  const codeOf = async (env: Record<string, string>): Promise<string> => {
    const error = await resolvePython({ root: scratch, env: env as unknown as NodeJS.ProcessEnv }).then(
      () => null,
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(InfraDevError);
    if (!(error instanceof InfraDevError)) return "";
    expect(error.problem.remedy).toBeTruthy();
    return error.code;
  };

  it("is refused with a remedy where there is none, it is too old, broken, or has no pytest", async () => {
    expect(await codeOf({ PATH: join(scratch, "nowhere") })).toBe("python.missing");
    expect(await codeOf({ PATH: "", INFRADEV_PYTHON: join(scratch, "nowhere") })).toBe("python.unusable");
    expect(await codeOf({ PATH: "", INFRADEV_PYTHON: await fake("old", probed("[3, 9, 1]", '"8.0"')) })).toBe(
      "python.too-old",
    );
    expect(await codeOf({ PATH: "", INFRADEV_PYTHON: await fake("bare", probed("[3, 12, 1]", "null")) })).toBe(
      "python.no-pytest",
    );
    expect(await codeOf({ PATH: "", INFRADEV_PYTHON: await fake("aged", probed("[3, 12, 1]", '"6.2"')) })).toBe(
      "python.old-pytest",
    );
    expect(await codeOf({ PATH: "", INFRADEV_PYTHON: await fake("broken", "exit 3") })).toBe("python.unusable");
  });

  it("is the first in PATH that has pytest", async () => {
    const bare = join(await fake("first", probed("[3, 12, 1]", "null")), "..");
    const good = join(await fake("second", probed("[3, 11, 4]", '"8.3.1"')), "..");
    const found = await resolvePython({
      root: scratch,
      env: { PATH: `${bare}:${good}` } as unknown as NodeJS.ProcessEnv,
    });
    expect(found).toMatchObject({ version: "3.11.4", pytest: "8.3.1", source: "PATH" });
  });

  it("that cannot start in the sandbox is the host's fault", async () => {
    const task = await tiny({
      tests: { "tests/test_core.py": "def test_a():\n    pass\n" },
      groups: [{ id: "official" }],
      ids: { "tests/test_core.py::test_a": { group: "official" } },
    });
    const python = await resolvePython();
    const broken = await fake("dead", "echo no such library >&2; exit 127");
    const { result } = await grade(task, null, {
      python: { ...python, executable: broken, folders: [...python.folders, join(broken, "..")] },
    });
    expect(result.status).toBe("infra");
    expect(result.reason?.evidence.join("\n")).toContain("no such library");
    expect(Object.values(statusesOf(result))).toEqual(["not-run"]);
  });
});
