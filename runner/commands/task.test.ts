import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { registerTask } from "./task";

const suite = fileURLToPath(new URL("../suites/infradev-gpu", import.meta.url));
const slug = "pipeline-1f1b-bounded-activations";
const admission = join(suite, "admission", "gpus-0", `${slug}.validation.json`);

let work: string;
/** A copy of the suite, whose reference patches the tests change. */
let task: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-task-test-"));
  await cp(suite, join(work, "suite"), { recursive: true, filter: (path) => basename(path) !== "admission" });
  task = join(work, "suite", "tasks", slug);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});
afterAll(async () => {
  await rm(work, { recursive: true, force: true });
});

/** Merges the report that stands beside the suite, which holds the gate's every grading. */
async function merge() {
  let written = "";
  const keep = (text: unknown): boolean => {
    written += String(text);
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(keep);
  vi.spyOn(process.stderr, "write").mockImplementation(keep);
  const program = new Command().exitOverride();
  registerTask(program);
  const keys = ["--keys", join(suite, "admission", "keys.json"), "--key", join(work, "key.pem")];
  const args = ["task", "validate", task, "--merge", admission, ...keys, "--out", join(work, "out")];
  await program.parseAsync(args, { from: "user" });
  vi.restoreAllMocks();
  return { code: process.exitCode, written };
}

describe("task validate --merge", () => {
  it("admits a task whose reference patches are the graded ones", async () => {
    const { code, written } = await merge();
    expect(written).toContain(`${slug}: admitted`);
    expect(code).toBe(0);
  });

  it.each(["gold", "mutant-1"])("refuses reports of another %s than the task has now", async (name) => {
    await rm(join(work, "out"), { recursive: true, force: true });
    const mutants = join(task, "mutants");
    const mutant = (await readdir(mutants)).find((file) => file.startsWith("1-")) ?? "";
    const path = name === "gold" ? join(task, "solution", "gold.patch") : join(mutants, mutant);
    const graded = await readFile(path);
    await writeFile(path, `${graded}\n`);
    const { code, written } = await merge().finally(() => writeFile(path, graded));
    expect(code).toBe(2);
    expect(written).toContain("[validation.patch]");
    expect(written).toMatch(new RegExp(`where: .*${slug}, ${name}\n`));
    expect(await readdir(work), "nothing is written").not.toContain("out");
  });

  it("leaves out a mutant that the task has no longer", async () => {
    const mutants = join(task, "mutants");
    const last =
      (await readdir(mutants))
        .filter((file) => file.endsWith(".patch"))
        .sort()
        .at(-1) ?? "";
    const path = join(mutants, last);
    const graded = await readFile(path);
    await rm(path);
    const { code, written } = await merge().finally(() => writeFile(path, graded));
    expect(written).toContain(`${slug}: admitted`);
    expect(code).toBe(0);
  });
});
