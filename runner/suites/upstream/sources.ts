import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { UpstreamMetadata } from "@/lib/contract/task";
import { compareBytes, gitTreeOid, sha256Hex } from "../files";
import type { TaskSource } from "../load";
import { diffOf, type TreeFile, writeFiles } from "./diff";
import { applyEdits } from "./edits";
import { type Commit, readCommit, readObjects, readTree, type TreeEntry } from "./git-objects";
import { matcherOf } from "./globs";
import { baseLayer, descriptionOf, goldOf, mutantPatchOf, type UpstreamSource } from "./layer-paths";
import { ensureLayer, isSealed, sealLayer } from "./layers";
import { findMirror, type Mirrors } from "./mirrors";
import { upstreamProblem } from "./problems";

const lfsPointer = Buffer.from("version https://git-lfs.github.com/spec/");

/** Content of a tree's entries by path. Throws on what a checkout could not hold: submodules, pointers, links that lead out. */
async function contentOf(gitDir: string, entries: ReadonlyMap<string, TreeEntry>): Promise<Map<string, TreeFile>> {
  const refuse = (code: string, message: string, rule: string): Error =>
    upstreamProblem("invalid", code, { message, where: gitDir, rule, remedy: "add the path to left_out" });
  for (const [path, { mode }] of entries) {
    if (mode === "160000") {
      throw refuse("submodule", `'${path}' is a submodule`, "a code base is one repository's own files");
    }
  }
  const objects = await readObjects(
    gitDir,
    [...entries.values()].map(({ oid }) => oid),
  );
  const files = new Map<string, TreeFile>();
  for (const [path, { mode, oid }] of [...entries].sort(([a], [b]) => compareBytes(a, b))) {
    const body = objects.get(oid)?.body ?? Buffer.alloc(0);
    if (mode === "120000") {
      const target = body.toString("utf8");
      const reached = posix.normalize(posix.join(posix.dirname(path), target));
      if (target.startsWith("/") || reached === ".." || reached.startsWith("../")) {
        throw refuse("symlink", `'${path}' links to '${target}'`, "no link leads out of the code base");
      }
    } else if (body.subarray(0, lfsPointer.length).equals(lfsPointer)) {
      throw refuse("lfs-pointer", `'${path}' is a Git LFS pointer`, "the content of a code base is in its repository");
    }
    // 100664 and the like of old repositories count as git counts them today.
    files.set(path, { mode: mode === "120000" ? mode : Number.parseInt(mode, 8) & 0o100 ? "100755" : "100644", body });
  }
  return files;
}

type Opened = {
  gitDir: string;
  base: Commit;
  merge: Commit;
  baseTree: Map<string, TreeEntry>;
  mergeTree: Map<string, TreeEntry>;
};

async function openUpstream(upstream: UpstreamMetadata, mirrors: Mirrors): Promise<Opened> {
  const gitDir = await findMirror(upstream.repository, mirrors);
  const base = await readCommit(gitDir, upstream.base_commit, "base_commit");
  const merge = await readCommit(gitDir, upstream.merge_commit, "merge_commit");
  if (merge.parents[0] !== base.oid) {
    throw upstreamProblem("invalid", "not-parent", {
      message: `the first parent of ${merge.oid} is ${merge.parents[0] ?? "none"}, not ${base.oid}`,
      where: gitDir,
      rule: "the change of a task is what its merge commit changed",
      remedy: "set base_commit to the first parent of merge_commit",
    });
  }
  const isLeftOut = matcherOf(upstream.left_out);
  const treeOf = async (commit: Commit): Promise<Map<string, TreeEntry>> => {
    const entries = await readTree(gitDir, commit.tree, (folder) => upstream.left_out.includes(`${folder}/**`));
    return new Map([...entries].filter(([path]) => !isLeftOut(path)));
  };
  return { gitDir, base, merge, baseTree: await treeOf(base), mergeTree: await treeOf(merge) };
}

const pick = (tree: ReadonlyMap<string, TreeEntry>, paths: Iterable<string>): Map<string, TreeEntry> => {
  const picked = new Map<string, TreeEntry>();
  for (const path of paths) {
    const entry = tree.get(path);
    if (entry !== undefined) picked.set(path, entry);
  }
  return picked;
};

function officialFilesOf(opened: Opened, upstream: UpstreamMetadata, merged: ReadonlyMap<string, TreeFile>) {
  return upstream.official_tests.map(({ path, sha256 }) => {
    const file = merged.get(path);
    if (file === undefined || file.mode === "120000") {
      const leftOut = matcherOf(upstream.left_out)(path);
      throw upstreamProblem("not-found", "test-missing", {
        message: leftOut ? `'${path}' is left out by left_out` : `the merge commit has no file '${path}'`,
        where: `${opened.gitDir} at ${opened.merge.oid}`,
        rule: "official_tests names files of the merge commit",
        remedy: leftOut ? "take it out of left_out" : "correct the path, or merge_commit",
      });
    }
    const found = sha256Hex(file.body);
    if (found === sha256) return [path, { ...file, mode: "100644" }] as const;
    throw upstreamProblem("conflict", "test-differs", {
      message: `'${path}' has the digest ${found}, the task states ${sha256}`,
      where: `${opened.gitDir} at ${opened.merge.oid}`,
      rule: "an official test is the file that the task was made with",
      remedy: "correct merge_commit or the digest in official_tests",
    });
  });
}

