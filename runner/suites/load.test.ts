import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import { packedSuiteSchema } from "@/lib/contract/task";
import { writeTinyTask } from "../selftest/tiny-task";
import { gitTreeOid } from "./files";
import { loadSuite, loadTask, readTask } from "./load";
import { packSuite } from "./pack";
import { sealTask, withBaseTree } from "./seal";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-load-"));
});
afterEach(() => rm(dir, { recursive: true }));

const problemOf = async (promise: Promise<unknown>) => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof InfraDevError) return error.problem;
    throw error;
  }
  throw new Error("nothing was refused");
};

describe("the base's tree", () => {
  it("is the one that git computes: modes, links, order of names", async () => {
    const files = { "a.txt": "a", "a/b.txt": "b", "a-b/c": "", "ab.py": "x\r\n", "z/deep/er/x": "1", ümlaut: "u" };
    const base = join(dir, "base");
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(base, path)), { recursive: true });
      await writeFile(join(base, path), text);
    }
    await chmod(join(base, "ab.py"), 0o755);
    await symlink("a/b.txt", join(base, "link"));
    const ours = await gitTreeOid(base);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: base, encoding: "utf8" }).trim();
    git("init", "-q", ".");
    git("-c", "core.autocrlf=false", "add", "-A", "-f", ".");
    expect(ours).toBe(git("write-tree"));
  });

  it("leaves out what an interpreter leaves behind", async () => {
    await mkdir(join(dir, "pkg"));
    await writeFile(join(dir, "pkg/m.py"), "");
    const before = await gitTreeOid(dir);
    await mkdir(join(dir, "pkg/__pycache__"));
    await writeFile(join(dir, "pkg/__pycache__/m.cpython-311.pyc"), "x");
    expect(await gitTreeOid(dir)).toBe(before);
  });
});

describe("a sealed task", () => {
  it("has a digest that only what decides a verdict changes", async () => {
    const task = await writeTinyTask(dir);
    const before = task.manifest.digests.grading;
    const edit = async (path: string, change: (text: string) => string) => {
      const file = join(task.dir, path);
      await writeFile(file, change(await readFile(file, "utf8")));
      return (await sealTask(task.dir)).gradingDigest;
    };
    expect(await edit("instruction.md", (text) => `${text}\nMore words.\n`)).toBe(before);
    expect(await edit("tests/tests.json", (text) => text.replaceAll("42 plus its number", "42 + rank"))).toBe(before);
    expect((await loadTask(task.dir)).manifest.digests.prompts).not.toEqual(task.manifest.digests.prompts);
    const changed = await edit("tests/probes/test_probe.py", (text) => text.replace("1042", "1043"));
    expect(changed).not.toBe(before);
    expect(await edit("task.toml", (text) => text.replace("test_timeout_sec = 3", "test_timeout_sec = 5"))).not.toBe(
      changed,
    );
  });

  it("is refused when a test was changed after sealing, or when it was never sealed", async () => {
    const task = await writeTinyTask(dir);
    await writeFile(join(task.dir, "tests/probes/test_probe.py"), "def test_large_ranks(): pass\n");
    expect(await problemOf(loadTask(task.dir))).toMatchObject({
      code: "task.digest-mismatch",
      message: expect.stringContaining("tests/probes/test_probe.py"),
      remedy: expect.stringContaining("task seal"),
    });
    await rm(join(task.dir, "tests/files.sha256"));
    expect(await problemOf(loadTask(task.dir))).toMatchObject({ code: "task.unsealed" });
  });

  it("keeps the author's file but for the one value", () => {
    const toml = '[metadata.infradev]\nslug = "x" # why\nbase_tree = ""  # filled in\n[other]\nbase_tree = "keep"\n';
    const oid = "a".repeat(40);
    expect(withBaseTree(toml, oid)).toBe(toml.replace('base_tree = ""', `base_tree = "${oid}"`));
    expect(withBaseTree("[metadata]\n", oid)).toBeNull();
  });
});

