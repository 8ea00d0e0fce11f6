import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoadedTask } from "../suites/load";
import { writeTinyTask } from "./testing/tiny-task";
import { prepareWorkspace } from "./workspace";

const officialTest = "def test_it():\n    assert True\n";
const base = {
  "lib/core.py": "x = 0\n",
  "lib/deep/er/file.py": "y = 0\n",
  "tests/test_old.py": "def test_old():\n    pass\n",
};

let task: LoadedTask;
let removeTask: () => Promise<void>;
let scratch: string;

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), "infradev-refusals-")));
  const tiny = await writeTinyTask({
    base,
    tests: { "tests/test_it.py": officialTest },
    groups: [{ id: "official" }],
    ids: { "tests/test_it.py::test_it": { group: "official" } },
  });
  task = tiny.task;
  removeTask = tiny.remove;
});

afterAll(async () => {
  await removeTask();
  await rm(scratch, { recursive: true, force: true });
});

const name = fc.constantFrom(
  ...["lib", "deep", "er", "core.py", "a", "b", "x.py", "tests", "test_it.py", "..", "..", ".", "", ".git", ".GIT"],
  ...["git~1", "outside", "Lib", "con", "a b", "\u202e", "e\u0301", "é", "\\", "-rf", ".gitattributes", "conftest.py"],
);
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join("/"));
const quoted = (text: string): string => (/^[\w./ ~-]+$/.test(text) ? text : JSON.stringify(text));
const header = (at: string): string => `diff --git ${quoted(`a/${at}`)} ${quoted(`b/${at}`)}\n`;

const addition = fc
  .tuple(path, fc.constantFrom("100644", "100755", "104755", "100600", "040000"))
  .map(
    ([at, mode]) =>
      `${header(at)}new file mode ${mode}\n--- /dev/null\n+++ ${quoted(`b/${at}`)}\n@@ -0,0 +1 @@\n+x = 1\n`,
  );
const link = fc
  .tuple(
    path,
    fc.oneof(
      path,
      path.map((target) => `/${target}`),
      path.map((target) => `../${target}`),
    ),
  )
  .map(
    ([at, target]) =>
      `${header(at)}new file mode 120000\n--- /dev/null\n+++ ${quoted(`b/${at}`)}\n@@ -0,0 +1 @@\n+${target}\n\\ No newline at end of file\n`,
  );
const move = fc
  .tuple(fc.constantFrom(...Object.keys(base)), path, fc.constantFrom("rename", "copy"))
  .map(
    ([from, to, how]) =>
      `diff --git a/${from} ${quoted(`b/${to}`)}\nsimilarity index 100%\n${how} from ${from}\n${how} to ${quoted(to)}\n`,
  );
const removal = fc.constantFrom(...Object.keys(base)).map((at) => {
  const lines = base[at as keyof typeof base].trimEnd().split("\n");
  return `${header(at)}deleted file mode 100644\n--- a/${at}\n+++ /dev/null\n@@ -1,${lines.length} +0,0 @@\n${lines.map((line) => `-${line}\n`).join("")}`;
});
const toLink = path.map(
  (target) =>
    `${header("lib/core.py")}old mode 100644\nnew mode 120000\n--- a/lib/core.py\n+++ b/lib/core.py\n@@ -1 +1 @@\n-x = 0\n+${target}\n\\ No newline at end of file\n`,
);
const noise = fc.constantFrom("", "garbage\n", "@@ -1 +1 @@\n", "Subproject commit 0\n", "-- \n2.39\n");
const patches = fc
  .array(fc.oneof({ weight: 4, arbitrary: addition }, { weight: 5, arbitrary: link }, move, removal, toLink, noise), {
    maxLength: 4,
  })
  .map((parts) => parts.join(""));

/** Everything below a folder, links not followed. */
async function entriesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => join(entry.parentPath, entry.name)).sort();
}

