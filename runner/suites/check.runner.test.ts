import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ensurePython } from "../grading/python-runtime";
import { patchOf } from "../selftest/exploit";
import { answerPath, honestAnswer, writeTinyTask } from "../selftest/tiny-task";
import { type CheckReport, checkTask } from "./check";
import { sealTask } from "./seal";

let python: string;
let dir: string;
let taskDir: string;
beforeAll(async () => {
  python = (await ensurePython()).executable;
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-lint-"));
  taskDir = (await writeTinyTask(dir)).dir;
  await writeIn("solution/gold.patch", patchOf({ [answerPath]: honestAnswer }));
  await writeIn("mutants/1-off-by-one.patch", patchOf({ [answerPath]: honestAnswer.replace("42", "41") }));
  await writeIn("instruction.md", "Make `answer` of `tiny.answer` return 42 plus the rank's number.\n");
  const entry = { symbol: "tiny.answer.answer", kind: "function", signature: "answer(rank: int) -> int", used_by: [] };
  await writeIn("interfaces.json", JSON.stringify([entry]));
});
afterEach(() => rm(dir, { recursive: true }));

async function writeIn(path: string, text: string): Promise<void> {
  const file = join(taskDir, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text);
}
const editIn = async (path: string, change: (text: string) => string): Promise<void> =>
  writeIn(path, change(await readFile(join(taskDir, path), "utf8")));
const check = async (): Promise<CheckReport> => {
  await sealTask(taskDir);
  return await checkTask(taskDir, { python });
};
const errorsOf = (report: CheckReport): string[] =>
  report.findings
    .filter((finding) => finding.level === "error")
    .map((finding) => `${finding.rule}: ${finding.message}`);

/** Gold that brings in a class with a member, and an argument. */
const richGold = `class Plan:
    def __init__(self, rank: int) -> None:
        self.owner_rank = rank


def answer(rank: int, *, offset: int = 42) -> int:
    return Plan(rank).owner_rank + offset
`;
const useInProbe = (lines: string) =>
  editIn("tests/probes/test_probe.py", (text) =>
    text.replace("def test_large_ranks():\n", `def test_large_ranks():\n${lines.replace(/^/gm, "    ")}\n`),
  );

describe("the lint", () => {
  it("finds nothing in a task that states what its probes use", async () => {
    const report = await check();
    expect(errorsOf(report)).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.facts).toMatchObject({ collectedIds: 4, patches: 2 });
  });

  it("refuses a symbol that gold changes and neither interfaces nor prompt state", async () => {
    await writeIn("interfaces.json", "[]");
    await writeIn("instruction.md", "Make it right.\n");
    const errors = errorsOf(await check());
    expect(errors).toContainEqual(
      expect.stringMatching(/symbols: .*'tiny.answer.answer' .*interfaces.json does not state/),
    );
    expect(errors).toContainEqual(
      expect.stringMatching(/symbols: .*'tiny.answer.answer' .*default prompt does not name/),
    );
  });

  it("sees through aliases, attributes of instances, keyword arguments and strings", async () => {
    await writeIn("solution/gold.patch", patchOf({ [answerPath]: richGold }));
    await useInProbe(
      [
        "import tiny.answer as module",
        "plan = module.Plan(3)",
        "assert plan.owner_rank == 3",
        "assert module.answer(1, offset=1) == 2",
      ].join("\n"),
    );
    const errors = (await check()).findings
      .filter((finding) => finding.rule === "symbols")
      .map((finding) => finding.message);
    for (const name of ["tiny.answer.Plan", "owner_rank", "offset"]) {
      expect(errors.some((message) => message.includes(name))).toBe(true);
    }
  });

  it("sees what a helper function of the probes uses", async () => {
    await writeIn("solution/gold.patch", patchOf({ [answerPath]: richGold }));
    await writeIn(
      "tests/probes/conftest.py",
      "from tiny import answer as module\n\n\ndef build():\n    return module.Plan(1)\n",
    );
    const report = await check();
    expect(errorsOf(report)).toContainEqual(expect.stringContaining("'tiny.answer.Plan'"));
    expect(report.findings.find((finding) => finding.message.includes("Plan"))?.where).toContain("conftest.py");
  });

  it("does not ask for what the base has and gold leaves alone", async () => {
    await useInProbe("import tiny\nassert tiny.__name__ == 'tiny'");
    expect(errorsOf(await check())).toEqual([]);
  });

  it("refuses a prompt that holds a line of gold, and names both places", async () => {
    await editIn("instruction.md", (text) => `${text}\nThat is:\n\n    return 42 + rank\n`);
    const finding = (await check()).findings.find((each) => each.rule === "solution");
    expect(finding).toMatchObject({ level: "error", where: "instruction.md:5" });
    expect(finding?.message).toContain("tiny/answer.py:5");
  });

  it("refuses a prompt that names what gold brings in and no interface states", async () => {
    await writeIn("solution/gold.patch", patchOf({ [answerPath]: richGold }));
    await editIn("instruction.md", (text) => `${text}\nKeep an owner_rank.\n`);
    expect(errorsOf(await check())).toContainEqual(expect.stringMatching(/solution: .*'owner_rank'/));
  });

  it("refuses ids that are not collected, and tests that are not listed", async () => {
    await editIn("tests/tests.json", (text) => text.replaceAll("::test_large_ranks", "::test_larger_ranks"));
    const errors = errorsOf(await check());
    expect(errors).toContainEqual(expect.stringMatching(/ids: .*test_larger_ranks.* is not collected/));
    expect(errors).toContainEqual(expect.stringMatching(/ids: .*test_large_ranks.* does not stand in tests.json/));
  });

  it("collects on every rank", async () => {
    await editIn("tests/probes/test_probe.py", (text) =>
      text.replace("def test_large_ranks", 'if os.environ["RANK"] == "0":\n  def test_large_ranks'),
    );
    const finding = (await check()).findings.find((each) => each.rule === "ids");
    expect(finding?.where).toContain("rank 1");
  });

  it("refuses a patch that does not apply, or touches protected paths", async () => {
    await writeIn(
      "mutants/1-off-by-one.patch",
      patchOf({ [answerPath]: honestAnswer }).replace("-    return 0", "-    return 1"),
    );
    await writeIn("mutants/2-own-tests.patch", patchOf({ "tests/test_answer.py": "x = 1\n" }));
    const errors = errorsOf(await check());
    expect(errors).toContainEqual(expect.stringMatching(/patches: .*does not apply/));
    expect(errors).toContainEqual(expect.stringMatching(/patches: .*touches 'tests\/test_answer.py'/));
  });

  it("refuses a seal that is out of date", async () => {
    await sealTask(taskDir);
    await writeFile(join(dir, "base/tiny/extra.py"), "x = 1\n");
    await editIn("tests/probes/test_probe.py", (text) => `${text}\n`);
    const errors = errorsOf(await checkTask(taskDir, { python }));
    expect(errors.filter((error) => error.startsWith("digests:"))).toHaveLength(2);
  });

  it("refuses an official test that a candidate could replace", async () => {
    await editIn("task.toml", (text) => text.replace('"tests/", ', ""));
    expect(errorsOf(await check())).toContainEqual(expect.stringMatching(/official: .*tests\/test_answer.py/));
  });
});
