import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import { syntheticTrajectory } from "@/lib/trajectory/testing";
import { checkTrajectory, writeTrajectory } from "./trajectory";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "infradev-trajectory-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("goes into the payload without secrets and says the same of its run", async () => {
  const file = join(folder, "run.json");
  const token = `hf_${"a".repeat(36)}`;
  await writeFile(file, JSON.stringify(syntheticTrajectory({ notes: `with ${token}` })));
  await writeTrajectory(file, folder);
  const written = join(folder, "agent", "trajectory.json");
  expect(await readFile(written, "utf8")).not.toContain(token);
  expect(await checkTrajectory(written)).toEqual(await checkTrajectory(file));
});

it("is refused before anything is graded where it is none", async () => {
  const refusal = (path: string) =>
    checkTrajectory(path).then(
      () => "",
      (error: unknown) => (error instanceof InfraDevError ? error.code : error),
    );
  expect(await refusal(join(folder, "absent.json"))).toBe("usage.trajectory");
  await writeFile(join(folder, "other.json"), "{}");
  expect(await refusal(join(folder, "other.json"))).toBe("trajectory.form");
});
