import { existsSync } from "node:fs";
import { cp, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { InfraDevError, type Problem } from "@/lib/contract/errors";
import { gitTreeOid, sha256Hex } from "../files";
import { type LoadedTask, loadSuite, loadTask, readTask } from "../load";
import { packSuite } from "../pack";
import { readReferencePatch } from "../reference";
import { sealTask } from "../seal";
import { applyEdits } from "./edits";
import { matcherOf } from "./globs";
import { findMirror, type Mirrors, parseMirrors } from "./mirrors";
import { provideSources } from "./sources";
import { description, type FakeUpstream, linesSha256, makeUpstream, put, runGit, writeReferenceTask } from "./testing";

let root: string;
let upstream: FakeUpstream;
let dir: string;
const variables = { ...process.env };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "infradev-upstream-"));
  upstream = await makeUpstream(join(root, "clone"));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  dir = await mkdtemp(join(root, "case-"));
  process.env.INFRADEV_DATA_DIR = join(dir, "data");
  delete process.env.INFRADEV_MIRRORS;
});
afterEach(() => {
  for (const name of ["INFRADEV_DATA_DIR", "INFRADEV_MIRRORS"]) {
    if (variables[name] === undefined) delete process.env[name];
    else process.env[name] = variables[name];
  }
});

const mirrorsTo = (path: string): Mirrors => new Map([["owner/name", path]]);

async function sealed(
  change: Parameters<typeof writeReferenceTask>[2] = {},
  mirror = upstream.dir,
): Promise<LoadedTask> {
  const taskDir = await writeReferenceTask(join(dir, "suite"), upstream, change);
  await sealTask(taskDir, mirrorsTo(mirror));
  return await loadTask(taskDir);
}

async function problemOf(run: Promise<unknown>): Promise<Problem> {
  const error = await run.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof InfraDevError) return error.problem;
  throw error ?? new Error("nothing was refused");
}

/** A copy of the clone with one loose object's bytes changed; git itself is not asked to check it. */
async function tampered(oid: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  const copy = join(dir, "tampered");
  await cp(upstream.dir, copy, { recursive: true, verbatimSymlinks: true });
  const { deflateSync, inflateSync } = await import("node:zlib");
  const path = join(copy, ".git/objects", oid.slice(0, 2), oid.slice(2));
  const bytes = inflateSync(await readFile(path));
  await rm(path, { force: true });
  await writeFile(path, deflateSync(change(bytes)));
  return copy;
}