describe("a malformed task", () => {
  const cases: [name: string, path: string, change: (text: string) => string, code: string, where: string][] = [
    [
      "TOML that does not parse",
      "task.toml",
      (t) => t.replace('slug = "selftest"', "slug = selftest"),
      "task.toml-syntax",
      ":8:",
    ],
    [
      "a field of the wrong kind",
      "task.toml",
      (t) => t.replace('category = "training"', 'category = "trainin"'),
      "task.invalid",
      "#category",
    ],
    [
      "a slug that is not the folder's",
      "task.toml",
      (t) => t.replace('slug = "selftest"', 'slug = "other"'),
      "task.slug",
      "slug",
    ],
    [
      "a launcher that is none",
      "task.toml",
      (t) => t.replace('launcher = "ranks"', 'launcher = "mpirun"'),
      "task.invalid",
      "groups.0.launcher",
    ],
    [
      "programs that share a launch",
      "task.toml",
      (t) =>
        t.replace('launcher = "ranks"', 'launcher = "script"').replace('isolation = "test"', 'isolation = "group"'),
      "task.isolation",
      "groups.0.isolation",
    ],
    [
      "a pytest node id where programs run",
      "task.toml",
      (t) =>
        t.replace('launcher = "ranks"', 'launcher = "script"').replace('isolation = "group"', 'isolation = "test"'),
      "task.test-id",
      "tests.json",
    ],
    [
      "a variable that is the grader's own",
      "task.toml",
      (t) => t.replace('launcher = "ranks"', 'launcher = "ranks"\nenv = { NCCL_P2P_DISABLE = "1", MASTER_PORT = "1" }'),
      "task.env-refused",
      "groups.0.env.MASTER_PORT",
    ],
    ["a base that is not there", "task.toml", (t) => t.replace("../base", "../bas"), "task.base-missing", "base_path"],
    ["JSON that does not parse", "tests/tests.json", (t) => t.slice(0, -2), "task.json-syntax", "tests.json"],
    [
      "a test in both lists",
      "tests/tests.json",
      (t) => t.replace('"PASS_TO_PASS": [', '"PASS_TO_PASS": ["tests/test_answer.py::test_answer",'),
      "task.test-listed-twice",
      "tests.json",
    ],
    [
      "a test of an unknown group",
      "tests/tests.json",
      (t) => t.replace('"group": "probes-2"', '"group": "probes-9"'),
      "task.group-unknown",
      ".group",
    ],
    [
      "a probe called official",
      "tests/tests.json",
      (t) => t.replace('"kind": "probe"', '"kind": "official"'),
      "task.test-kind",
      ".kind",
    ],
    [
      "a test whose file is not there",
      "tests/tests.json",
      (t) => t.replaceAll("tests/test_answer.py", "tests/test_gone.py"),
      "task.test-file-missing",
      "test_gone.py",
    ],
    [
      "a resource test without a limit",
      "tests/tests.json",
      (t) => t.replace('"property": "value"', '"property": "resource.memory"'),
      "task.limit-missing",
      ".limit",
    ],
    [
      "more ranks than are launched",
      "tests/tests.json",
      (t) => t.replace('"ranks": 2', '"ranks": 3'),
      "task.ranks",
      ".ranks",
    ],
    [
      "a test that does not count without a reason",
      "tests/tests.json",
      (t) => t.replace('"kind": "probe",', '"kind": "probe", "required": false,'),
      "task.not-required",
      "not_required_reason",
    ],
    ["an empty prompt", "instruction.md", () => " \n", "task.prompt-empty", "instruction.md"],
    [
      "an interface of unknown users",
      "interfaces.json",
      () => '[{"symbol": "a.b", "kind": "function", "signature": "b()", "used_by": ["probes/x.py::y"]}]',
      "task.interface-user-unknown",
      "interfaces.json",
    ],
  ];

  it.each(cases)("is refused by name: %s", async (_name, path, change, code, where) => {
    const task = await writeTinyTask(dir);
    const file = join(task.dir, path);
    const before = await readFile(file, "utf8");
    const after = change(before);
    expect(after).not.toBe(before);
    await writeFile(file, after);
    const problem = await problemOf(readTask(task.dir));
    expect(problem.code).toBe(code);
    expect(problem.where).toContain(where);
    expect(problem.rule).toBeTruthy();
    expect(problem.remedy).toBeTruthy();
  });

  it("is refused when it is not there at all", async () => {
    expect(await problemOf(readTask(join(dir, "nothing")))).toMatchObject({ code: "task.file-missing" });
  });

  it("may not put links among its tests", async () => {
    const task = await writeTinyTask(dir);
    await symlink("/etc/passwd", join(task.dir, "tests/probes/test_link.py"));
    expect(await problemOf(readTask(task.dir))).toMatchObject({ code: "task.link" });
  });
});

