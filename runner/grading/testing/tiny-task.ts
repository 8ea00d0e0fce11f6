import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Candidate } from "@/lib/contract/bundle";
import type { Isolation, Launcher, ProbesVisibility } from "@/lib/contract/vocabulary";
import { capture } from "../../processes/capture";
import type { LoadedTask } from "../../suites/load";
import { loadTask } from "../../suites/load";
import { sealTask } from "../../suites/seal";

type TinyGroup = {
  id: string;
  launcher?: Launcher;
  nproc?: number;
  isolation?: Isolation;
  timeoutSec?: number;
  testTimeoutSec?: number;
  env?: Record<string, string>;
};

export type TinyTask = {
  /** Files of the code base, by path. */
  base: Record<string, string>;
  /** Official tests by path (`tests/test_x.py`), probes by id path (`probes/test_x.py`). */
  tests: Record<string, string>;
  groups: TinyGroup[];
  /** Test id to its group; properties and ranks where a test needs others than `value` and all. */
  ids: Record<string, { group: string; property?: string; ranks?: unknown; expect?: "f2p" | "p2p"; limit?: object }>;
  /** Files that the reference change changes; none by default. */
  gold?: Record<string, string | null>;
  probes?: ProbesVisibility;
  memoryMb?: number;
  /** Harbor's limit for the whole grading. */
  verifierTimeoutSec?: number;
};

/** Writes a sealed one-task suite into a new temporary folder. `remove` deletes it. */
export async function writeTinyTask(
  spec: TinyTask,
): Promise<{ task: LoadedTask; root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "infradev-tiny-"));
  const put = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  const dir = join(root, "tasks", "tiny");
  await put(
    "suite.toml",
    `slug = "tiny"\nversion = "1.0"\ntitle = "Tiny"\nsummary = "For tests"\nprobes = "${spec.probes ?? "open"}"\ntasks = ["tiny"]\n`,
  );
  for (const [path, content] of Object.entries(spec.base)) await put(`base/${path}`, content);
  for (const [path, content] of Object.entries(spec.tests)) {
    await put(path.startsWith("probes/") ? `tasks/tiny/tests/${path}` : `tasks/tiny/tests/official/${path}`, content);
  }
  const groups = spec.groups.map(
    ({ id, launcher = "ranks", nproc = 2, isolation = "group", timeoutSec = 60, testTimeoutSec = 20, env = {} }) => `
[[metadata.infradev.groups]]
id = "${id}"
launcher = "${launcher}"
nproc = ${nproc}
isolation = "${isolation}"
timeout_sec = ${timeoutSec}
test_timeout_sec = ${testTimeoutSec}
env = { ${Object.entries(env)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
      .join(", ")} }`,
  );
  await put(
    "tasks/tiny/task.toml",
    `version = "1.0"
[metadata]
name = "Tiny"
[metadata.infradev]
format = "1"
slug = "tiny"
repo = "infradev/tiny"
category = "training"
type = "feature"
base_path = "../../base"
base_tree = ""
env_key = "python-stdlib"
gpus_agent = 0
gpus_grade = 0
min_gpu_memory_mb = 0
protected_paths = ["tests/", "pyproject.toml"]
[[metadata.infradev.prompts]]
id = "interface"
file = "instruction.md"
default = true
${groups.join("\n")}
${spec.verifierTimeoutSec === undefined ? "" : `[verifier]\ntimeout_sec = ${spec.verifierTimeoutSec}`}
[environment]
memory_mb = ${spec.memoryMb ?? 256}
`,
  );
  await put("tasks/tiny/instruction.md", "Do it.\n");
  await put("tasks/tiny/interfaces.json", "[]\n");
  const gold = spec.gold === undefined ? "" : Buffer.from(await patchOf(spec.base, spec.gold)).toString("utf8");
  await put("tasks/tiny/solution/gold.patch", gold);
  const entries = Object.entries(spec.ids);
  await put(
    "tasks/tiny/tests/tests.json",
    JSON.stringify({
      FAIL_TO_PASS: entries.filter(([, test]) => test.expect !== "p2p").map(([id]) => id),
      PASS_TO_PASS: entries.filter(([, test]) => test.expect === "p2p").map(([id]) => id),
      tests: Object.fromEntries(
        entries.map(([id, { group, property = "value", ranks = "all", limit }]) => [
          id,
          {
            kind: id.startsWith("probes/") ? "probe" : "official",
            group,
            property,
            ranks,
            requirement: "what the test asserts",
            ...(property.startsWith("resource.")
              ? { limit: limit ?? { resource: "bytes_sent", unit: "bytes", value: 100 } }
              : {}),
          },
        ]),
      ),
    }),
  );
  await sealTask(dir);
  return { task: await loadTask(dir), root, remove: () => rm(root, { recursive: true, force: true }) };
}

/** The patch from a base to itself with some files changed (null removes one), as `git diff` writes it. */
export async function patchOf(
  base: Record<string, string>,
  changed: Record<string, string | null>,
): Promise<Uint8Array> {
  const root = await mkdtemp(join(tmpdir(), "infradev-patch-"));
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
  const git = async (...args: string[]) => (await capture("git", args, { cwd: root, env })).stdout;
  const put = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  try {
    await git("init", "-q");
    for (const [path, content] of Object.entries(base)) await put(path, content);
    await git("add", "-A", "-f");
    const tree = (await git("write-tree")).trim();
    for (const [path, content] of Object.entries(changed)) {
      if (content === null) await rm(join(root, path));
      else await put(path, content);
    }
    await git("add", "-A", "-f");
    return Buffer.from(await git("diff", "--cached", "--no-color", "--no-ext-diff", tree));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

export const tinyCandidate: Candidate = {
  kind: "model",
  model: "Test",
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  promptDigest: null,
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
};
