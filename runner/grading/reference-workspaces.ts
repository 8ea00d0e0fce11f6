import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import type { ExecutorSession } from "../executors/executor";
import type { LoadedTask } from "../suites/load";
import { readReferencePatch } from "../suites/reference";
import { prepareWorkspace, type Workspace } from "./workspace";

/**
 * Checkouts of base and gold with the same tests laid over them, each made when it is first asked for. Throws
 * `task.reference-absent` where the task stands here without its gold, and `task.reference-rejected`.
 */
export function referenceWorkspaces(task: LoadedTask, scratch: string, session: ExecutorSession) {
  const made = new Map<string, Promise<Workspace>>();
  const make = async (name: "base" | "gold"): Promise<Workspace> => {
    const patch = await readReferencePatch(task, name === "base" ? "nop" : "gold").catch((cause) => {
      throw (cause as NodeJS.ErrnoException).code === "ENOENT" ? absent(task, cause) : cause;
    });
    const prepared = await prepareWorkspace(
      task,
      patch,
      join(scratch, `reference-${name}`),
      session.python.standardModules,
    );
    if (!("code" in prepared)) return prepared;
    throw new InfraDevError("internal", {
      code: "task.reference-rejected",
      message: `the task's ${name} cannot be laid out: ${prepared.message}`,
      where: task.dir,
      rule: "a limit relative to base or gold needs a reference that applies",
      remedy: "run `runner task check` and mend the task",
    });
  };
  return (name: "base" | "gold"): Promise<Workspace> => {
    const workspace = made.get(name) ?? make(name);
    made.set(name, workspace);
    return workspace;
  };
}

const absent = (task: LoadedTask, cause: unknown): InfraDevError =>
  new InfraDevError(
    "unavailable",
    {
      code: "task.reference-absent",
      message: "the task stands here without its solution",
      where: task.goldPath,
      rule: "a limit relative to gold needs gold on the host that measures",
      remedy: "grade where the suite stands whole, its solutions included",
    },
    { cause },
  );
