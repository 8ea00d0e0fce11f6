import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import type { TaskMetadata } from "@/lib/contract/task";
import { listFiles, type SourceFile } from "../files";
import { readEdits } from "./edits";
import { changeLayer, type MutantEdits, officialOf, type UpstreamSource } from "./layer-paths";

const invalid = (code: string, message: string, where: string, rule: string, remedy: string): InfraDevError =>
  new InfraDevError("invalid", { code, message, where, rule, remedy });

/**
 * What a task directory says of its upstream, with the places in the layers where it will lie; null for a task with a
 * bundled base. Reads no mirror. Throws `task.upstream` where the parts of the task disagree, and what `readEdits` throws.
 */
export async function readUpstream(root: string, metadata: TaskMetadata): Promise<UpstreamSource | null> {
  const { upstream } = metadata;
  const where = `${join(root, "task.toml")}#metadata.infradev.upstream`;
  if (upstream === undefined) return null;
  if (metadata.base_path !== undefined) {
    throw invalid("task.upstream", "the task has base_path and upstream", where, "one of the two", "remove one");
  }
  if (upstream.repository !== metadata.repo) {
    const message = `the task is of ${metadata.repo}, its upstream is ${upstream.repository}`;
    throw invalid("task.upstream", message, `${where}.repository`, "both name one repository", "correct one of them");
  }
  if (metadata.base_commit !== undefined && metadata.base_commit !== upstream.base_commit) {
    const message = `base_commit is ${metadata.base_commit} for the task and ${upstream.base_commit} for its upstream`;
    throw invalid("task.upstream", message, `${where}.base_commit`, "one base", "leave the task's own out");
  }
  if (upstream.pr_description_sha256 !== undefined && metadata.prompts.some(({ id }) => id === "pr-description")) {
    const message = "the prompt 'pr-description' stands in the task and is taken from the merge commit";
    throw invalid("task.upstream", message, `${where}.pr_description_sha256`, "one prompt per condition", "remove one");
  }
  const mutants: MutantEdits[] = [];
  for (const file of await listFiles(join(root, "mutants")).catch(() => [])) {
    if (file.endsWith(".md")) continue;
    const path = join(root, "mutants", file);
    const match = /^(\d+)-([a-z0-9-]+)\.toml$/.exec(file);
    if (match === null) {
      throw invalid(
        "task.mutant-name",
        `'${file}' is no mutant of a task by reference`,
        path,
        "such a mutant is <number>-<name>.toml: edits of the merged code, since a patch would carry lines of upstream",
        "write it as edits",
      );
    }
    const number = Number(match[1]);
    if (mutants.some((mutant) => mutant.number === number)) {
      throw invalid("task.mutant-number", `two mutants have the number ${number}`, path, "one each", "renumber one");
    }
    mutants.push({ number, name: match[2] ?? "", path, file: await readEdits(path) });
  }
  mutants.sort((a, b) => a.number - b.number);
  const parts = mutants.map(({ number, name, file }) => ({ number, name, file }));
  return { ...upstream, changeDir: changeLayer(upstream, parts), mutants };
}

/** The official tests of a task by reference, where its layer has them once it was read. */
export const officialSources = ({ changeDir, official_tests: tests }: UpstreamSource): SourceFile[] =>
  tests.map(({ path, sha256 }) => ({ path, sha256, absPath: officialOf(changeDir, path) }));

/** What is shown of the prompt that is upstream's own text: where it can be read. */
export const describedElsewhere = ({ repository, merge_commit: commit }: UpstreamSource): string =>
  `The message of the merge commit: https://github.com/${repository}/commit/${commit}\n`;
