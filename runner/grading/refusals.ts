import { posix } from "node:path";
import type { LoadedTask } from "../suites/load";
import { type GitDir, gitOrThrow } from "./git";

/** Bytes of a patch at most; a larger one is refused. */
export const maxPatchBytes = 16 * 1024 * 1024;
const maxChanges = 10_000;
const maxPathBytes = 1_000;
const maxNameBytes = 200;
const maxLinkHops = 40;
const maxEvidence = 20;

/** Why a patch is not graded: the patch is at fault, not the host. */
export type Rejection = { code: string; message: string; evidence: string[] };

/** One path that a patch changes, as `git diff-index --raw` tells it. */
export type Change = { path: string; before: string; after: string; mode: string; oid: string };

export const isProtected = (path: string, protectedPaths: readonly string[]): boolean =>
  protectedPaths.some((entry) => (entry.endsWith("/") ? `${path}/`.startsWith(entry) : path === entry));

const inProtectedFolder = (path: string, protectedPaths: readonly string[]): boolean =>
  protectedPaths.some((entry) => entry.endsWith("/") && path.startsWith(entry));

const harnessNames = new Set([
  "conftest.py",
  "pytest.ini",
  ".pytest.ini",
  "pytest.toml",
  ".pytest.toml",
  "tox.ini",
  "setup.cfg",
  "sitecustomize.py",
  "usercustomize.py",
  "pytest.py",
]);
const harnessFolders = new Set(["_pytest", "pytest", "pluggy"]);

/** Whether a file would take part in how tests are found, run or reported. */
export function isHarness(path: string): boolean {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  return (
    harnessNames.has(name) ||
    /^infradev_\w+\.py$/.test(name) ||
    name.endsWith(".pth") ||
    parts.slice(0, -1).some((part) => harnessFolders.has(part))
  );
}

/** What git itself reads from a checkout. */
const gitNames = new Set([".gitattributes", ".gitmodules"]);

/** Whether a file steers git, which checks the graded code out. */
export const isGitFile = (path: string): boolean => gitNames.has(posix.basename(path));

/** Packages that tests measure and compare with: none may be replaced by a file of its name. */
const frameworks = new Set(["torch", "torchvision", "torchaudio", "numpy", "triton", "cuda", "nvidia", "pynvml"]);

/**
 * The module's name where an added path would be imported by a name of its own from a folder on the import path
 * (`x.py`, `x/__init__.py`, or a link `x`), else null.
 */
function topLevelModule({ path, mode }: Change, importRoots: ReadonlySet<string>): string | null {
  const { dir, base, name, ext } = posix.parse(path);
  if (base === "__init__.py") return importRoots.has(posix.parse(dir).dir) ? posix.basename(dir) : null;
  if (!importRoots.has(dir)) return null;
  if (mode === "120000" && ext === "") return base;
  return ext === ".py" || ext === ".so" ? name.replace(/\..*$/, "") : null;
}

/**
 * The repository's root, and the folders of official tests and above, which pytest puts on the import path. Of a package
 * it puts the folder there that the package stands in, so that a package's own modules stand for nothing else.
 */
function importRootsOf(task: LoadedTask, paths: ReadonlySet<string>): Set<string> {
  const roots = new Set([""]);
  const official = new Set(task.officialFiles.map(({ path }) => path));
  for (const path of official) {
    for (let dir = posix.dirname(path); dir !== "."; dir = posix.dirname(dir)) {
      const init = `${dir}/__init__.py`;
      if (!paths.has(init) && !official.has(init)) roots.add(dir);
    }
  }
  return roots;
}

/** Paths of the checkout that is graded: what is protected is as the base has it. */
function pathsAfter(basePaths: readonly string[], changes: readonly Change[], task: LoadedTask): Set<string> {
  const { protectedPaths } = task.manifest.task;
  const paths = new Set(basePaths.filter((path) => path !== ""));
  for (const { path, after } of changes) {
    if (isProtected(path, protectedPaths)) continue;
    if (after === "A") paths.add(path);
    else if (after === "D" && !isHarness(path) && !isGitFile(path)) paths.delete(path);
  }
  return paths;
}

