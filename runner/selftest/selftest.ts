import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Result } from "@/lib/contract/result";
import { createControlGroup } from "../executors/control-group";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { type Graded, gradeTask } from "../grading/grade";
import type { PythonRuntime } from "../grading/python-runtime";
import { processOwner } from "../processes/owner";
import type { LoadedTask } from "../suites/load";
import { referenceCandidate } from "../suites/reference";
import { runnerVersion } from "../version";
import { type Exploit, type Family, mark, type Need, patchBytes } from "./exploit";
import { exploits, honestPatch } from "./exploits/all";
import { wastefulPatch } from "./exploits/meters";
import { findHarm } from "./harm";
import { writeTinyTask } from "./tiny-task";

/**
 * `prevented`: what the exploit tried had no effect. `detected`: the grading says that somebody tampered, or refused
 * the patch. `passed`: the exploit got what it wanted. `not-applicable`: this host or executor lacks what it needs.
 */
export type ExploitVerdict = "prevented" | "detected" | "passed" | "not-applicable";
type ExploitResult = {
  name: string;
  family: Family;
  tries: string;
  executor: RunnerExecutor;
  verdict: ExploitVerdict;
  /** How it is known to end where it is tried. */
  expected: Exploit["ends"];
  status: Result["status"] | null;
  requiredPassed: number;
  requiredTotal: number;
  /** What the grading saw: outcomes of the tests, the evidence of its reason, or why the exploit was not tried. */
  seen: string;
  /** Why it ended otherwise than it is known to, or null. */
  unexpected: string | null;
  durationMs: number;
};
export type SelfTest = {
  /** The honest change resolves both tiny tasks, and the one that wastes memory and time does not. */
  controlResolved: boolean;
  results: ExploitResult[];
};

