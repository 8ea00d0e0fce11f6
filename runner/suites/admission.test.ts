import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { publishedKeysSchema } from "@/lib/contract/bundle";
import { failedSteps } from "../host-run/failed-steps";
import { isNothing } from "../host-run/leftovers";
import { readHostRun } from "../host-run/state";
import { sha256Hex } from "./files";
import { readValidation } from "./gate-run";
import { loadTask, readSuiteFile } from "./load";
import { readReferencePatch } from "./reference";
import { judge } from "./validate";

const suites = fileURLToPath(new URL(".", import.meta.url));
const admitted = readdirSync(suites).filter((name) => existsSync(join(suites, name, "admission", "keys.json")));
const suffix = ".validation.json";
/** Gradings of gold by which a task's flaky tests are told. */
const goldGradings = 5;

/** Folders of reports, one for each number of GPUs that a grading had. */
const profilesOf = (suite: string): string[] =>
  readdirSync(join(suites, suite, "admission")).filter((name) => name !== "keys.json");
const keysOf = async (suite: string) =>
  publishedKeysSchema.parse(JSON.parse(await readFile(join(suites, suite, "admission", "keys.json"), "utf8"))).keys;

describe.each(admitted.flatMap((suite) => profilesOf(suite).map((profile) => [suite, profile] as const)))(
  "the admission of %s, %s",
  (suite, profile) => {
    const folder = join(suites, suite, "admission", profile);
    const gpus = Number(/^gpus-(\d+)$/.exec(profile)?.[1]);

    it("is signed, complete, and of the tasks as they are", async () => {
      const reports = readdirSync(folder).filter((name) => name.endsWith(suffix));
      expect(reports).not.toEqual([]);
      for (const name of reports) {
        const slug = name.slice(0, -suffix.length);
        const task = await loadTask(join(suites, suite, "tasks", slug));
        const report = await readValidation(join(folder, name), await keysOf(suite));
        expect(report.gradingDigest, slug).toBe(task.manifest.digests.grading);
        expect(report.gpus, slug).toBe(gpus);
        // The patches of a task by reference are made from a mirror, which is not here.
        for (const { patch, patchSha256 } of report.gradings)
          if (patchSha256 !== undefined && task.upstream === null)
            expect(patchSha256, `${slug}, ${patch}`).toBe(sha256Hex(await readReferencePatch(task, patch)));
        expect(judge(task, report).rules.filter(({ ok }) => !ok)).toEqual([]);
        const left = report.gradings.filter(({ leftovers }) => leftovers !== undefined && !isNothing(leftovers));
        expect(left.map(({ patch }) => patch)).toEqual([]);
      }
    });
  },
);

const hosts = admitted.flatMap((suite) =>
  profilesOf(suite)
    .filter((profile) => existsSync(join(suites, suite, "admission", profile, "host-run.json")))
    .map((profile) => [suite, profile] as const),
);

it.each(hosts)("%s, %s, comes from a host on which all that was tried holds", async (suite, profile) => {
  const run = await readHostRun(join(suites, suite, "admission", profile, "host-run.json"), await keysOf(suite));
  expect(`gpus-${run?.gpus}`).toBe(profile);
  expect(run?.selftest?.controlResolved).toBe(true);
  expect(run === null ? null : [...failedSteps(run)]).toEqual([]);
  expect(run?.calls.filter((call) => !isNothing(call))).toEqual([]);
});

it.each(admitted)(
  "%s has reports of each task: its standard launch, gold graded often enough, a host",
  async (suite) => {
    expect(hosts.map(([name]) => name)).toContain(suite);
    const profiles = profilesOf(suite).map((profile) => join(suites, suite, "admission", profile));
    for (const slug of (await readSuiteFile(join(suites, suite))).tasks) {
      const { manifest } = await loadTask(join(suites, suite, "tasks", slug));
      const paths = profiles.map((folder) => join(folder, `${slug}${suffix}`)).filter((path) => existsSync(path));
      const reports = await Promise.all(paths.map(async (path) => readValidation(path, await keysOf(suite))));
      expect(
        reports.map(({ gpus }) => gpus),
        slug,
      ).toContain(manifest.task.gpusGrade);
      const gold = reports.map(({ gradings }) => gradings.filter(({ patch }) => patch === "gold").length);
      expect(Math.max(0, ...gold), slug).toBeGreaterThanOrEqual(goldGradings);
    }
  },
);

it("stands beside the bundled suite", () => {
  expect(admitted).toContain("infradev-mini");
});
