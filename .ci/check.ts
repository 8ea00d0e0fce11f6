import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

interface Check {
  name: string;
  run(): string | null | Promise<string | null>;
}

/** Null when the command ends with 0, else what it printed. */
function command(
  name: string,
  args: string[],
  accept: (output: string) => string | null = () => null,
): () => Promise<string | null> {
  return () =>
    new Promise((resolve) => {
      execFile(name, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        resolve(error === null ? accept(output) : output || String(error));
      });
    });
}

/** A wrong compiler version makes dependency-cruiser see nothing and pass, so the number of modules is checked too. */
function sawModules(output: string): string | null {
  const seen = Number(/(\d+) modules/.exec(output)?.[1] ?? 0);
  const expected = 300;
  if (seen >= expected) return null;
  return `dependency-cruiser saw ${seen} modules, at least ${expected} were expected: it did not read the TypeScript\n${output}`;
}

function journalRises(): string | null {
  const journal = JSON.parse(readFileSync("drizzle/meta/_journal.json", "utf8")) as {
    entries: { idx: number; when: number; tag: string }[];
  };
  const files = readdirSync("drizzle");
  for (const [index, entry] of journal.entries.entries()) {
    const before = journal.entries[index - 1];
    if (entry.idx !== index || (before && entry.when <= before.when))
      return `migration ${entry.tag}: the journal must rise strictly`;
    if (!files.includes(`${entry.tag}.sql`)) return `migration ${entry.tag}: its SQL file is missing`;
  }
  return null;
}

const noPendingChange = command("npm", ["run", "-s", "check:migrations"], (output) => {
  if (/No schema changes/.test(output)) return null;
  return `the schema has changes without a migration; drizzle-kit has just written one: review and name it\n${output}`;
});

const script = (name: string, accept?: (output: string) => string | null) =>
  command("npm", ["run", "-s", name], accept);
const checks: Check[] = [
  { name: "style (biome)", run: script("check:style") },
  { name: "types (tsc)", run: script("check:types") },
  { name: "import table (dependency-cruiser)", run: script("check:imports", sawModules) },
  { name: "unused code (knip)", run: script("check:unused") },
  { name: "migrations: journal rises", run: journalRises },
  { name: "migrations: no pending change", run: noPendingChange },
];

let failed = 0;
const started = performance.now();
const running = checks.map(async (check) => {
  let problem: string | null;
  try {
    problem = await check.run();
  } catch (error) {
    problem = String(error);
  }
  return { name: check.name, problem, seconds: ((performance.now() - started) / 1000).toFixed(1) };
});
for (const check of running) {
  const { name, problem, seconds } = await check;
  console.log(`${problem === null ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (problem === null) continue;
  failed++;
  console.log(problem.trimEnd().replaceAll(/^/gm, "     "));
}
console.log(failed === 0 ? `check: ${checks.length} checks hold` : `check: ${failed} of ${checks.length} checks fail`);
process.exitCode = failed === 0 ? 0 : 1;
