import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { createKeyFile } from "@/lib/evidence/node/key-file";
import { registerUpload } from "./upload";

let dir: string;
let bundle: string;
let key: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-upload-"));
  bundle = join(dir, "bundle");
  key = join(dir, "key.pem");
  await createKeyFile(key);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});
afterAll(() => rm(dir, { recursive: true }));

async function upload(server: string) {
  let out = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const program = new Command().exitOverride();
  registerUpload(program);
  await program.parseAsync(["upload", bundle, "--server", server, "--key", key, "--json"], { from: "user" });
  return { code: process.exitCode, error: JSON.parse(out).error };
}

it("looks at a bundle's size before it reads it", async () => {
  await writeFile(bundle, "");
  await truncate(bundle, 2 ** 40);
  expect(await upload("http://127.0.0.1:1")).toMatchObject({ code: 2, error: { code: "archive.packed-size" } });
});

it("gives up at once on a port that fetch refuses", async () => {
  await writeFile(bundle, "bundle");
  expect(await upload("http://127.0.0.1:9")).toMatchObject({
    code: 2,
    error: { code: "usage.server-port", where: "http://127.0.0.1:9/" },
  });
});
