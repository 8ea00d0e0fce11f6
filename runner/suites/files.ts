import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";

/** What interpreters, test programs and desktops leave behind: never part of a task, whatever stands in the folder. */
const leftovers = /^(?:__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.git|\.DS_Store|.*\.py[co]|.*~)$/;

/** One file of a task: its path in the place where grading sees it, where it lies here, and its digest. */
export type SourceFile = { path: string; absPath: string; sha256: string };

/** Lowercase hex sha256. */
export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Byte order of the UTF-8 encoding, as `LC_ALL=C sort` gives it. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Paths of every regular file and link below `dir`, relative, with forward slashes, in byte order; interpreters'
 * leftovers are left out. Throws `task.file-kind` on what is neither a file, a link nor a folder.
 */
export async function listFiles(dir: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(dir, prefix), { withFileTypes: true })) {
      if (leftovers.test(entry.name)) continue;
      const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory()) await walk(path);
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(path);
      else {
        throw new InfraDevError("invalid", {
          code: "task.file-kind",
          message: `'${path}' is neither a file, a link nor a folder`,
          where: join(dir, path),
          rule: "a task holds regular files and links only",
          remedy: "remove the socket, device or pipe",
        });
      }
    }
  };
  await walk("");
  return found.sort(compareBytes);
}

/** Regular files below `dir` with their digests, each path prefixed by `prefix`. Links are refused. */
export async function digestFiles(dir: string, prefix = ""): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const path of await listFiles(dir)) {
    const absPath = join(dir, path);
    if ((await lstat(absPath)).isSymbolicLink()) {
      throw new InfraDevError("invalid", {
        code: "task.link",
        message: `'${path}' is a symbolic link`,
        where: absPath,
        rule: "a task's tests are regular files, so that their digests mean their bytes",
        remedy: "replace the link by the file it points to",
      });
    }
    files.push({ path: `${prefix}${path}`, absPath, sha256: sha256Hex(await readFile(absPath)) });
  }
  return files;
}

const gitObject = (type: string, body: Buffer): Buffer =>
  createHash("sha1").update(`${type} ${body.length}\0`).update(body).digest();

type TreeNode = { mode: string; name: string; oid: Buffer };

/**
 * The oid of the git tree that `git add -A && git write-tree` makes of a folder with neither ignore rules nor
 * conversion of line ends: modes 100644, 100755 (owner may execute) and 120000, entries in git's order.
 */
export async function gitTreeOid(dir: string): Promise<string> {
  const paths = await listFiles(dir);
  const build = async (prefix: string, below: string[]): Promise<Buffer> => {
    const nodes: TreeNode[] = [];
    const folders = new Map<string, string[]>();
    for (const rest of below) {
      const slash = rest.indexOf("/");
      if (slash >= 0) {
        const name = rest.slice(0, slash);
        folders.set(name, [...(folders.get(name) ?? []), rest.slice(slash + 1)]);
        continue;
      }
      const absPath = join(dir, prefix, rest);
      const stat = await lstat(absPath);
      const link = stat.isSymbolicLink();
      const body = link ? Buffer.from(await readlink(absPath)) : await readFile(absPath);
      const mode = link ? "120000" : stat.mode & 0o100 ? "100755" : "100644";
      nodes.push({ mode, name: rest, oid: gitObject("blob", body) });
    }
    for (const [name, rest] of folders) nodes.push({ mode: "40000", name, oid: await build(join(prefix, name), rest) });
    const sortKey = (node: TreeNode) => (node.mode === "40000" ? `${node.name}/` : node.name);
    nodes.sort((a, b) => compareBytes(sortKey(a), sortKey(b)));
    const body = nodes.map((node) => Buffer.concat([Buffer.from(`${node.mode} ${node.name}\0`), node.oid]));
    return gitObject("tree", Buffer.concat(body));
  };
  return (await build("", paths)).toString("hex");
}
