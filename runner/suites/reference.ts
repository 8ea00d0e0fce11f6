import { readFile } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";
import type { LoadedTask } from "./load";

/** The bytes of one of a task's reference patches: `gold`, `nop` (empty) or `mutant-<number>`. */
export async function readReferencePatch(task: LoadedTask, name: string): Promise<Buffer> {
  if (name === "nop") return Buffer.alloc(0);
  if (name === "gold") return await readFile(task.goldPath);
  const mutant = task.mutants.find((each) => `mutant-${each.number}` === name);
  if (mutant !== undefined) return await readFile(mutant.absPath);
  throw new InfraDevError("not-found", {
    code: "usage.reference",
    message: `the task has no reference patch '${name}'`,
    where: task.dir,
    rule: "a task's own patches are gold, nop and its mutants by number",
    remedy: `name one of: gold, nop${task.mutants.map((each) => `, mutant-${each.number}`).join("")}`,
  });
}
