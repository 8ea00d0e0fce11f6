import { readFile } from "node:fs/promises";
import { type PackedSuite, packedSuiteSchema } from "@/lib/contract/task";
import type { LoadedSuite, LoadedTask } from "./load";

type ReferencePatch = PackedSuite["referenceSets"][number]["patches"][number];

/** Mutants of each task, by number, that become reference sets; the gate grades all of them. */
const packedMutants = 4;

/**
 * The document that a server imports: manifests, prompts and interfaces of a suite, and its reference patch sets: gold,
 * nop (the empty patch) and one set for each of the first mutant numbers, labelled by the mutant's name. Where
 * probes are hidden their interfaces' users are left out. Of a prompt that is upstream's text its place is packed.
 * @param without slugs of the tasks whose sources are not at hand: of these only nop is packed
 */
export async function packSuite(suite: LoadedSuite, without: ReadonlySet<string> = new Set()): Promise<PackedSuite> {
  const hidden = suite.file.probes === "hidden";
  const patchesBy = async (pick: (task: LoadedTask) => { label: string; path: string | null } | null) => {
    const patches: ReferencePatch[] = [];
    for (const task of suite.tasks) {
      const picked = pick(task);
      if (picked === null || (picked.path !== null && without.has(task.metadata.slug))) continue;
      const patch = picked.path === null ? "" : await readFile(picked.path, "utf8");
      patches.push({ task: task.metadata.slug, label: picked.label, patch });
    }
    return patches;
  };
  const sourced = suite.tasks.filter((task) => !without.has(task.metadata.slug));
  const present = new Set(sourced.flatMap((task) => task.mutants.map((mutant) => mutant.number)));
  const numbers = Array.from({ length: packedMutants }, (_, index) => index + 1).filter((number) =>
    present.has(number),
  );
  const referenceSets: PackedSuite["referenceSets"] = [
    { name: "gold", kind: "reference", patches: await patchesBy((task) => ({ label: "gold", path: task.goldPath })) },
    { name: "nop", kind: "reference", patches: await patchesBy(() => ({ label: "nop", path: null })) },
  ];
  for (const number of numbers) {
    const patches = await patchesBy((task) => {
      const mutant = task.mutants.find((each) => each.number === number);
      return mutant === undefined ? null : { label: mutant.name, path: mutant.absPath };
    });
    referenceSets.push({ name: `mutant-${number}`, kind: "reference", patches });
  }
  return packedSuiteSchema.parse({
    format: "infradev-suite/1",
    suite: suite.file,
    tasks: suite.tasks.map((task) => ({
      manifest: task.manifest,
      prompts: task.prompts.map(({ condition, default: isDefault, text }) => ({ condition, default: isDefault, text })),
      interfaces: hidden ? task.interfaces.map((entry) => ({ ...entry, used_by: [] })) : task.interfaces,
    })),
    referenceSets,
  });
}