describe("whatever a patch holds", () => {
  it("nothing is written outside of its checkout, and no path of the checkout leads out", async () => {
    let graded = 0;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(patches, async (patch) => {
        run += 1;
        const place = join(scratch, String(run));
        const outside = join(place, "outside");
        await mkdir(outside, { recursive: true });
        await writeFile(join(outside, "kept.py"), "kept\n");
        const prepared = await prepareWorkspace(task, Buffer.from(patch), join(place, "work"), ["json"]);
        expect(await readdir(place)).toEqual(["outside", "work"]);
        expect(await readdir(outside)).toEqual(["kept.py"]);
        expect(await readFile(join(outside, "kept.py"), "utf8")).toBe("kept\n");
        if ("code" in prepared) {
          expect(prepared.code).toMatch(/^patch\./);
          expect(await readdir(join(place, "work"))).not.toContain("repo");
        } else {
          graded += 1;
          expect(await readFile(join(prepared.repository, "tests/test_it.py"), "utf8")).toBe(officialTest);
          for (const entry of await entriesBelow(prepared.repository)) {
            expect(entry.slice(prepared.repository.length)).not.toMatch(/\/\.git(\/|$)|[\p{Cc}\p{Cf}]/iu);
            const stat = await lstat(entry);
            expect(stat.isFile() || stat.isDirectory() || stat.isSymbolicLink()).toBe(true);
            expect(stat.mode & 0o7000).toBe(0);
            const reached = await realpath(entry).catch((error: NodeJS.ErrnoException) => error.code);
            const inside = reached === prepared.repository || reached?.startsWith(`${prepared.repository}/`);
            expect([inside, reached]).toContainEqual(reached === "ENOENT" || reached === "ENOTDIR" ? reached : true);
          }
        }
        await rm(place, { recursive: true, force: true });
      }),
      { numRuns: 100, seed: 20261129 },
    );
    expect(graded).toBeGreaterThan(10);
  }, 120_000);
});

describe("a patch by an honest author", () => {
  const added = (at: string): string =>
    `${header(at)}new file mode 100644\n--- /dev/null\n+++ b/${at}\n@@ -0,0 +1 @@\n+x = 1\n`;
  const prepare = async (of: LoadedTask, patch: string) => {
    const prepared = await prepareWorkspace(of, Buffer.from(patch), await mkdtemp(join(scratch, "work-")), ["types"]);
    return "code" in prepared ? prepared.code : null;
  };

  it("may give a file a name that differs in case only", async () => {
    const renamed = `${header("lib/Core.py")}`.replace("a/lib/Core.py", "a/lib/core.py");
    const patch = `${renamed}similarity index 100%\nrename from lib/core.py\nrename to lib/Core.py\n`;
    expect(await prepare(task, patch)).toBeNull();
    expect(await prepare(task, added("lib/Core.py"))).toBe("patch.case");
  });

  it("may name a module of a package as Python names one of its own, also where tests stand in the package", async () => {
    const { task: inside, remove } = await writeTinyTask({
      base: { ...base, "core/__init__.py": "", "core/tests/__init__.py": "", "plain/core.py": "" },
      tests: { "core/tests/test_it.py": officialTest, "plain/tests/test_it.py": officialTest },
      groups: [{ id: "official" }],
      ids: {
        "core/tests/test_it.py::test_it": { group: "official" },
        "plain/tests/test_it.py::test_it": { group: "official" },
      },
    });
    expect(await prepare(inside, added("core/types.py"))).toBeNull();
    expect(await prepare(inside, added("types.py"))).toBe("patch.harness-file");
    expect(await prepare(inside, added("plain/types.py"))).toBe("patch.harness-file");
    const gone = `${header("core/__init__.py")}deleted file mode 100644\nindex e69de29..0000000\n`;
    expect(await prepare(inside, `${gone}${added("core/types.py")}`)).toBe("patch.harness-file");
    await remove();
  });
});
