import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse as parseToml } from "smol-toml";
import { z } from "zod";
import { capture } from "../processes/capture";
import { type Finding, note, ok } from "./finding";

/** What this host can run of one suite. */
export type SuiteRow = {
  suite: string;
  tasks: number;
  /** Tasks whose standard launch this host can give, and those that it can run with fewer GPUs only. */
  standard: number;
  reduced: number;
  /** Python distributions that its tests need and that are not installed. */
  missingPackages: string[];
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

/** Those of the requirements whose distribution is not installed; all of them where there is no Python. */
async function missingOf(requirements: readonly string[], python: string | null): Promise<string[]> {
  if (requirements.length === 0) return [];
  if (python === null) return [...requirements];
  const names = requirements.map((text) => /^[A-Za-z0-9][\w.-]*/.exec(text)?.[0] ?? text);
  const probe = `import json, sys
from importlib import metadata
def has(name):
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False
print(json.dumps([has(name) for name in sys.argv[1:]]))`;
  const run = await capture(python, ["-s", "-c", probe, ...names], { timeoutMs: 60_000 }).catch(() => null);
  const parsed = z.array(z.boolean()).safeParse(JSON.parse(run?.stdout || "null"));
  return requirements.filter((_, index) => !(parsed.success && parsed.data[index]));
}

/** What this host can run of each bundled suite, with the GPUs that it can serve (their memory in MiB). */
export async function examineSuites(
  gpuMemoriesMb: readonly number[],
  python: string | null,
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
      missingPackages: await missingOf(suite.data.python_packages ?? [], python),
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

function describeSuite({ tasks, standard, reduced, missingPackages }: SuiteRow): Finding {
  const text = `${standard} of ${tasks} tasks with their standard launch${reduced > 0 ? `, ${reduced} with fewer GPUs than that` : ""}`;
  if (missingPackages.length > 0) {
    const remedy = `install for the Python above: pip install ${missingPackages.map((each) => `'${each}'`).join(" ")}`;
    return note(`${text}; without ${missingPackages.join(", ")} none`, remedy);
  }
  if (reduced > 0) return note(text, "for verdicts that count, use a host with more free GPUs");
  return ok(text);
}