export const reject = (code: string, message: string, evidence: readonly string[] = []): Rejection => ({
  code,
  message,
  evidence: evidence.slice(0, maxEvidence),
});

/** What of a patch's bytes is refused before git sees them. */
export function inspectBytes(patch: Uint8Array): Rejection | null {
  if (patch.length > maxPatchBytes) {
    return reject("patch.too-large", `the patch has ${patch.length} bytes; the limit is ${maxPatchBytes}`);
  }
  if (patch.includes(0)) {
    return reject("patch.binary", "the patch holds a NUL byte: a patch is text, as `git diff` writes it");
  }
  const text = Buffer.from(patch).toString("latin1");
  const binary = /^(?:GIT binary patch|Binary files .* differ)$/m.exec(text);
  if (binary !== null) {
    return reject("patch.binary", "the patch changes a binary file, which is not accepted", [binary[0]]);
  }
  const submodule = /^(?:new file mode|new mode|deleted file mode|old mode|index [0-9a-f]+\.\.[0-9a-f]+) 160000$/m.exec(
    text,
  );
  if (submodule !== null) return reject("patch.submodule", "the patch adds or changes a submodule", [submodule[0]]);
  return null;
}

/** The names of a file's folders and its own, in a form in which names that some file systems take for one are one. */
const folded = (path: string): string => path.normalize("NFC").toLowerCase();

function* prefixesOf(path: string): Generator<string> {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) yield path.slice(0, at);
  yield path;
}

function inspectPath(path: string): Rejection | null {
  const shown = [JSON.stringify(path).slice(0, 400)];
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/u.test(path)) {
    return reject("patch.path", "a path holds control characters, or is not UTF-8", shown);
  }
  const tooLong =
    Buffer.byteLength(path) > maxPathBytes || path.split("/").some((name) => Buffer.byteLength(name) > maxNameBytes);
  return tooLong
    ? reject("patch.path", `a path has more than ${maxPathBytes} bytes, or a name ${maxNameBytes}`, shown)
    : null;
}

/** Paths that differ in case or composition only are one file on some systems, and read as one everywhere. */
function inspectCase(changes: readonly Change[], kept: Iterable<string>): Rejection | null {
  const known = new Map<string, string>();
  for (const path of kept) for (const prefix of prefixesOf(path)) known.set(folded(prefix), prefix);
  const bases = new Set(known.values());
  for (const { path, after } of changes) {
    if (after !== "A") continue;
    for (const prefix of prefixesOf(path)) {
      const other = known.get(folded(prefix));
      if (other !== undefined && other !== prefix && !bases.has(prefix)) {
        return reject("patch.case", "an added path differs from another one in case or composition only", [
          `${prefix} and ${other}`,
        ]);
      }
      known.set(folded(prefix), prefix);
    }
  }
  return null;
}

/** Where a path leads by way of links, as the kernel walks it; null where it leaves the repository or never ends. */
function resolveLinks(path: string, links: ReadonlyMap<string, string>): string | null {
  const at: string[] = [];
  let pending = path.split("/");
  let hops = 0;
  while (pending.length > 0) {
    const [name = "", ...rest] = pending;
    pending = rest;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (at.pop() === undefined) return null;
      continue;
    }
    at.push(name);
    const target = links.get(at.join("/"));
    if (target === undefined) continue;
    hops += 1;
    if (hops > maxLinkHops || target.startsWith("/")) return null;
    at.pop();
    pending = [...target.split("/"), ...pending];
  }
  return at.join("/");
}

/** Links of the index or of a tree, by path, from lines of `mode ... oid ...<tab>path`. */
async function linksOf(dir: GitDir, listed: Buffer, oidAt: number): Promise<Map<string, string>> {
  const links = new Map<string, string>();
  for (const entry of listed.toString("utf8").split("\0")) {
    if (!entry.startsWith("120000 ")) continue;
    const [head = "", path = ""] = entry.split("\t", 2);
    const oid = head.split(" ")[oidAt] ?? "";
    links.set(path, (await gitOrThrow(dir, ["cat-file", "blob", oid])).toString("utf8"));
  }
  return links;
}

