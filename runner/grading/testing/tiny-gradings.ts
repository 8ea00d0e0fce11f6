import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result, TestOutcome } from "@/lib/contract/result";
import { checkResult } from "@/lib/evidence/check-result";
import { checkBwrap } from "../../executors/bwrap";
import type { LoadedTask } from "../../suites/load";
import { type Graded, type GradeInput, gradeTask } from "../grade";
import { patchOf, type TinyTask, tinyCandidate, writeTinyTask } from "./tiny-task";

/** The sandbox where this machine has one. */
export const tinyExecutor: GradeInput["executor"] = await checkBwrap().then(
  () => "bwrap" as const,
  () => "process" as const,
);

/** A code base of one function that is not yet right. */
export const tinyBase = { "lib/__init__.py": "", "lib/core.py": "def value():\n    return 0\n" };

/** Grades a patch without a server, in a folder of its own below `scratch`; `more` says what is to be otherwise. */
export const gradeBelow = (
  scratch: string,
  task: LoadedTask,
  patch: Uint8Array,
  more: Partial<GradeInput> = {},
): Promise<Graded> =>
  gradeTask({
    task,
    suite: task.suite,
    patch,
    candidate: tinyCandidate,
    gradingId: randomUUID(),
    attemptId: null,
    lease: null,
    executor: tinyExecutor,
    workDir: join(scratch, randomUUID()),
    runnerVersion: "test",
    ...more,
  });

/** Makes tiny tasks and grades patches against them; `remove` deletes all that was made. */
export class TinyGradings {
  private readonly removals: (() => Promise<void>)[] = [];
  readonly scratch: string;

  private constructor(scratch: string) {
    this.scratch = scratch;
  }

  static async create(): Promise<TinyGradings> {
    return new TinyGradings(await mkdtemp(join(tmpdir(), "infradev-tiny-gradings-")));
  }

  async remove(): Promise<void> {
    for (const remove of this.removals) await remove();
    await rm(this.scratch, { recursive: true, force: true });
  }

  async task(spec: Partial<TinyTask> & Pick<TinyTask, "tests" | "groups" | "ids">): Promise<LoadedTask> {
    const { task, remove } = await writeTinyTask({ base: tinyBase, ...spec });
    this.removals.push(remove);
    return task;
  }

  /** Grades `core` as lib/core.py, null for the base; the result agrees with the manifest or this throws. */
  async grade(task: LoadedTask, core: string | null, more: Partial<GradeInput> = {}): Promise<Graded> {
    const patch = core === null ? new Uint8Array() : await patchOf(tinyBase, { "lib/core.py": core });
    const graded = await gradeBelow(this.scratch, task, patch, more);
    const problems = checkResult(graded.result, task.manifest);
    if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join("; "));
    return graded;
  }
}

/** A file of tests as `tests/test_core.py`, in one group on two ranks, each test expected to pass after the change. */
export const oneFile = (
  source: string,
  names: readonly string[],
  group: Partial<TinyTask["groups"][number]> = {},
): Pick<TinyTask, "tests" | "groups" | "ids"> => ({
  tests: { "tests/test_core.py": source },
  groups: [{ id: "official", ...group }],
  ids: Object.fromEntries(names.map((name) => [idOf(name), { group: "official" }])),
});

/** The id of a test of `oneFile`. */
export const idOf = (name: string): string => `tests/test_core.py::test_${name}`;

/** Statuses in the manifest's order. */
export const statusesOf = (result: Result): string[] => result.tests.map(({ status }) => status);

/** A test's outcome, by the end of its id. */
export function outcomeOf(result: Result, ending: string): TestOutcome {
  const found = result.tests.find(({ id }) => id.endsWith(ending));
  if (found === undefined) throw new Error(`no test ends in ${ending}`);
  return found;
}

/** What a test did on each rank. */
export const ranksOf = (result: Result, ending: string): string[] =>
  outcomeOf(result, ending).ranks.map(({ status }) => status);
