import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { gitTreeOid } from "./files";
import { loadTask, readTask, sumsOfTests } from "./load";
import type { Mirrors } from "./upstream/mirrors";
import { buildBase, provideSources } from "./upstream/sources";

export type Seal = { task: string; baseTree: string; files: number; gradingDigest: string; changed: string[] };

async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

/** task.toml with `base_tree` of `[metadata.infradev]` set; everything else stays as its author wrote it. */
export function withBaseTree(toml: string, baseTree: string): string | null {
  const lines = toml.split("\n");
  const start = lines.findIndex((line) => /^\s*\[metadata\.infradev\]\s*(#.*)?$/.test(line));
  if (start < 0) return null;
  const length = lines.slice(start + 1).findIndex((line) => /^\s*\[/.test(line));
  const end = length < 0 ? lines.length : start + 1 + length;
  const at = lines.findIndex((line, index) => index > start && index < end && /^\s*base_tree\s*=/.test(line));
  if (at < 0) return null;
  lines[at] = (lines[at] ?? "").replace(/=\s*"[0-9a-f]*"/, `= "${baseTree}"`);
  return lines.join("\n");
}

/**
 * Writes what makes a task's grading reproducible into its directory: the base's git tree into task.toml and the
 * digests of `tests/` into tests/files.sha256. Sealing twice changes nothing. Of a task by reference the sources are
 * read, so that whatever differs from what the task states is found here.
 */
export async function sealTask(dir: string, mirrors: Mirrors = new Map()): Promise<Seal> {
  const task = await readTask(dir);
  const baseTree = task.upstream === null ? await gitTreeOid(task.baseDir) : await buildBase(task.upstream, mirrors);
  const tomlPath = join(task.dir, "task.toml");
  const before = await readFile(tomlPath, "utf8");
  const after = withBaseTree(before, baseTree);
  if (after === null || !after.includes(baseTree)) {
    throw new InfraDevError("invalid", {
      code: "task.seal",
      message: 'there is no line base_tree = "" to fill in',
      where: `${tomlPath}#metadata.infradev.base_tree`,
      rule: "base_tree stands on a line of its own below [metadata.infradev]",
      remedy: 'add the line: base_tree = ""',
    });
  }
  const sumsPath = join(task.dir, "tests/files.sha256");
  const sums = await sumsOfTests(task.dir);
  const changed: string[] = [];
  if (after !== before) {
    await writeWhole(tomlPath, after);
    changed.push("task.toml");
  }
  if ((await readFile(sumsPath, "utf8").catch(() => null)) !== sums) {
    await writeWhole(sumsPath, sums);
    changed.push("tests/files.sha256");
  }
  const sealed = await loadTask(task.dir);
  await provideSources(sealed, mirrors);
  return {
    task: task.metadata.slug,
    baseTree,
    files: sums.split("\n").length - 1,
    gradingDigest: sealed.manifest.digests.grading,
    changed,
  };
}
