import { randomInt } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Guard } from "@/lib/contract/result";
import type { Group, ManifestTest } from "@/lib/contract/task";
import { capture } from "../processes/capture";
import { pythonSource } from "../python/sources";
import { testFileOf } from "../suites/load";
import { type RunInput, type RunRecord, runGroups } from "./groups";
import { mergeTest } from "./merge";

/** What a launch of controls may take: a little more than the launches that it repeats. */
const leastLimitSec = 10;
const timesVerdict = 3;

const changedSchema = z.object({
  files: z.array(z.object({ source: z.string(), changed: z.record(z.string(), z.enum(["expectation", "end"])) })),
});
type Kind = "expectation" | "end";

type Controls = NonNullable<Guard["controls"]>;

type ControlRecord = Pick<RunRecord, "tampered"> & { controls: Controls; findings: Guard["findings"] };

const nothing: ControlRecord = { controls: [], findings: [], tampered: false };

/**
 * Launches the tests that passed once more, each changed outside of the candidate's reach so that no honest run passes
 * it: an expected literal is another one, or the test ends in something false. The launch looks like any other from
 * inside. A control that passes shows that passing says nothing about the candidate's code: the grading was tampered
 * with. Nothing is launched where no test passed that the base fails, and on GPUs one group, chosen at random.
 *
 * Runs last: it writes into the workspace.
 */
export async function runNegativeControls(input: RunInput, record: RunRecord): Promise<ControlRecord> {
  const { manifest } = input.task;
  const passed = manifest.tests.filter((test) => hasPassed(test, record));
  const gained = (group: Group) => passed.some((test) => test.group === group.id && test.expectation === "f2p");
  const groups = manifest.groups.filter((group) => group.launcher !== "script" && gained(group));
  const chosen = input.gpus === null || groups.length === 0 ? groups : [groups[randomInt(groups.length)] as Group];
  const tests = passed.filter((test) => chosen.some(({ id }) => id === test.group));
  if (tests.length === 0) return nothing;
  const kinds = await changeTests(input, tests);
  if (kinds.size === 0) return nothing;
  const limitedGroups = chosen.map((group) => limited(group, record));
  const run = await runGroups({
    ...input,
    limits: new Map(),
    task: { ...input.task, manifest: { ...manifest, groups: limitedGroups, tests: withoutLimits(tests) } },
    // Time of their own: what a candidate wasted before cannot keep its controls from running.
    deadlineMs: performance.now() + limitedGroups.reduce((sum, group) => sum + group.timeout_sec * 1000, 0),
    workDir: join(input.workDir, "controls"),
    onProgress: undefined,
  });
  return judge(tests, kinds, run, manifest.suite.probes === "hidden");
}

const hasPassed = (test: ManifestTest, record: RunRecord): boolean =>
  mergeTest(test, record.outcomes.get(test.id) ?? [], [], false).status === "passed";

/** A control decides nothing about resources. */
const withoutLimits = (tests: readonly ManifestTest[]): ManifestTest[] =>
  tests.map((test) => ({ ...test, limit: null }));

function limited(group: Group, record: RunRecord): Group {
  const tookMs = record.launches
    .filter(({ launch }) => launch.group === group.id)
    .reduce((sum, { launch }) => sum + launch.durationMs, 0);
  return { ...group, timeout_sec: Math.min(group.timeout_sec, leastLimitSec + (timesVerdict * tookMs) / 1000) };
}

/** The name of a test within its file, as the syntax tree has it: `TestA::test_b`. */
const nameOf = (id: string): string => id.slice(testFileOf(id).length + 2).replace(/\[.*$/s, "");

/** Rewrites the files of tests in the workspace, and gives how each test was changed, by id. */
async function changeTests(input: RunInput, tests: readonly ManifestTest[]): Promise<Map<string, Kind>> {
  const { workspace } = input;
  const byFile = new Map<string, string[]>();
  for (const { id } of tests) byFile.set(testFileOf(id), [...(byFile.get(testFileOf(id)) ?? []), id]);
  const pathOf = (file: string): string =>
    file.startsWith("probes/")
      ? join(workspace.probes, file.slice("probes/".length))
      : join(workspace.repository, file);
  const files = [...byFile].map(([file, ids]) => ({ path: pathOf(file), ids }));
  const asked = {
    seed: randomInt(2 ** 31),
    files: await Promise.all(
      files.map(async ({ path, ids }) => ({
        source: await readFile(path, "utf8"),
        tests: [...new Set(ids.map(nameOf))],
      })),
    ),
  };
  const answer = await capture(
    input.session.python.executable,
    ["-I", "-B", "-c", pythonSource("infradev_controls.py")],
    {
      input: JSON.stringify(asked),
      timeoutMs: 60_000,
      cwd: "/",
      ...(input.signal === undefined ? {} : { signal: input.signal }),
    },
  );
  if (answer.code !== 0) throw new Error(`negative controls could not be made: ${answer.stderr.slice(-2000)}`);
  const changed = changedSchema.parse(JSON.parse(answer.stdout));
  const kinds = new Map<string, Kind>();
  for (const [index, { path, ids }] of files.entries()) {
    const file = changed.files[index];
    if (file === undefined) continue;
    await writeFile(path, file.source);
    for (const id of ids) {
      const kind = file.changed[nameOf(id)];
      if (kind !== undefined) kinds.set(id, kind);
    }
  }
  return kinds;
}

function judge(
  tests: readonly ManifestTest[],
  kinds: ReadonlyMap<string, Kind>,
  run: RunRecord,
  hidden: boolean,
): ControlRecord {
  const controls: Controls = [];
  const findings = run.guard.findings.map(({ code, message }) => ({
    code,
    // What a candidate wrote there may be the text of a hidden probe.
    message: `negative controls: ${hidden ? "found while tests ran that were changed" : message}`,
  }));
  let tampered = run.tampered;
  for (const test of tests) {
    const change = kinds.get(test.id);
    if (change === undefined) continue;
    const observed = mergeTest(test, run.outcomes.get(test.id) ?? [], [], false).status;
    controls.push({ group: test.group, test: test.id, change, observed });
    if (observed !== "passed") continue;
    tampered = true;
    const how = change === "expectation" ? "with another expected value" : "with something false asserted at its end";
    findings.push({ code: "control.passed", message: `${test.id} passes as well ${how}: that it passes says nothing` });
  }
  return { controls, findings, tampered };
}