function descriptionBytes(upstream: UpstreamMetadata, merge: Commit): Buffer | null {
  if (upstream.pr_description_sha256 === undefined) return null;
  const found = sha256Hex(merge.message);
  if (found === upstream.pr_description_sha256) return merge.message;
  throw upstreamProblem("conflict", "description-differs", {
    message: `the merge commit's message has the digest ${found}, the task states ${upstream.pr_description_sha256}`,
    where: merge.oid,
    rule: "the prompt 'pr-description' is the merge commit's message",
    remedy: "correct pr_description_sha256",
  });
}

async function buildChange(task: TaskSource, upstream: UpstreamSource, opened: Opened, dir: string): Promise<void> {
  const tests = new Set(upstream.official_tests.map(({ path }) => path));
  const changed = [...new Set([...opened.baseTree.keys(), ...opened.mergeTree.keys()])].filter((path) => {
    const [before, after] = [opened.baseTree.get(path), opened.mergeTree.get(path)];
    return !tests.has(path) && (before?.oid !== after?.oid || before?.mode !== after?.mode);
  });
  const edited = upstream.mutants.flatMap(({ file }) => file.edits.map((edit) => edit.file));
  const needed = new Set([...changed, ...edited]);
  const before = await contentOf(opened.gitDir, pick(opened.baseTree, needed));
  const merged = await contentOf(opened.gitDir, pick(opened.mergeTree, [...needed, ...tests]));
  const official = officialFilesOf(opened, upstream, merged);
  const description = descriptionBytes(upstream, opened.merge);
  const after = new Map([...merged].filter(([path]) => needed.has(path)));
  await writeFiles(join(dir, "official"), official);
  if (description !== null) await writeFile(descriptionOf(dir), description);
  await writeFile(goldOf(dir), await diffOf(before, after, task.dir));
  for (const mutant of upstream.mutants) {
    const wrong = new Map(after);
    for (const path of new Set(mutant.file.edits.map((edit) => edit.file))) {
      const file = after.get(path);
      if (file === undefined || tests.has(path)) {
        throw upstreamProblem("not-found", "edit-file", {
          message: `the edits name '${path}', which the merged code lacks${tests.has(path) ? " (it is a test)" : ""}`,
          where: mutant.path,
          rule: "a mutant is the merged code with edits",
          remedy: "correct the path",
        });
      }
      const edits = mutant.file.edits.filter((edit) => edit.file === path);
      wrong.set(path, { ...file, body: Buffer.from(applyEdits(file.body.toString("utf8"), edits, mutant.path)) });
    }
    const patch = mutantPatchOf(dir, mutant.number, mutant.name);
    await mkdir(dirname(patch), { recursive: true });
    await writeFile(patch, await diffOf(before, wrong, mutant.path));
  }
  await sealLayer(dir);
}

/** The git tree of a task's base, built as a layer; works for a task that is not sealed yet. */
export async function buildBase(upstream: UpstreamMetadata, mirrors: Mirrors): Promise<string> {
  const opened = await openUpstream(upstream, mirrors);
  const files = await contentOf(opened.gitDir, opened.baseTree);
  const building = `${baseLayer("")}.${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  try {
    await writeFiles(building, files);
    const tree = await gitTreeOid(building);
    await rm(baseLayer(tree), { recursive: true, force: true });
    await rename(building, baseLayer(tree));
    return tree;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

const isFolderOfTree = async (dir: string, tree: string): Promise<boolean> =>
  (await gitTreeOid(dir).catch(() => null)) === tree;

/**
 * Makes sure that what a task takes from upstream lies in its layers, whole: read from the mirror where it does not.
 * A layer that is there is verified and needs no mirror. For a task with a bundled base this does nothing. Throws
 * `upstream.*`, each naming what is missing or differs.
 */
export async function provideSources(task: TaskSource, mirrors: Mirrors = new Map()): Promise<void> {
  const { upstream } = task;
  if (upstream === null) return;
  const { base_tree: tree } = task.metadata;
  let opened: Promise<Opened> | null = null;
  const open = (): Promise<Opened> => (opened ??= openUpstream(upstream, mirrors));
  await ensureLayer(
    baseLayer(tree),
    (dir) => isFolderOfTree(dir, tree),
    async (dir) => {
      const { gitDir, baseTree } = await open();
      await writeFiles(dir, await contentOf(gitDir, baseTree));
      const found = await gitTreeOid(dir);
      if (found === tree) return;
      throw upstreamProblem("conflict", "base-differs", {
        message: `the base at ${upstream.base_commit} without left_out has the tree ${found}, the task states ${tree || "none"}`,
        where: gitDir,
        rule: "the base's git tree equals base_tree of task.toml",
        remedy: `correct base_commit or left_out, or seal the task again: runner task seal ${task.dir}`,
      });
    },
  );
  await ensureLayer(upstream.changeDir, isSealed, async (dir) => buildChange(task, upstream, await open(), dir));
}