describe("a task by reference", () => {
  it("takes base, tests, gold and description from a clone, byte for byte", async () => {
    const task = await sealed();
    const paths = (await readdir(task.baseDir, { recursive: true })).sort();
    expect(paths).toEqual([
      "current.py",
      "pkg",
      "pkg/__init__.py",
      "pkg/value.py",
      "run.sh",
      "tests",
      "tests/test_value.py",
    ]);
    expect((await stat(join(task.baseDir, "run.sh"))).mode & 0o111).not.toBe(0);
    expect((await lstat(join(task.baseDir, "current.py"))).isSymbolicLink()).toBe(true);
    expect(await gitTreeOid(task.baseDir)).toBe(task.manifest.task.baseTree);
    const official = await readFile(task.officialFiles[0]?.absPath ?? "");
    expect(sha256Hex(official)).toBe(upstream.testSha256);
    expect(await readFile(join(task.upstream?.changeDir ?? "", "pr-description.md"), "utf8")).toBe(description);
    expect(task.manifest.task.baseCommit).toBe(upstream.base);
    expect(task.manifest.digests.prompts["pr-description"]).toBe(upstream.messageSha256);
  });

  it("has as gold what the merge changed but tests and what is left out, and as mutant gold with edits", async () => {
    const task = await sealed();
    const apply = async (name: string) => {
      const target = await mkdtemp(join(dir, "applied-"));
      await cp(task.baseDir, target, { recursive: true, verbatimSymlinks: true });
      await writeFile(join(dir, "p.patch"), await readReferencePatch(task, name));
      await runGit(target, "init", "-q");
      await runGit(target, "apply", join(dir, "p.patch"));
      return target;
    };
    const gold = await apply("gold");
    const merged = await readFile(join(upstream.dir, "pkg/value.py"), "utf8");
    expect(await readFile(join(gold, "pkg/value.py"), "utf8")).toBe(merged);
    expect(existsSync(join(gold, "pkg/names.py"))).toBe(true);
    expect((await readReferencePatch(task, "gold")).toString()).not.toMatch(/guide|test_value/);
    const mutant = await apply("mutant-1");
    const wrong = await readFile(join(mutant, "pkg/value.py"), "utf8");
    expect(wrong).toBe(merged.replace("number * 2", "number + 2"));
  });

  it("is read from a bare mirror as from a clone", async () => {
    const bare = join(dir, "bare.git");
    await runGit(dir, "clone", "-q", "--bare", upstream.dir, bare);
    const fromClone = await sealed();
    const elsewhere = join(dir, "other");
    process.env.INFRADEV_DATA_DIR = elsewhere;
    const fromBare = await sealed({}, bare);
    expect(fromBare.manifest).toEqual(fromClone.manifest);
    expect(fromBare.baseDir.startsWith(elsewhere)).toBe(true);
  });

  it("does with a shallow clone that has both commits, and names the one that is missing where it has not", async () => {
    const shallow = async (depth: string): Promise<string> => {
      const path = join(dir, `shallow-${depth}`);
      await runGit(dir, "clone", "-q", "--depth", depth, `file://${upstream.dir}`, path);
      return path;
    };
    await sealed({}, await shallow("2"));
    process.env.INFRADEV_DATA_DIR = join(dir, "other");
    const problem = await problemOf(sealed({}, await shallow("1")));
    expect(problem.code).toBe("upstream.commit-missing");
    expect(problem.message).toBe(`the mirror lacks base_commit ${upstream.base}: it is a shallow clone`);
    expect(problem.remedy).toContain("--unshallow");
  });

  it("is read once: layers that are whole need no mirror, and one that is not is built anew", async () => {
    const task = await sealed();
    await provideSources(task, mirrorsTo(join(dir, "gone")));
    await writeFile(join(task.baseDir, "pkg/value.py"), "changed\n");
    expect((await problemOf(provideSources(task, mirrorsTo(join(dir, "gone"))))).code).toBe("upstream.not-a-mirror");
    await provideSources(task, mirrorsTo(upstream.dir));
    expect(await gitTreeOid(task.baseDir)).toBe(task.manifest.task.baseTree);
    await writeFile(task.goldPath, "changed\n");
    await provideSources(task, mirrorsTo(upstream.dir));
    expect(await readFile(task.goldPath, "utf8")).toContain("+def doubled(number):");
  });

  it("is built by one of many that need it at once, and after one that died", async () => {
    const task = await sealed();
    await rm(process.env.INFRADEV_DATA_DIR ?? "", { recursive: true });
    await put(join(process.env.INFRADEV_DATA_DIR ?? "", "layers/base"), {
      // No process has this number: the highest that Linux gives is below 2^22.
      [`${task.manifest.task.baseTree}.lock`]: "4194305\n",
      [`${task.manifest.task.baseTree}.building/pkg/value.py`]: "half-way\n",
    });
    await Promise.all(Array.from({ length: 4 }, () => provideSources(task, mirrorsTo(upstream.dir))));
    expect(await gitTreeOid(task.baseDir)).toBe(task.manifest.task.baseTree);
    const left = await readdir(join(process.env.INFRADEV_DATA_DIR ?? "", "layers/base"));
    expect(left).toEqual([task.manifest.task.baseTree]);
  });

  it("packs gold and mutants with its sources, the empty patch without, and of upstream's words only their place", async () => {
    const task = await sealed();
    const suite = await loadSuite(join(dir, "suite"));
    const whole = await packSuite(suite);
    expect(whole.referenceSets.map(({ name, patches }) => [name, patches.length])).toEqual([
      ["gold", 1],
      ["nop", 1],
      ["mutant-1", 1],
    ]);
    const without = await packSuite(suite, new Set([task.metadata.slug]));
    expect(without.referenceSets.map(({ name, patches }) => [name, patches.length])).toEqual([
      ["gold", 0],
      ["nop", 1],
    ]);
    const packed = JSON.stringify(without);
    expect(packed).not.toContain("Numbers can be doubled");
    expect(packed).toContain(`https://github.com/owner/name/commit/${upstream.merge}`);
  });
});

