import { join } from "node:path";
import type { UpstreamMetadata } from "@/lib/contract/task";
import { sha256Hex } from "../files";
import type { EditsFile } from "./edits";
import { layersFolder } from "./folders";

/** A mutant as edits of the merged code, and the patch that is made of it. */
export type MutantEdits = { number: number; name: string; path: string; file: EditsFile };

/** What a task takes from upstream, and where it lies once it was read. */
export type UpstreamSource = UpstreamMetadata & { changeDir: string; mutants: readonly MutantEdits[] };

/** The folder of a base by its tree. A task that is not sealed has none yet. */
export const baseLayer = (tree: string): string => join(layersFolder(), "base", tree === "" ? "unsealed" : tree);

/** The folder of what is made from the merge commit, by everything that it is made from. */
export function changeLayer(upstream: UpstreamMetadata, mutants: readonly Omit<MutantEdits, "path">[]): string {
  const key = sha256Hex(JSON.stringify(["infradev-change/1", upstream, mutants]));
  return join(layersFolder(), "change", key);
}

export const goldOf = (changeDir: string): string => join(changeDir, "gold.patch");
export const mutantPatchOf = (changeDir: string, number: number, name: string): string =>
  join(changeDir, "mutants", `${number}-${name}.patch`);
export const officialOf = (changeDir: string, path: string): string => join(changeDir, "official", path);
export const descriptionOf = (changeDir: string): string => join(changeDir, "pr-description.md");
