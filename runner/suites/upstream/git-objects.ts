import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { isShallow, mirrorGit } from "./mirrors";
import { upstreamProblem } from "./problems";

type GitObject = { type: string; body: Buffer };
export type TreeEntry = { mode: string; oid: string };
export type Commit = { oid: string; tree: string; parents: string[]; message: Buffer };

const batchSize = 400;

async function readBatch(gitDir: string, oids: readonly string[]): Promise<Buffer> {
  const args = [...mirrorGit.settings, "--git-dir", gitDir, "cat-file", "--batch"];
  const program = spawn("git", args, { env: mirrorGit.env(gitDir) as NodeJS.ProcessEnv });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  program.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  program.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  program.stdin.on("error", () => undefined);
  program.stdin.end(`${oids.join("\n")}\n`);
  const code = await new Promise<number | null>((done, fail) => {
    program.once("error", fail);
    program.once("close", done);
  });
  if (code === 0) return Buffer.concat(out);
  throw upstreamProblem("unavailable", "mirror-damaged", {
    message: `the mirror cannot be read: ${Buffer.concat(err).toString("utf8").trim().split("\n")[0] || `code ${code}`}`,
    where: gitDir,
    rule: "a mirror holds every object of the commits that a task names",
    remedy: "look at it with git fsck, or clone it again",
  });
}

const digestOf = ({ type, body }: GitObject): string =>
  createHash("sha1").update(`${type} ${body.length}\0`).update(body).digest("hex");

/**
 * Reads objects of a mirror and hashes each: what a mirror gives is what its object id says, or an error
 * (`upstream.object-missing`, `upstream.object-differs`). Gives a map by object id.
 */
export async function readObjects(gitDir: string, oids: Iterable<string>): Promise<Map<string, GitObject>> {
  const wanted = [...new Set(oids)];
  const objects = new Map<string, GitObject>();
  for (let start = 0; start < wanted.length; start += batchSize) {
    const batch = wanted.slice(start, start + batchSize);
    const bytes = await readBatch(gitDir, batch);
    let at = 0;
    for (const oid of batch) {
      const end = bytes.indexOf(10, at);
      const [, type = "missing", size = "0"] = bytes.toString("latin1", at, end).split(" ");
      const found = { type, body: bytes.subarray(end + 1, end + 1 + Number(size)) };
      if (type === "missing" || end < 0) throw await missingObject(gitDir, oid);
      at = end + 1 + Number(size) + 1;
      if (digestOf(found) !== oid) {
        throw upstreamProblem("conflict", "object-differs", {
          message: `the mirror's object ${oid} does not have the content that its name says`,
          where: gitDir,
          rule: "every object that is used is hashed: a mirror is not trusted",
          remedy: "the mirror is damaged or was tampered with: look at it with git fsck, and clone it again",
        });
      }
      objects.set(oid, found);
    }
  }
  return objects;
}

async function missingObject(gitDir: string, oid: string): Promise<Error> {
  const shallow = await isShallow(gitDir);
  return upstreamProblem("not-found", "object-missing", {
    message: `the mirror has no object ${oid}${shallow ? ": it is a shallow clone" : ""}`,
    where: gitDir,
    rule: "a mirror holds every object of the commits that a task names",
    remedy: `${shallow ? "git fetch --unshallow" : "git fetch --all"} in the mirror (a partial clone lacks objects too: clone it whole)`,
  });
}

/**
 * Reads one commit. Throws `upstream.commit-missing` where the mirror lacks it, and says whether its history was cut.
 * @param what how the task names it: `base_commit` or `merge_commit`
 */
export async function readCommit(gitDir: string, oid: string, what: string): Promise<Commit> {
  const objects = await readObjects(gitDir, [oid]).catch(async (error: unknown) => {
    if ((error as { code?: string }).code !== "upstream.object-missing") throw error;
    const shallow = await isShallow(gitDir);
    throw upstreamProblem("not-found", "commit-missing", {
      message: `the mirror lacks ${what} ${oid}${shallow ? ": it is a shallow clone" : ""}`,
      where: gitDir,
      rule: "a mirror has the base and the merge commit of the task",
      remedy: shallow
        ? "git fetch --unshallow in the mirror"
        : `git fetch origin ${oid} in the mirror, or clone it anew`,
    });
  });
  const object = objects.get(oid);
  if (object?.type !== "commit") {
    throw upstreamProblem("invalid", "not-a-commit", {
      message: `${what} ${oid} is a ${object?.type}`,
      where: gitDir,
      rule: "base and merge are commits",
      remedy: `correct ${what} in task.toml`,
    });
  }
  const text = object.body.toString("latin1");
  const blank = text.indexOf("\n\n");
  const head = text.slice(0, blank < 0 ? undefined : blank).split("\n");
  const valuesOf = (name: string) =>
    head.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  return {
    oid,
    tree: valuesOf("tree")[0] ?? "",
    parents: valuesOf("parent"),
    message: blank < 0 ? Buffer.alloc(0) : object.body.subarray(blank + 2),
  };
}

function parseTree(body: Buffer, folder: string, gitDir: string): { name: string; mode: string; oid: string }[] {
  const entries = [];
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(32, at);
    const nul = body.indexOf(0, space);
    const name = body.toString("utf8", space + 1, nul);
    if (name === "" || name === "." || name === ".." || /[/\\\p{Cc}]|^\.git$/iu.test(name)) {
      throw upstreamProblem("invalid", "path", {
        message: `the folder '${folder || "/"}' holds an entry named ${JSON.stringify(name)}`,
        where: gitDir,
        rule: "a path of a code base stays inside of it and can be written down",
        remedy: "add the folder to left_out",
      });
    }
    entries.push({ name, mode: body.toString("latin1", at, space), oid: body.toString("hex", nul + 1, nul + 21) });
    at = nul + 21;
  }
  return entries;
}

/** Every file, link and submodule below a tree, by path. Reads level after level; `prune` names folders to skip. */
export async function readTree(
  gitDir: string,
  tree: string,
  prune: (folder: string) => boolean,
): Promise<Map<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>();
  let level = [{ folder: "", oid: tree }];
  while (level.length > 0) {
    const objects = await readObjects(
      gitDir,
      level.map(({ oid }) => oid),
    );
    const next: typeof level = [];
    for (const { folder, oid } of level) {
      for (const { name, mode, oid: child } of parseTree(objects.get(oid)?.body ?? Buffer.alloc(0), folder, gitDir)) {
        const path = folder === "" ? name : `${folder}/${name}`;
        if (mode !== "40000") entries.set(path, { mode, oid: child });
        else if (!prune(path)) next.push({ folder: path, oid: child });
      }
    }
    level = next;
  }
  return entries;
}