describe("what is refused", () => {
  const refusals: [string, () => Promise<unknown>, string, RegExp][] = [
    [
      "a commit that is not there",
      () => sealed({ upstream: `base_commit = "${"1".repeat(40)}"\nmerge_commit = "${upstream.merge}"` }),
      "upstream.commit-missing",
      /lacks base_commit 1{40}/,
    ],
    [
      "commits that are not parent and child",
      () => sealed({ upstream: `base_commit = "${upstream.merge}"\nmerge_commit = "${upstream.base}"` }),
      "upstream.not-parent",
      /first parent/,
    ],
    [
      "a test of another content",
      () => sealed({ tests: `{ path = "tests/test_value.py", sha256 = "${"a".repeat(64)}" }` }),
      "upstream.test-differs",
      /'tests\/test_value.py' has the digest [0-9a-f]{64}, the task states a{64}/,
    ],
    [
      "a test that is left out",
      () => sealed({ leftOut: '"docs/**", "tests/*.py"' }),
      "upstream.test-missing",
      /left out by left_out/,
    ],
    [
      "an edit of other lines",
      () =>
        sealed({
          mutant: `[[edits]]\nfile = "pkg/value.py"\nreplace = [1, 1]\nsha256 = "${linesSha256(2, 2)}"\ntext = "x"\n`,
        }),
      "upstream.edit-differs",
      /lines 1 to 1 of 'pkg\/value.py'/,
    ],
    [
      "an edit of a file that is not there",
      () =>
        sealed({
          mutant: `[[edits]]\nfile = "pkg/none.py"\nreplace = [1, 1]\nsha256 = "${linesSha256(2, 2)}"\ntext = "x"\n`,
        }),
      "upstream.edit-file",
      /pkg\/none.py/,
    ],
  ];
  it.each(refusals)("%s", async (_what, run, code, message) => {
    const problem = await problemOf(run());
    expect(problem.code).toBe(code);
    expect(problem.message).toMatch(message);
    expect(problem.remedy).toBeTruthy();
  });

  it("a base of another tree than was sealed", async () => {
    const task = await sealed();
    const path = join(task.dir, "task.toml");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(task.manifest.task.baseTree, "b".repeat(40)));
    const problem = await problemOf(provideSources(await loadTask(task.dir), mirrorsTo(upstream.dir)));
    expect(problem.code).toBe("upstream.base-differs");
    expect(problem.message).toContain(task.manifest.task.baseTree);
  });

  it("an object with other bytes than its name says, wherever it stands", async () => {
    const blob = (await runGit(upstream.dir, "rev-parse", `${upstream.merge}:pkg/value.py`)).trim();
    const mirror = await tampered(blob, (bytes) =>
      Buffer.from(bytes.toString("latin1").replace("* 2", "* 3"), "latin1"),
    );
    const problem = await problemOf(sealed({}, mirror));
    // git itself may notice first, and then says so in its own words.
    expect(["upstream.object-differs", "upstream.mirror-damaged", "upstream.object-missing"]).toContain(problem.code);
    expect(await readdir(join(dir, "data/layers/change"))).toEqual([]);
  });

  it("submodules, pointers to large files and links that lead out, by path", async () => {
    const copy = join(dir, "odd");
    await cp(upstream.dir, copy, { recursive: true, verbatimSymlinks: true });
    const cases: [string, () => Promise<void>][] = [
      [
        "upstream.lfs-pointer",
        () => writeFile(join(copy, "odd"), "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
      ],
      ["upstream.symlink", () => symlink("../../etc/passwd", join(copy, "odd"))],
      [
        "upstream.submodule",
        async () => void (await runGit(copy, "update-index", "--add", "--cacheinfo", `160000,${upstream.base},odd`)),
      ],
    ];
    for (const [code, make] of cases) {
      await runGit(copy, "checkout", "-q", "--detach", upstream.base);
      await make();
      if (code !== "upstream.submodule") await runGit(copy, "add", "odd");
      await runGit(copy, "commit", "-q", "-m", "odd");
      const base = (await runGit(copy, "rev-parse", "HEAD")).trim();
      await runGit(copy, "checkout", "-q", upstream.merge, "--", "pkg", "tests");
      await runGit(copy, "commit", "-q", "-m", description);
      const merge = (await runGit(copy, "rev-parse", "HEAD")).trim();
      const names = `base_commit = "${base}"\nmerge_commit = "${merge}"`;
      const problem = await problemOf(sealed({ upstream: names }, copy));
      expect(problem.code).toBe(code);
      expect(problem.message).toContain("'odd'");
      await sealed({ upstream: names, leftOut: '"odd"' }, copy);
      await rm(join(copy, "odd"), { force: true });
    }
  });

  it("a mutant that is a patch, since it would carry lines of upstream", async () => {
    const taskDir = await writeReferenceTask(join(dir, "suite"), upstream);
    await writeFile(join(taskDir, "mutants/2-patch.patch"), "");
    expect((await problemOf(readTask(taskDir))).code).toBe("task.mutant-name");
  });
});

