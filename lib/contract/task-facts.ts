import type { Board } from "./api";
import type { TaskFacts } from "./board-facts";
import type { InterfaceEntry, ManifestTest } from "./task";
import type { TaskDetail, TaskListItem, TaskResult } from "./task-api";
import type { PromptCondition, Property, TestKind } from "./vocabulary";

/** An entry's shown submission on a suite version, with what it made of the tasks. Reported rows are left out. */
export interface TaskRowFacts
  extends Omit<TaskResult, "attempted" | "verdict" | "score" | "requiredPassed" | "requiredTotal"> {
  tasks: readonly TaskFacts[];
}

/** Everything that a suite's list of tasks is computed from, as the database keeps it. */
export interface TaskListFacts {
  suite: Omit<Board["suite"], "tasks">;
  tasks: (Omit<TaskListItem, "officialTests" | "probes" | "probesByProperty" | "solving" | "references"> & {
    /** Required tests. */
    tests: { kind: TestKind; property: Property; count: number }[];
  })[];
  rows: TaskRowFacts[];
}

/** Everything that a task's page is computed from. */
export interface TaskDetailFacts {
  suite: TaskListFacts["suite"];
  task: TaskDetail["task"];
  prompts: { condition: PromptCondition; isDefault: boolean; digest: string; text: string }[];
  interfaces: InterfaceEntry[];
  tests: ManifestTest[];
  rows: TaskRowFacts[];
  /** Submissions that hold an attempt at the task. */
  attempted: ReadonlySet<string>;
  /** Per submission that has a counting grading of the task: tests that pass in any of its attempts. */
  passed: ReadonlyMap<string, ReadonlySet<string>>;
}
