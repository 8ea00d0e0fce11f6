import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { copyBase } from "../suites/checkout";
import { type SourceFile, sha256Hex } from "../suites/files";
import type { LoadedTask } from "../suites/load";
import { provideSources } from "../suites/upstream/sources";
import { type GitDir, git, gitOrThrow } from "./git";
import {
  type Change,
  inspectBytes,
  inspectChanges,
  isGitFile,
  isHarness,
  isProtected,
  type Rejection,
  reject,
} from "./refusals";

export type Workspace = {
  /** The patched checkout with official tests laid over it. */
  repository: string;
  probes: string;
  /** Paths that the patch touched and that have the task's own bytes again. */
  restoredPaths: string[];
  /** Git tree of the checkout after the patch and the restoration, before official tests were laid over. */
  patchedTree: string;
  /** Paths of the official tests. */
  officialPaths: string[];
};

/**
 * Makes the checkout that is graded: the base as one commit without history, the patch applied strictly, protected
 * paths restored, official tests laid over by digest. `standardModules` are names that no added file may take on the
 * import path. Gives a `Rejection` where the patch is at fault. Throws
 * `task.base-tree` or `task.digest-mismatch` where the task's own files are not what was sealed, and `upstream.*` where
 * a task by reference lacks its sources.
 */
export async function prepareWorkspace(
  task: LoadedTask,
  patch: Uint8Array,
  workDir: string,
  standardModules: readonly string[],
): Promise<Workspace | Rejection> {
  const dir: GitDir = { gitDir: join(workDir, "git"), workTree: join(workDir, "base") };
  const repository = join(workDir, "repo");
  const probes = join(workDir, "probes");
  await mkdir(dir.workTree, { recursive: true });
  await provideSources(task);
  await copyBase(task.baseDir, dir.workTree);
  await gitOrThrow(dir, ["init", "-q"]);
  await gitOrThrow(dir, ["add", "-A", "-f"]);
  const tree = (await gitOrThrow(dir, ["write-tree"])).toString("utf8").trim();
  if (tree !== task.manifest.task.baseTree) {
    throw new InfraDevError("conflict", {
      code: "task.base-tree",
      message: `the code base has the tree ${tree}, the task states ${task.manifest.task.baseTree}`,
      where: task.baseDir,
      rule: "the base's git tree equals base_tree of task.toml",
      remedy: `restore the code base, or seal the task again: runner task seal ${task.dir}`,
    });
  }
  await gitOrThrow(dir, ["commit", "-q", "--no-verify", "-m", "base"]);
  const rejection = inspectBytes(patch) ?? (await applyStrictly(dir, patch));
  if (rejection !== null) return rejection;
  const changes = await listChanges(dir);
  const refused = await inspectChanges(dir, changes, task, new Set(standardModules));
  if (refused !== null) return refused;
  const restoredPaths = await restoreProtected(dir, changes, task);
  const patchedTree = (await gitOrThrow(dir, ["write-tree"])).toString("utf8").trim();
  await mkdir(repository, { recursive: true });
  await gitOrThrow(dir, ["checkout-index", "-a", "-f", `--prefix=${repository}/`]);
  await layOverByDigest(task.officialFiles, repository);
  await mkdir(probes, { recursive: true });
  await layOverByDigest(
    task.probeFiles.map((file) => ({ ...file, path: file.path.replace(/^probes\//, "") })),
    probes,
  );
  await rm(dir.workTree, { recursive: true, force: true });
  return { repository, probes, restoredPaths, patchedTree, officialPaths: task.officialFiles.map(({ path }) => path) };
}

const isBlank = (patch: Uint8Array): boolean => Buffer.from(patch).toString("latin1").trim() === "";

async function applyStrictly(dir: GitDir, patch: Uint8Array): Promise<Rejection | null> {
  if (isBlank(patch)) return null;
  // Only the index takes the patch: nothing is written to disk before every path and mode was looked at.
  const applied = await git(dir, ["apply", "--cached", "--whitespace=nowarn", "-"], patch);
  if (applied.code === 0) return null;
  const complaints = applied.stderr
    .trim()
    .split("\n")
    .filter((line) => line !== "");
  const text = applied.stderr;
  if (/invalid path|is outside|beyond a symbolic link|affected file .* is beyond/i.test(text)) {
    return reject("patch.path", "the patch names a path outside of the repository, or inside .git", complaints);
  }
  if (/No valid patches in input|unrecognized input/i.test(text)) {
    return reject("patch.not-a-diff", "there is no diff in the patch: write it with `git diff`", complaints);
  }
  if (/corrupt patch|without (?:header|filename)|garbage|inconsistent/i.test(text)) {
    return reject("patch.corrupt", "the patch is damaged: its hunks and headers do not agree", complaints);
  }
  return reject("patch.does-not-apply", "the patch does not apply to the base; no fuzz, all or nothing", complaints);
}

async function listChanges(dir: GitDir): Promise<Change[]> {
  const raw = await gitOrThrow(dir, ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD"]);
  const fields = raw.toString("utf8").split("\0");
  const changes: Change[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [before = "", mode = "", , oid = "", kind = ""] = (fields[at] ?? "").slice(1).split(" ");
    changes.push({ path: fields[at + 1] ?? "", before, after: kind, mode, oid });
  }
  return changes;
}

/** Gives protected paths, and files that take part in running tests, the base's bytes again. */
async function restoreProtected(dir: GitDir, changes: readonly Change[], task: LoadedTask): Promise<string[]> {
  const { protectedPaths } = task.manifest.task;
  const official = task.officialFiles.map(({ path }) => `${path}/`);
  const restored = changes.filter(
    ({ path, after }) =>
      isProtected(path, protectedPaths) ||
      // the test itself, or what stands where one of its folders belongs
      official.some((test) => test.startsWith(`${path}/`)) ||
      (after !== "A" && (isHarness(path) || isGitFile(path))),
  );
  if (restored.length === 0) return [];
  const removals: string[] = [];
  const additions: string[] = [];
  for (const { path } of restored) {
    const entry = (await gitOrThrow(dir, ["ls-tree", "-z", "HEAD", "--", `:(literal)${path}`])).toString("utf8");
    const [mode, , oid] = entry.split("\0", 1)[0]?.split("\t", 1)[0]?.split(" ") ?? [];
    if (mode && oid) additions.push(`${mode} ${oid}\t${path}`);
    else removals.push(`0 ${"0".repeat(40)}\t${path}`);
  }
  const lines = [...removals, ...additions];
  await gitOrThrow(dir, ["update-index", "-z", "--index-info"], Buffer.from(`${lines.join("\0")}\0`));
  return restored.map(({ path }) => path).sort();
}

async function layOverByDigest(files: readonly SourceFile[], target: string): Promise<void> {
  for (const file of files) {
    const bytes = await readFile(file.absPath);
    if (sha256Hex(bytes) !== file.sha256) {
      throw new InfraDevError("conflict", {
        code: "task.digest-mismatch",
        message: `'${file.path}' changed while the task was in use`,
        where: file.absPath,
        rule: "a test has the bytes that were sealed",
        remedy: "restore the file, or load the task again",
      });
    }
    const path = join(target, file.path);
    await mkdir(dirname(path), { recursive: true });
    // A link or a folder in the test's place is the candidate's.
    await rm(path, { recursive: true, force: true });
    await writeFile(path, bytes);
    await chmod(path, 0o644);
  }
}

/** Paths below `workDir` that hold the task's own bytes, with their digests: what no launch may change. */
export async function digestsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const path of paths) digests.set(path, sha256Hex(await readFile(path).catch(() => Buffer.alloc(0))));
  return digests;
}
