import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureOutputFolder } from "./output-folder";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-out-"));
  await writeFile(join(dir, "file"), "");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe("the folder for results", () => {
  it("is made with what leads to it, and found the second time", async () => {
    const wanted = join(dir, "a", "b");
    expect(await ensureOutputFolder(wanted)).toBe(wanted);
    expect((await stat(wanted)).isDirectory()).toBe(true);
    expect(await ensureOutputFolder(wanted)).toBe(wanted);
  });

  it("is refused below a file", async () => {
    await expect(ensureOutputFolder(join(dir, "file", "sub"))).rejects.toMatchObject({
      code: "environment.folder-not-writable",
    });
  });

  it.runIf(process.platform === "linux")("is refused where the system makes none, at once", async () => {
    await expect(ensureOutputFolder("/proc/infradev/out")).rejects.toMatchObject({
      code: "environment.folder-not-writable",
    });
  });
});
