import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { expect, it, vi } from "vitest";
import { registerDoctor } from "./doctor";

it("does not say that a host can grade with a data folder that cannot be used", async () => {
  const dir = await mkdtemp(join(tmpdir(), "infradev-doctor-"));
  await writeFile(join(dir, "file"), "");
  let out = "";
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += String(text);
    return true;
  });
  const program = new Command().exitOverride();
  registerDoctor(program);
  await program.parseAsync(["doctor", "--data", join(dir, "file"), "--json"], { from: "user" });
  vi.restoreAllMocks();
  const { can, launches } = JSON.parse(out);
  expect(process.exitCode).toBe(1);
  process.exitCode = undefined;
  expect(can).toMatchObject({ gradeSandboxed: false, gradeUnsandboxed: false });
  expect(can.sentence).not.toContain("can grade");
  expect(launches.filter((launch: { can: boolean }) => launch.can)).toEqual([]);
  await rm(dir, { recursive: true });
});
