import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Candidate } from "@/lib/contract/bundle";
import type { Result } from "@/lib/contract/result";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import { runnerVersion } from "../version";
import { control, type Exploit, exploits, patchOf } from "./exploits";
import { writeTinyTask } from "./tiny-task";

/**
 * `prevented`: what the exploit tried had no effect on the outcome. `detected`: the grading says that somebody
 * tampered, or refused the patch. `passed`: the exploit got what it wanted.
 */
export type ExploitVerdict = "prevented" | "detected" | "passed";
export type ExploitResult = {
  name: string;
  tries: string;
  verdict: ExploitVerdict;
  status: Result["status"];
  requiredPassed: number;
  requiredTotal: number;
  /** What the grading saw: outcomes of the required tests, or its reason. */
  seen: string;
  durationMs: number;
};
export type SelfTest = { controlResolved: boolean; results: ExploitResult[] };

const candidate: Candidate = {
  kind: "reference",
  model: "self-test",
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  promptDigest: null,
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
};

function seenIn(result: Result): string {
  if (result.reason !== null) return result.reason.message;
  const counts = new Map<string, number>();
  for (const test of result.tests) counts.set(test.status, (counts.get(test.status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}

/** No exploit may pass a test that the base fails, and none may resolve the task. */
export function verdictOf(result: Result): ExploitVerdict {
  const gained = result.tests.some((test) => test.expectation === "f2p" && test.status === "passed");
  if (result.summary.resolved || (result.status === "completed" && gained)) return "passed";
  return result.status === "completed" ? "prevented" : "detected";
}

/** Grades every exploit, and an honest patch as control, against a task of one function on two ranks. */
export async function runSelfTest(options: {
  executor: RunnerExecutor;
  python: PythonRuntime;
  signal: AbortSignal;
  only?: readonly string[];
  onResult?: (result: ExploitResult, done: number, total: number) => void;
}): Promise<SelfTest> {
  const work = await mkdtemp(join(tmpdir(), "infradev-selftest-"));
  try {
    const task = await writeTinyTask(join(work, "task"));
    const grade = async (exploit: Exploit): Promise<Result> => {
      options.signal.throwIfAborted();
      const workDir = join(work, "grading", exploit.name);
      await mkdir(workDir, { recursive: true });
      const { result } = await gradeTask({
        task,
        suite: task.suite,
        patch: Buffer.from(patchOf(exploit.files)),
        candidate,
        gradingId: randomUUID(),
        attemptId: null,
        lease: null,
        executor: options.executor,
        python: options.python,
        workDir,
        signal: options.signal,
        runnerVersion,
      });
      await rm(workDir, { recursive: true, force: true });
      return result;
    };
    const controlResult = await grade(control);
    const chosen = exploits.filter((exploit) => options.only === undefined || options.only.includes(exploit.name));
    const results: ExploitResult[] = [];
    for (const exploit of chosen) {
      const result = await grade(exploit);
      const { requiredPassed, requiredTotal } = result.summary;
      const entry: ExploitResult = {
        name: exploit.name,
        tries: exploit.tries,
        verdict: verdictOf(result),
        status: result.status,
        requiredPassed,
        requiredTotal,
        seen: seenIn(result),
        durationMs: result.durationMs,
      };
      results.push(entry);
      options.onResult?.(entry, results.length, chosen.length);
    }
    options.signal.throwIfAborted();
    return { controlResolved: controlResult.summary.resolved, results };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
