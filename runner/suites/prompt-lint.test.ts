import { describe, expect, it } from "vitest";
import type { InterfaceEntry } from "@/lib/contract/task";
import { addedLines, findLeaks, hasWord } from "./prompt-lint";

const patch = `diff --git a/pkg/store.py b/pkg/store.py
--- a/pkg/store.py
+++ b/pkg/store.py
@@ -1,3 +1,6 @@
 import os
-def save(path):
+def save(path, ranks):
+    plan_by_owner = {rank: [] for rank in ranks}
+    for rank in ranks: plan_by_owner[rank].append(path)
     return os.fspath(path)
 # end
`;
const interfaces: InterfaceEntry[] = [
  { symbol: "pkg.store.save", kind: "function", signature: "save(path, ranks) -> str", used_by: [] },
];
const base = "import os\ndef save(path):\n    return os.fspath(path)\n# end\n";
const goldNew = new Set(["ranks", "rank", "plan_by_owner"]);
const leaksOf = (prompt: string) => findLeaks(prompt, addedLines(patch), goldNew, interfaces, base).leaks;

describe("added lines", () => {
  it("have the numbers that they have in the new file", () => {
    expect(addedLines(patch).map(({ file, line, text }) => [file, line, text.trim()])).toEqual([
      ["pkg/store.py", 2, "def save(path, ranks):"],
      ["pkg/store.py", 3, "plan_by_owner = {rank: [] for rank in ranks}"],
      ["pkg/store.py", 4, "for rank in ranks: plan_by_owner[rank].append(path)"],
    ]);
  });

  it("are not confused by content that looks like a header", () => {
    const tricky = "--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,2 @@\n+++ b/y.py\n+real\n";
    expect(addedLines(tricky)).toEqual([
      { file: "x.py", line: 1, text: "++ b/y.py" },
      { file: "x.py", line: 2, text: "real" },
    ]);
  });
});

describe("what a prompt gives away", () => {
  it("is nothing where it states the interface, its signature line included", () => {
    expect(leaksOf("Add `ranks` to `save` in `pkg.store`:\n\n```python\ndef save(path, ranks):\n```\n")).toEqual([]);
  });

  it("is a line of gold, however it is spaced, with both places", () => {
    expect(leaksOf("Do:\n\n    plan_by_owner  = {rank: [] for rank in ranks}\n")).toContainEqual({
      kind: "line",
      text: "plan_by_owner = {rank: [] for rank in ranks}",
      promptLine: 3,
      source: "pkg/store.py:3",
    });
  });

  it("is a distinctive identifier anywhere, and a plain word in code only", () => {
    expect(leaksOf("Keep a plan_by_owner.").map((leak) => leak.text)).toEqual(["plan_by_owner"]);
    expect(leaksOf("Each rank has a part.")).toEqual([]);
    expect(leaksOf("Use `rank` as key.").map((leak) => leak.text)).toEqual(["rank"]);
  });

  it("is a sequence of gold's tokens, above the bound", () => {
    const prompt = "Then for rank in ranks : plan [ rank ] . append ( path ) is what one does.";
    const paraphrased = addedLines(patch.replaceAll("plan_by_owner", "plan"));
    const { leaks, overlap } = findLeaks(prompt, paraphrased, new Set(), interfaces, base);
    expect(overlap.share).toBeGreaterThan(0.02);
    expect(leaks.some((leak) => leak.kind === "overlap" && leak.promptLine === 1)).toBe(true);
  });

  it("does not count what the base has already", () => {
    const same = addedLines("--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,1 @@\n+    return os.fspath(path)\n");
    expect(findLeaks("return os.fspath(path)", same, new Set(), [], base).leaks).toEqual([]);
  });
});

describe("words", () => {
  it("end where identifiers end", () => {
    expect(hasWord("call load_all()", "load")).toBe(false);
    expect(hasWord("call load_all, load()", "load")).toBe(true);
  });
});
