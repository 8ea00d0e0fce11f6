import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse as parseToml } from "smol-toml";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import { resolvePython } from "../grading/python-runtime";
import { type Finding, note, ok } from "./finding";

/** What this host can run of one suite. */
export type SuiteRow = {
  suite: string;
  tasks: number;
  /** Tasks whose standard launch this host can give, and those that it can run with fewer GPUs only. */
  standard: number;
  reduced: number;
  /** The Python that runs its tests, null where none here can. */
  python: string | null;
  /** Python distributions that its tests need, where no Python has them all. */
  missingPackages: string[];
  /** How to get such a Python. */
  remedy: string | null;
};

const taskSchema = z.object({
  metadata: z.object({ infradev: z.object({ gpus_grade: z.int(), min_gpu_memory_mb: z.number().default(0) }) }),
});
const suiteSchema = z.object({
  slug: z.string(),
  tasks: z.array(z.string()),
  python_packages: z.array(z.string()).optional(),
});

/** The folder of the bundled suites, where this program runs beside it. */
async function bundledSuites(): Promise<string[]> {
  const here = dirname(fileURLToPath(import.meta.url));
  for (const folder of [join(here, "../suites"), join(here, "../runner/suites")]) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const dirs = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
    if (dirs.length > 0) return dirs.sort((a, b) => (a < b ? -1 : 1));
  }
  return [];
}

async function readToml(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch(() => null);
  return text === null ? null : parseToml(text);
}

/** The Python that serves a suite; or why none does yet. */
async function pythonFor(
  packages: readonly string[],
): Promise<Pick<SuiteRow, "python" | "missingPackages" | "remedy">> {
  try {
    const { executable, version } = await resolvePython({ packages });
    return { python: `${executable} (${version})`, missingPackages: [], remedy: null };
  } catch (error) {
    if (!(error instanceof InfraDevError)) throw error;
    return { python: null, missingPackages: [...packages], remedy: error.problem.remedy ?? null };
  }
}

/** What this host can run of each bundled suite, with the GPUs that it can serve (their memory in MiB). */
export async function examineSuites(
  gpuMemoriesMb: readonly number[],
): Promise<{ rows: SuiteRow[]; findings: [id: string, label: string, finding: Finding][] }> {
  const rows: SuiteRow[] = [];
  for (const dir of await bundledSuites()) {
    const suite = suiteSchema.safeParse(await readToml(join(dir, "suite.toml")));
    if (!suite.success) continue;
    const row: SuiteRow = {
      suite: suite.data.slug,
      tasks: suite.data.tasks.length,
      standard: 0,
      reduced: 0,
      ...(await pythonFor(suite.data.python_packages ?? [])),
    };
    for (const slug of suite.data.tasks) {
      const task = taskSchema.safeParse(await readToml(join(dir, "tasks", slug, "task.toml")));
      if (!task.success) continue;
      const { gpus_grade: gpus, min_gpu_memory_mb: memoryMb } = task.data.metadata.infradev;
      if (gpuMemoriesMb.filter((each) => each >= memoryMb).length >= gpus) row.standard += 1;
      else row.reduced += 1;
    }
    rows.push(row);
  }
  return { rows, findings: rows.map((row) => [`suite-${row.suite}`, row.suite, describeSuite(row)]) };
}

function describeSuite({ tasks, standard, reduced, python, missingPackages, remedy }: SuiteRow): Finding {
  const text = `${standard} of ${tasks} tasks with their standard launch${reduced > 0 ? `, ${reduced} with fewer GPUs than that` : ""}`;
  if (missingPackages.length > 0) {
    return note(`${text}; no Python here has ${missingPackages.join(", ")} yet`, remedy ?? "see python above");
  }
  const served = python === null ? text : `${text}, by ${python}`;
  if (reduced > 0) return note(served, "for verdicts that count, use a host with more free GPUs");
  return ok(served);
}