function seenIn({ result }: Graded, wanted = ""): string {
  if (result.reason !== null) {
    const { code, message, evidence } = result.reason;
    const telling = evidence.find((line) => line.startsWith(wanted)) ?? evidence[0];
    return `${code}: ${telling ?? message}`;
  }
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

/** How an exploit's end differs from the one that is known, in words, or null. */
function unexpectedIn(exploit: Exploit, verdict: ExploitVerdict, { reason }: Result): string | null {
  const asKnown = exploit.ends === "caught" ? verdict !== "passed" : verdict === exploit.ends;
  if (!asKnown) return `${verdict}, where it is known to be ${exploit.ends}`;
  const lines = reason === null ? [] : [reason.code, ...reason.evidence];
  if (verdict !== "detected" || exploit.evidence === undefined) return null;
  const named = lines.some((line) => line.startsWith(exploit.evidence ?? ""));
  return named ? null : `detected by ${lines[1] ?? lines[0]}, where ${exploit.evidence} is known`;
}

/** Why an exploit cannot be tried here, or null. */
function lacking(
  need: Need,
  host: { executor: RunnerExecutor; controlGroup: boolean; python: string; gpus: number },
): string | null {
  switch (need) {
    case "sandbox":
      return host.executor === "bwrap" ? null : "needs a sandbox, which the executor 'process' is not";
    case "control-group":
      return host.controlGroup ? null : "needs a control group, which this user may not make";
    case "gpu":
      return host.gpus > 0 ? null : "needs a GPU that is free";
    case "python-3.12": {
      const [major = 0, minor = 0] = host.python.split(".").map(Number);
      return major > 3 || minor >= 12 ? null : `needs Python 3.12; this is ${host.python}`;
    }
  }
}

async function hasControlGroup(): Promise<boolean> {
  if (!existsSync("/sys/fs/cgroup")) return false;
  const group = await createControlGroup(`infradev-${randomUUID()}`, { memoryMb: 64, processes: 16 });
  await group?.remove();
  return group !== null;
}

export type SelfTestOptions = {
  executor: RunnerExecutor;
  python: PythonRuntime;
  signal: AbortSignal;
  only?: readonly string[];
  /** A GPU whose lock the caller holds, for the exploits that attack GPUs. */
  gpus?: GpuGrant | null;
  /** Gradings at a time; as many as there are processors, four at most, by default. */
  parallel?: number;
  onResult?: (result: ExploitResult, done: number, total: number) => void;
};

/** Grades every exploit, and an honest patch as control, against a task of one function on two ranks. */
export async function runSelfTest(options: SelfTestOptions): Promise<SelfTest> {
  const work = await mkdtemp(join(tmpdir(), `infradev-selftest-${processOwner}-`));
  try {
    const tasks = {
      plain: await writeTinyTask(join(work, "task")),
      meters: await writeTinyTask(join(work, "meters-task"), { meters: true }),
      gpu: await writeTinyTask(join(work, "gpu-task"), { gpus: 1 }),
    };
    const host = {
      executor: options.executor,
      python: options.python.version,
      gpus: options.gpus?.uuids.length ?? 0,
      controlGroup: options.executor === "bwrap" && (await hasControlGroup()),
    };
    const grade = async <T>(
      name: string,
      task: LoadedTask,
      patch: Uint8Array,
      look: (graded: Graded) => Promise<T>,
    ): Promise<T> => {
      options.signal.throwIfAborted();
      const workDir = join(work, "grading", name);
      await mkdir(workDir, { recursive: true });
      const graded = await gradeTask({
        task,
        suite: task.suite,
        patch,
        candidate: referenceCandidate("self-test"),
        gradingId: randomUUID(),
        attemptId: null,
        lease: null,
        executor: options.executor,
        gpus: options.gpus ?? null,
        python: options.python,
        workDir,
        signal: options.signal,
        runnerVersion,
      });
      const seen = await look(graded);
      await rm(workDir, { recursive: true, force: true });
      return seen;
    };
    const judge = async (exploit: Exploit): Promise<ExploitResult> => {
      const { name, family, tries } = exploit;
      const about = { name, family, tries, executor: options.executor, expected: exploit.ends };
      const reason = exploit.needs?.map((need) => lacking(need, host)).find((missing) => missing !== null);
      if (reason != null) {
        const nothing = { status: null, requiredPassed: 0, requiredTotal: 0, durationMs: 0 };
        return { ...about, ...nothing, verdict: "not-applicable", seen: reason, unexpected: null };
      }
      const ownMark = `${mark}-${name}`;
      const patch = Buffer.from(patchBytes(exploit));
      const marked = patch.includes(mark) ? Buffer.from(patch.toString("utf8").replaceAll(mark, ownMark)) : patch;
      return await grade(name, tasks[exploit.on ?? "plain"], marked, async (graded) => {
        const { result } = graded;
        const harm =
          exploit.harm === undefined
            ? null
            : await findHarm(
                "name" in exploit.harm
                  ? { ...exploit.harm, name: exploit.harm.name.replace(mark, ownMark) }
                  : exploit.harm,
                graded,
                ownMark,
                options.python.folders,
              );
        const judged = exploit.harm !== undefined && verdictOf(result) === "passed" ? "prevented" : verdictOf(result);
        const verdict = harm === null ? judged : "passed";
        return {
          ...about,
          verdict,
          status: result.status,
          requiredPassed: result.summary.requiredPassed,
          requiredTotal: result.summary.requiredTotal,
          seen: harm ?? seenIn(graded, exploit.evidence),
          unexpected: unexpectedIn(exploit, verdict, result),
          durationMs: result.durationMs,
        };
      });
    };
    const resolves = async (name: string, task: LoadedTask, patch: Exploit["patch"]): Promise<boolean> =>
      await grade(name, task, patchBytes({ patch }), async ({ result }) => result.summary.resolved);
    const controlResolved =
      (await resolves("honest", tasks.plain, honestPatch)) &&
      (await resolves("honest-with-meters", tasks.meters, honestPatch)) &&
      !(await resolves("wasteful", tasks.meters, wastefulPatch));
    const chosen = exploits.filter((exploit) => options.only === undefined || options.only.includes(exploit.name));
    const results: ExploitResult[] = [];
    const queue = [...chosen.entries()];
    let done = 0;
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const result = await judge(next[1]);
        results[next[0]] = result;
        done += 1;
        options.onResult?.(result, done, chosen.length);
      }
    };
    const parallel = options.parallel ?? Math.min(4, availableParallelism());
    const workers = Array.from({ length: parallel }, () =>
      worker().catch((error: unknown) => {
        queue.length = 0;
        throw error;
      }),
    );
    // All of them: whoever asked takes the folder and the GPU back as soon as this throws.
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    options.signal.throwIfAborted();
    return { controlResolved, results };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