/** Where a patch adds or changes links, no link of the checkout may lead out of it that did not in the base. */
async function inspectLinks(dir: GitDir, changes: readonly Change[]): Promise<Rejection | null> {
  if (!changes.some(({ mode }) => mode === "120000")) return null;
  const links = await linksOf(dir, await gitOrThrow(dir, ["ls-files", "-s", "-z"]), 1);
  const before = await linksOf(dir, await gitOrThrow(dir, ["ls-tree", "-r", "-z", "HEAD"]), 2);
  for (const [path, target] of links) {
    if (resolveLinks(path, links) !== null) continue;
    if (before.get(path) === target && resolveLinks(path, before) === null) continue;
    return reject("patch.symlink", "a symbolic link leads out of the repository, or to itself", [
      `${path} -> ${target}`,
    ]);
  }
  return null;
}

/** What of the changes is refused; the index of `dir` holds them, and nothing of them was written to disk. */
export async function inspectChanges(
  dir: GitDir,
  changes: readonly Change[],
  task: LoadedTask,
  standardModules: ReadonlySet<string>,
): Promise<Rejection | null> {
  if (changes.length > maxChanges) {
    return reject("patch.too-large", `the patch changes ${changes.length} files; the limit is ${maxChanges}`);
  }
  const listed = await gitOrThrow(dir, ["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
  const basePaths = listed.toString("utf8").split("\0");
  const after = pathsAfter(basePaths, changes, task);
  const added = new Set(changes.filter((change) => change.after === "A").map(({ path }) => path));
  return (
    (await inspectEach(dir, changes, task.manifest.task.protectedPaths)) ??
    inspectCase(
      changes,
      [...after].filter((path) => !added.has(path)),
    ) ??
    (await inspectLinks(dir, changes)) ??
    inspectNames(changes, task, standardModules, basePaths, importRootsOf(task, after))
  );
}

async function inspectEach(
  dir: GitDir,
  changes: readonly Change[],
  protectedPaths: readonly string[],
): Promise<Rejection | null> {
  for (const { path, mode, oid, after } of changes) {
    const odd = inspectPath(path);
    if (odd !== null) return odd;
    if (mode === "160000") return reject("patch.submodule", "the patch adds or changes a submodule", [path]);
    // What is added below a protected folder is taken out again, so it is no reason to refuse the whole patch.
    if (after !== "A" || inProtectedFolder(path, protectedPaths)) continue;
    if (isHarness(path)) {
      return reject("patch.harness-file", "the patch adds a file that would take part in running the tests", [path]);
    }
    if (isGitFile(path)) return reject("patch.git-file", "the patch adds a file that steers git", [path]);
    if (posix.basename(path) === "pyproject.toml") {
      const text = (await gitOrThrow(dir, ["cat-file", "blob", oid])).toString("utf8");
      if (/^\s*\[tool\.pytest/m.test(text)) {
        return reject("patch.harness-file", "the patch adds settings of pytest", [`${path}: [tool.pytest]`]);
      }
    }
  }
  return null;
}

/** A module of the standard library measures what probes limit: none may be replaced by a file of its name. */
function inspectNames(
  changes: readonly Change[],
  task: LoadedTask,
  standardModules: ReadonlySet<string>,
  basePaths: readonly string[],
  importRoots: ReadonlySet<string>,
): Rejection | null {
  const ofBase = (name: string): boolean =>
    basePaths.some((path) => path.startsWith(`${name}/`) || path === `${name}.py`);
  for (const change of changes) {
    if (change.after !== "A" || inProtectedFolder(change.path, task.manifest.task.protectedPaths)) continue;
    const name = topLevelModule(change, importRoots);
    if (name === null) continue;
    const whose = standardModules.has(name)
      ? "one of Python's own"
      : frameworks.has(name) && !ofBase(name)
        ? "a package that tests measure with"
        : null;
    if (whose === null) continue;
    return reject("patch.harness-file", `the patch adds a module named '${name}', as ${whose} is`, [change.path]);
  }
  return null;
}