describe("mirrors", () => {
  it("are found where they are given, in the variable, or in the data folder; in this order", async () => {
    const problem = await problemOf(findMirror("owner/name", new Map()));
    expect(problem.code).toBe("upstream.no-mirror");
    expect(problem.remedy).toContain("git clone --bare https://github.com/owner/name");
    const own = join(dir, "data/mirrors/owner/name.git");
    await runGit(dir, "clone", "-q", "--bare", upstream.dir, own);
    expect(await findMirror("owner/name", new Map())).toBe(own);
    process.env.INFRADEV_MIRRORS = `other/name=${own}:owner/name=${upstream.dir}`;
    expect(await findMirror("owner/name", new Map())).toBe(join(upstream.dir, ".git"));
    expect(await findMirror("owner/name", mirrorsTo(own))).toBe(own);
  });

  it("are no folder that merely lies in a repository", async () => {
    await put(upstream.dir, { "inner/file": "" });
    const problem = await problemOf(findMirror("owner/name", mirrorsTo(join(upstream.dir, "inner"))));
    await rm(join(upstream.dir, "inner"), { recursive: true });
    expect(problem.code).toBe("upstream.not-a-mirror");
  });

  it.each(["owner/name", "name=/x", "owner/name="])("are not given as '%s'", (entry) => {
    expect(() => parseMirrors([entry])).toThrow(/names no mirror/);
  });
});

describe("edits and globs", () => {
  it("replace and insert lines, each named by the text as it was", () => {
    const text = "a\nb\nc\n";
    const edit = (first: number, last: number, replacement: string) => ({
      file: "f",
      replace: [first, last] as [number, number],
      sha256: sha256Hex(
        text
          .split(/(?<=\n)/)
          .slice(first - 1, last)
          .join(""),
      ),
      text: replacement,
    });
    const insert = { file: "f", insert_before: 3, sha256: sha256Hex("c\n"), text: "new" };
    expect(applyEdits(text, [edit(1, 1, "A\nAA\n"), insert], "m")).toBe("A\nAA\nb\nnew\nc\n");
    expect(applyEdits(text, [edit(2, 3, "")], "m")).toBe("a\n");
    expect(() => applyEdits(text, [edit(1, 2, "x"), edit(2, 2, "y")], "m")).toThrow(/touch line 2/);
    expect(() => applyEdits(text, [{ ...edit(3, 3, ""), replace: [3, 9] }], "m")).toThrow(/lines 3 to 9/);
  });

  it.each([
    ["docs/**", "docs/a/b.md", true],
    ["docs/**", "docs", false],
    ["*.md", "a/b.md", false],
    ["**/*.md", "a/b.md", true],
    ["**/*.md", "b.md", true],
    ["a.c", "abc", false],
    ["tests/*/x.py", "tests/a/x.py", true],
    ["tests/*/x.py", "tests/a/b/x.py", false],
  ])("'%s' and '%s': %s", (glob, path, expected) => {
    expect(matcherOf([glob])(path)).toBe(expected);
  });
});
