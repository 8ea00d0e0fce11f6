import { mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import { loadSigningKey } from "./signing-key";

let dir: string;
let path: string;
let publicPath: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-signing-"));
  path = join(dir, "ck.pem");
  publicPath = join(dir, "ck.pub.pem");
});
afterEach(() => rm(dir, { recursive: true }));

describe("a signing key", () => {
  it("is one, with its public half, for all that start at once", async () => {
    const signers = await Promise.all(Array.from({ length: 8 }, () => loadSigningKey(path)));
    expect(new Set(signers.map(({ keyid }) => keyid)).size).toBe(1);
    expect(await readFile(publicPath, "utf8")).toBe(publicKeyPem(signers[0]?.spki ?? new Uint8Array()));
    expect((await readdir(dir)).sort()).toEqual(["ck.pem", "ck.pub.pem"]);
  });

  it("is refused beside another key's public half, which stays", async () => {
    const old = await loadSigningKey(path);
    await rm(path);
    const refusal = await loadSigningKey(path).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "key.other-public", problem: { where: publicPath } });
    expect(String(refusal)).toContain(old.keyid);
    expect(await readFile(publicPath, "utf8")).toBe(publicKeyPem(old.spki));
    await rm(publicPath);
    await loadSigningKey(path);
  });

  it("is refused beside what is no public key", async () => {
    await writeFile(publicPath, "");
    await expect(loadSigningKey(path)).rejects.toMatchObject({ code: "key.other-public" });
  });

  it("is refused beside another key's public half also where that key stands aside: attach moves both", async () => {
    const old = await loadSigningKey(path);
    await rename(path, `${path}.${old.keyid.slice(0, 12)}`);
    await expect(loadSigningKey(path)).rejects.toMatchObject({ code: "key.other-public" });
    expect(await readFile(publicPath, "utf8")).toBe(publicKeyPem(old.spki));
  });
});
