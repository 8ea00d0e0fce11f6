import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { capture } from "../../processes/capture";
import { sha256Hex } from "../files";

const env = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "author",
  GIT_AUTHOR_EMAIL: "author@invalid",
  GIT_AUTHOR_DATE: "2001-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "author",
  GIT_COMMITTER_EMAIL: "author@invalid",
  GIT_COMMITTER_DATE: "2001-01-01T00:00:00Z",
};

/** Runs git in a folder and gives what it printed; throws with its complaint where it failed. */
export async function runGit(cwd: string, ...args: string[]): Promise<string> {
  const run = await capture("git", args, { cwd, env });
  if (run.code !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr}`);
  return run.stdout;
}

export async function put(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const oldTest = "from pkg.value import value\n\n\ndef test_value():\n    assert value() == 1\n";
const newTest = `from pkg.value import doubled, value


def test_value():
    assert value() == 1


def test_doubled():
    assert doubled(2) == 4
`;
const mergedValue = `def value():
    return 1


def doubled(number):
    result = number * 2
    return result
`;
export const description = "Add doubled (#7)\n\nNumbers can be doubled.\n";

export type FakeUpstream = { dir: string; base: string; merge: string; testSha256: string; messageSha256: string };

/** A repository of two commits: a base, and a merge that adds a function, a file of its own and a test. */
export async function makeUpstream(dir: string): Promise<FakeUpstream> {
  await mkdir(dir, { recursive: true });
  await runGit(dir, "init", "-q");
  await put(dir, {
    "pkg/__init__.py": "",
    "pkg/value.py": "def value():\n    return 1\n",
    "docs/guide.md": "Guide.\n",
    "tests/test_value.py": oldTest,
    "run.sh": "#!/bin/sh\n",
  });
  await symlink("pkg/value.py", join(dir, "current.py"));
  await runGit(dir, "add", "-A");
  await runGit(dir, "update-index", "--chmod=+x", "run.sh");
  await runGit(dir, "commit", "-q", "-m", "base");
  await put(dir, {
    "pkg/value.py": mergedValue,
    "pkg/names.py": "NAME = 'doubled'\n",
    "docs/guide.md": "Guide to doubling.\n",
    "tests/test_value.py": newTest,
  });
  await runGit(dir, "add", "-A");
  await runGit(dir, "commit", "-q", "-m", description);
  const [merge = "", base = ""] = (await runGit(dir, "log", "--format=%H")).trim().split("\n");
  return { dir, base, merge, testSha256: sha256Hex(newTest), messageSha256: sha256Hex(description) };
}

/** Digest of lines of the merged `pkg/value.py`, from 1, both included. */
export const linesSha256 = (first: number, last: number): string =>
  sha256Hex(
    mergedValue
      .split(/(?<=\n)/)
      .slice(first - 1, last)
      .join(""),
  );

const mutantToml = (edits: string): string => `mistake = "Doubles small numbers only."\n${edits}`;
const wrongSum = `
[[edits]]
file = "pkg/value.py"
replace = [6, 6]
sha256 = "${linesSha256(6, 6)}"
text = """
    result = number + 2
"""
`;

/** Writes a suite with one task by reference. `change` replaces parts of task.toml's upstream table. */
export async function writeReferenceTask(
  root: string,
  upstream: FakeUpstream,
  change: { upstream?: string; leftOut?: string; tests?: string; mutant?: string } = {},
): Promise<string> {
  const dir = join(root, "tasks/doubling");
  const tests = change.tests ?? `{ path = "tests/test_value.py", sha256 = "${upstream.testSha256}" }`;
  const official = "tests/test_value.py::test_doubled";
  const probe = "probes/test_probe.py::test_large";
  await put(root, {
    "suite.toml": `slug = "doubles"\nversion = "0.1"\ntitle = "Doubles"\nsummary = "One."\nprobes = "open"\ntasks = ["doubling"]\n`,
    "tasks/doubling/task.toml": `version = "1.0"
[metadata]
name = "Doubling"
[metadata.infradev]
format = "1"
slug = "doubling"
repo = "owner/name"
category = "training"
type = "feature"
base_tree = ""
env_key = "python-stdlib"
gpus_agent = 0
gpus_grade = 0
min_gpu_memory_mb = 0
protected_paths = ["tests/"]
[[metadata.infradev.prompts]]
id = "interface"
file = "instruction.md"
default = true
[metadata.infradev.upstream]
repository = "owner/name"
${change.upstream ?? `base_commit = "${upstream.base}"\nmerge_commit = "${upstream.merge}"`}
pr_description_sha256 = "${upstream.messageSha256}"
left_out = [${change.leftOut ?? '"docs/**"'}]
official_tests = [${tests}]
${["official", "probes"]
  .map(
    (id) =>
      `[[metadata.infradev.groups]]\nid = "${id}"\nlauncher = "ranks"\nnproc = 2\nisolation = "group"\ntimeout_sec = 60\ntest_timeout_sec = 30\n`,
  )
  .join("")}
[environment]
memory_mb = 256
`,
    "tasks/doubling/instruction.md": "Add `doubled(number)` to `pkg.value`: twice the number.\n",
    "tasks/doubling/interfaces.json": JSON.stringify([
      { symbol: "pkg.value.doubled", kind: "function", signature: "doubled(number: int) -> int", used_by: [probe] },
    ]),
    "tasks/doubling/mutants/1-adds-two.toml": mutantToml(change.mutant ?? wrongSum),
    "tasks/doubling/tests/probes/test_probe.py":
      "from pkg.value import doubled\n\n\ndef test_large():\n    assert doubled(50) == 100\n",
    "tasks/doubling/tests/tests.json": JSON.stringify({
      FAIL_TO_PASS: [official, probe],
      PASS_TO_PASS: ["tests/test_value.py::test_value"],
      tests: {
        [official]: { kind: "official", group: "official", property: "value" },
        "tests/test_value.py::test_value": { kind: "official", group: "official", property: "value" },
        [probe]: { kind: "probe", group: "probes", property: "value", requirement: "Large numbers are doubled too." },
      },
    }),
  });
  return dir;
}
