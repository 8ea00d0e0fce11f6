import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { publishedKeysSchema } from "@/lib/contract/bundle";
import { readHostRun } from "../host-run/state";
import { sha256Hex } from "./files";
import { readValidation } from "./gate-run";
import { loadTask, readSuiteFile } from "./load";
import { readReferencePatch } from "./reference";
import { judge } from "./validate";

const suites = fileURLToPath(new URL(".", import.meta.url));
const admitted = readdirSync(suites).filter((name) => existsSync(join(suites, name, "admission", "keys.json")));

describe.each(admitted)("the admission of %s", (suite) => {
  const folder = join(suites, suite, "admission");
  const keys = async () =>
    publishedKeysSchema.parse(JSON.parse(await readFile(join(folder, "keys.json"), "utf8"))).keys;

  it("is signed, complete, and of the tasks as they are", async () => {
    for (const slug of (await readSuiteFile(join(suites, suite))).tasks) {
      const task = await loadTask(join(suites, suite, "tasks", slug));
      const report = await readValidation(join(folder, `${slug}.validation.json`), await keys());
      expect(report.gradingDigest, slug).toBe(task.manifest.digests.grading);
      // The patches of a task by reference are made from a mirror, which is not here.
      for (const { patch, patchSha256 } of report.gradings)
        if (patchSha256 !== undefined && task.upstream === null)
          expect(patchSha256, `${slug}, ${patch}`).toBe(sha256Hex(await readReferencePatch(task, patch)));
      expect(judge(task, report).rules.filter(({ ok }) => !ok)).toEqual([]);
    }
  });

  it("comes from a host on which every exploit was caught", async () => {
    const run = await readHostRun(join(folder, "host-run.json"), await keys());
    expect(run?.selftest?.controlResolved).toBe(true);
    expect(run?.selftest?.results.filter(({ verdict }) => verdict === "passed")).toEqual([]);
  });
});

it("stands beside the bundled suite", () => {
  expect(admitted).toContain("infradev-mini");
});
