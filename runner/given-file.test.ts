import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGivenFile } from "./given-file";

let dir: string;
let file: string;
let pipe: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-given-"));
  file = join(dir, "file");
  pipe = join(dir, "pipe");
  await writeFile(file, "abc");
  execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", pipe]);
});
afterAll(() => rm(dir, { recursive: true }));

const read = (name: string, maxBytes = 3, signal = new AbortController().signal) =>
  readGivenFile(name, { option: "--patch", code: "usage.patch", maxBytes, remedy: "name a patch", signal });
const refused = { code: "usage.patch", problem: { where: expect.any(String), remedy: "name a patch" } };

describe("a file that the command line names", () => {
  it("is read up to the limit, and refused beyond it", async () => {
    expect((await read(file)).toString()).toBe("abc");
    await expect(read(file, 2)).rejects.toMatchObject(refused);
  });

  it("is looked at before it is read", async () => {
    const large = join(dir, "large");
    await writeFile(large, "");
    await truncate(large, 2 ** 40);
    await expect(read(large)).rejects.toMatchObject(refused);
  });

  it("may be a pipe, whose writer it waits for", async () => {
    const reading = read(pipe);
    await new Promise((done) => setTimeout(done, 100));
    await writeFile(pipe, "abc");
    expect((await reading).toString()).toBe("abc");
  });

  it("is given up while a pipe says nothing, and where it says too much", async () => {
    const silent = read(pipe, 3, AbortSignal.timeout(100));
    await expect(silent).rejects.toMatchObject({ name: "AbortError" });
    const flooded = expect(read(pipe)).rejects.toMatchObject(refused);
    await writeFile(pipe, "x".repeat(1024 * 1024)).catch(() => undefined);
    await flooded;
  });

  it.each([
    ["a device without an end", () => "/dev/zero"],
    ["a folder", () => dir],
    ["nothing", () => ""],
  ])("is refused at once where it is %s", async (_name, name) => {
    await expect(read(name())).rejects.toMatchObject(refused);
  });
});
