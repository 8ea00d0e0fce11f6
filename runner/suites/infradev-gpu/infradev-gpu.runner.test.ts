import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Candidate } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import { checkBwrap } from "../../executors/bwrap";
import { type PythonRuntime, resolvePython } from "../../grading/python-runtime";
import { gradeBelow } from "../../grading/testing/tiny-gradings";
import { loadTask, packagesOfTask, readSuiteFile } from "../load";

const suiteDir = import.meta.dirname;
const taskDir = (slug: string): string => join(suiteDir, "tasks", slug);
const { tasks } = await readSuiteFile(suiteDir);
const long = process.env.INFRADEV_LONG === "1";

const candidate: Candidate = {
  kind: "reference",
  model: "reference",
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  promptDigest: null,
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
};

/**
 * What the short form grades; the long form grades everything. A launch of two ranks takes some 6 s on two cores, and
 * gold's launches are made again with negative controls, so that one gold and one mutant end within 90 s.
 */
const short = { gold: "pipeline-1f1b-bounded-activations", mutant: "sharded-weight-sync-gpu" };

/** Patches of a task's mutants: all in the long form, else the first. */
async function mutantsOf(slug: string): Promise<string[]> {
  const folder = join(taskDir(slug), "mutants");
  const patches = (await readdir(folder)).filter((file) => file.endsWith(".patch")).sort();
  return (long ? patches : patches.slice(0, 1)).map((file) => join(folder, file));
}

// A host without torch or without a sandbox cannot grade this suite; the mini suite is graded everywhere.
const unable = await Promise.all([
  resolvePython({ packages: await packagesOfTask(taskDir(tasks[0] ?? "")) }),
  checkBwrap(),
])
  .then(() => null)
  .catch((error: unknown) => {
    if (!(error instanceof InfraDevError)) throw error;
    return [error.message, error.problem.remedy].filter(Boolean).join("; ");
  });
if (unable !== null) console.warn(`infradev-gpu is not graded here: ${unable}`);

describe.skipIf(unable !== null)(`infradev-gpu on CPU ranks${unable === null ? "" : ` (skipped: ${unable})`}`, () => {
  let scratch: string;
  let python: PythonRuntime;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "infradev-gpu-"));
    python = await resolvePython({ packages: await packagesOfTask(taskDir(tasks[0] ?? "")) });
  });
  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
  });

  const grade = async (slug: string, patchPath: string, stopWhenRejected = false) => {
    const gradingId = randomUUID();
    const task = await loadTask(taskDir(slug));
    const patch = await readFile(patchPath);
    const { result } = await gradeBelow(scratch, task, patch, {
      candidate,
      gradingId,
      executor: "bwrap",
      python,
      workDir: join(scratch, gradingId),
      stopWhenRejected,
    });
    return result;
  };

  test.each(long ? tasks : [short.gold])("%s: gold resolves", { timeout: 600_000 }, async (slug) => {
    const result = await grade(slug, join(taskDir(slug), "solution", "gold.patch"));
    const missed = result.tests.filter(({ required, status }) => required && status !== "passed");
    expect(missed.map(({ id, status }) => `${status} ${id}`)).toEqual([]);
    expect(result.summary.resolved).toBe(true);
  });

  test.each(long ? tasks : [short.mutant])(
    "%s: mutants pass official tests and fail a probe",
    { timeout: 3_600_000 },
    async (slug) => {
      for (const path of await mutantsOf(slug)) {
        const { summary, status } = await grade(slug, path, !long);
        expect([path, status, summary.officialResolved, summary.resolved]).toEqual([path, "completed", true, false]);
      }
    },
  );
});
