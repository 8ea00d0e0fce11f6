import { readFile } from "node:fs/promises";
import type { Candidate } from "@/lib/contract/bundle";
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

/** What a grading of the runner's own says of its patch: no model, no agent, no network. */
export const referenceCandidate = (name: string): Candidate => ({
  kind: "reference",
  model: name,
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  promptDigest: null,
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
});
