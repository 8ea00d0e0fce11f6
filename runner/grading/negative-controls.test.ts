import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pythonSource } from "../python/sources";

type Changed = { source: string; changed: Record<string, "expectation" | "end"> };

function change(seed: number, files: { source: string; tests: string[] }[]): Changed[] {
  const answer = execFileSync("python3", ["-I", "-B", "-c", pythonSource("infradev_controls.py")], {
    input: JSON.stringify({ seed, files }),
    encoding: "utf8",
  });
  return JSON.parse(answer).files;
}

/** Runs `test_it` of each source without pytest, and says whether it ended without a failed assertion. */
function passes(sources: string[]): boolean[] {
  const program = `
import json, sys
passed = []
for source in json.load(sys.stdin):
    space = {}
    exec(compile(source, "test", "exec"), space)
    try:
        space["test_it"]()
    except AssertionError:
        passed.append(False)
    else:
        passed.append(True)
print(json.dumps(passed))`;
  return JSON.parse(
    execFileSync("python3", ["-I", "-c", program], { input: JSON.stringify(sources), encoding: "utf8" }),
  ) as boolean[];
}

const passing: Record<string, [body: string, how: "expectation" | "end"]> = {
  "a literal": ["assert 2 + 2 == 4", "expectation"],
  "a sum with a literal": ["n = 3\n    assert 45 == 42 + n", "expectation"],
  "a list of literals": ['assert ["a", 1] == ["a", 1]', "expectation"],
  "a value of a mapping": ['assert {"a": 1.5} == {"a": 1.5}', "expectation"],
  "a literal in a checks block": [
    "from contextlib import nullcontext as checks\n    with checks('value'):\n        assert 1 == 1",
    "expectation",
  ],
  "the last of two values of one key": ['k = "a"\n    assert {"a": 2} == {k: 1, "a": 2}', "expectation"],
  "a value that a later one replaces": ['more = {"a": 2}\n    assert {"a": 2} == {"a": 1, **more}', "end"],
  "a comparison with a name": ["n = 4\n    assert 2 + 2 == n", "end"],
  "a product with a literal, which may be nothing": ["n = 0\n    assert 0 == 2 * n", "end"],
  "an argument of a call": ["assert 3 == max(3, 1)", "end"],
  "an assertion in a loop": ["for n in []:\n        assert n == 1", "end"],
  "an assertion in a branch": ["if not True:\n        assert 1 == 1", "end"],
  "an inequality": ["assert 1 < 2", "end"],
  "no assertion": ["x = 1", "end"],
  "two statements on the last line": ["x = 1\n    y = 2; z = 3;", "end"],
  "text of several lines at the end": ['x = """\na"""', "end"],
};

describe("a negative control", () => {
  it("is made as is known of each kind of test, and fails where the test passes", () => {
    const sources = Object.values(passing).map(([body]) => `def test_it():\n    ${body}\n`);
    const ways = Object.values(passing).map(([, how]) => ({ test_it: how }));
    expect(passes(sources)).toEqual(sources.map(() => true));
    for (const seed of [1, 2, 3, 4, 5]) {
      const made = change(
        seed,
        sources.map((source) => ({ source, tests: ["test_it"] })),
      );
      expect(made.map(({ changed }) => changed)).toEqual(ways);
      expect(passes(made.map(({ source }) => source))).toEqual(sources.map(() => false));
    }
  });

  it.each([
    ["returns early", "def test_it():\n    if True:\n        return\n    assert 1 == 1\n"],
    ["is a coroutine", "async def test_it():\n    assert 1 == 1\n"],
    ["is a generator", "def test_it():\n    yield 1\n    assert 1 == 1\n"],
    ["is expected to fail", "import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert 1 == 2\n"],
    ["has a decorator of its own", "@again\ndef test_it():\n    assert 1 == 1\n"],
    ["stands on one line", "def test_it(): pass\n"],
    ["is defined twice", "def test_it():\n    assert 1 == 1\nif True:\n    def test_it():\n        pass\n"],
    ["is another function by then", "def test_it():\n    assert 1 == 1\ntest_it = print\n"],
    ["is not there", "def test_other():\n    assert 1 == 1\n"],
    ["stands in a file that is no Python", "def test_it(:\n"],
  ])("is not made of a test that %s", (_what, source) => {
    expect(change(1, [{ source, tests: ["test_it"] }])).toEqual([{ source, changed: {} }]);
  });

  it("expects another value by far, also of great numbers", () => {
    const values = [0, 1, 600, 2 ** 20, 2 ** 40, 0.5, 1e30, 1.7e308];
    for (const seed of [1, 2, 3]) {
      const made = change(
        seed,
        values.map((value) => ({ source: `def test_it():\n    assert x == [${value}]\n`, tests: ["test_it"] })),
      );
      for (const [index, value] of values.entries()) {
        const other = Number(/\[(.*)\]/.exec(made[index]?.source ?? "")?.[1]);
        expect(Math.abs(other - value), `${value} became ${other}`).toBeGreaterThan(Math.abs(value));
      }
    }
  });

  it("differs from its test in the changed places only, for every test of the bundled suite", () => {
    const tasks = join(import.meta.dirname, "../suites/infradev-mini/tasks");
    const paths = readdirSync(tasks, { recursive: true, encoding: "utf8" }).filter((path) =>
      /\/test_\w+\.py$/.test(path),
    );
    const files = paths.map((path) => {
      const source = readFileSync(join(tasks, path), "utf8");
      return { source, tests: [...source.matchAll(/^def (test_\w+)/gm)].map((match) => match[1] ?? "") };
    });
    const made = change(7, files);
    let changed = 0;
    for (const [index, { source, tests }] of files.entries()) {
      const lines = new Set(source.split("\n"));
      const other = (made[index]?.source ?? "").split("\n").filter((line) => !lines.has(line));
      const count = Object.keys(made[index]?.changed ?? {}).length;
      expect(other.length).toBeLessThanOrEqual(count);
      expect(count).toBeGreaterThan(tests.length / 2);
      changed += count;
    }
    expect(changed).toBeGreaterThan(80);
  });
});
