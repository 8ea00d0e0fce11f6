import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ExecutorSession } from "../executors/executor";
import { referenceWorkspaces } from "./reference-workspaces";
import { writeTinyTask } from "./testing/tiny-task";

it("says where the solution is missing that a limit is relative to, and lays out the base all the same", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "infradev-reference-"));
  const { task, remove } = await writeTinyTask({
    base: { "lib/core.py": "x = 0\n" },
    tests: { "tests/test_it.py": "def test_it():\n    pass\n" },
    groups: [{ id: "official" }],
    ids: { "tests/test_it.py::test_it": { group: "official" } },
  });
  const session = { python: { standardModules: [] } } as unknown as ExecutorSession;
  const reference = referenceWorkspaces({ ...task, goldPath: join(scratch, "none.patch") }, scratch, session);
  await expect(reference("gold")).rejects.toMatchObject({
    code: "task.reference-absent",
    problem: { remedy: expect.stringContaining("solutions") },
  });
  expect((await reference("base")).repository).toContain("reference-base");
  await remove();
  await rm(scratch, { recursive: true, force: true });
});