describe("a packed suite", () => {
  const writeSuite = async (probes: string) => {
    const task = await writeTinyTask(join(dir, "work"));
    const suiteDir = join(dir, "suite");
    await mkdir(join(suiteDir, "tasks"), { recursive: true });
    execFileSync("cp", ["-r", task.dir, join(suiteDir, "tasks/selftest")]);
    execFileSync("cp", ["-r", join(dir, "work/base"), join(suiteDir, "tasks/base")]);
    await writeFile(
      join(suiteDir, "suite.toml"),
      `slug = "tiny"\nversion = "1.0"\ntitle = "Tiny"\nsummary = "One task."\nprobes = "${probes}"\ntasks = ["selftest"]\n`,
    );
    const own = join(suiteDir, "tasks/selftest");
    await mkdir(join(own, "solution"));
    await mkdir(join(own, "mutants"));
    await writeFile(join(own, "solution/gold.patch"), "gold");
    await writeFile(join(own, "mutants/2-off-by-one.patch"), "wrong");
    return await loadSuite(suiteDir);
  };

  it("carries manifests, prompts and reference sets, and fits its schema", async () => {
    const packed = packedSuiteSchema.parse(await packSuite(await writeSuite("open")));
    expect(packed.referenceSets).toEqual([
      { name: "gold", kind: "reference", patches: [{ task: "selftest", label: "gold", patch: "gold" }] },
      { name: "nop", kind: "reference", patches: [{ task: "selftest", label: "nop", patch: "" }] },
      { name: "mutant-2", kind: "reference", patches: [{ task: "selftest", label: "off-by-one", patch: "wrong" }] },
    ]);
    expect(packed.tasks[0]?.manifest.suite).toEqual({ slug: "tiny", version: "1.0", probes: "open" });
    expect(packed.tasks[0]?.prompts[0]?.default).toBe(true);
  });

  it("says nothing of what hidden probes require, with the same grading digest", async () => {
    const open = await writeSuite("open");
    const shown = (await packSuite(open)).tasks[0]?.manifest.tests.filter((test) => test.kind === "probe") ?? [];
    expect(shown.every((test) => test.condition !== null && test.limit !== null)).toBe(true);
    await rm(join(dir, "suite"), { recursive: true });
    const hidden = await writeSuite("hidden");
    const tests = (await packSuite(hidden)).tasks[0]?.manifest.tests ?? [];
    expect(tests.filter((test) => test.kind === "probe").every((test) => test.requirement === null)).toBe(true);
    const probes = tests.filter((test) => test.kind === "probe");
    expect(probes.every((test) => test.condition === null && test.limit === null)).toBe(true);
    expect(tests.filter((test) => test.kind === "official").every((test) => test.requirement !== null)).toBe(true);
    expect(hidden.tasks[0]?.manifest.digests).toEqual(open.tasks[0]?.manifest.digests);
  });
});
