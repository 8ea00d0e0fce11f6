import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { toHex, utf8 } from "../bytes";
import { verifySignature } from "../keys";
import { createKeyFile, loadOrCreateKey, loadPrivateKey, parsePublicKeyPem, publicKeyPem } from "./key-file";

/** Runs openssl, found on the path. */
const openssl = (...args: string[]): Buffer =>
  execFileSync("sh", ["-c", 'openssl "$@"', "sh", ...args], { stdio: ["ignore", "pipe", "ignore"] });

let work: string;
let path: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-key-"));
  path = join(work, "keys", "key.pem");
});
afterEach(() => rm(work, { recursive: true, force: true }));

describe("key files", () => {
  it("keep a key for its owner only, and give back the same key", async () => {
    const made = await createKeyFile(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await loadPrivateKey(path)).keyid).toBe(made.keyid);
    expect((await loadOrCreateKey(path)).keyid).toBe(made.keyid);
  });

  it("are never replaced", async () => {
    await createKeyFile(path);
    const before = await readFile(path);
    await expect(createKeyFile(path)).rejects.toMatchObject({ code: "key.exists" });
    expect(await readFile(path)).toEqual(before);
  });

  it("are one for all that start at once, and nothing else is left", async () => {
    const signers = await Promise.all(Array.from({ length: 12 }, () => loadOrCreateKey(path)));
    expect(new Set(signers.map(({ keyid }) => keyid)).size).toBe(1);
    expect(await readdir(join(work, "keys"))).toEqual(["key.pem"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("are whole or absent: a writing that ends halfway leaves none", async () => {
    const file = await open(join(work, "probe"), "w");
    vi.spyOn(Object.getPrototypeOf(file), "writeFile").mockRejectedValueOnce(new Error("ended"));
    await file.close();
    await expect(loadOrCreateKey(path)).rejects.toThrow("ended");
    expect(await readdir(join(work, "keys"))).toEqual([]);
  });

  it("are refused where others may read them", async () => {
    await createKeyFile(path);
    await chmod(path, 0o640);
    await expect(loadPrivateKey(path)).rejects.toMatchObject({ code: "key.permissions" });
    await expect(loadOrCreateKey(path)).rejects.toMatchObject({ code: "key.permissions" });
  });

  it("are refused where they are missing or no key", async () => {
    await expect(loadPrivateKey(path)).rejects.toMatchObject({ code: "key.missing" });
    await createKeyFile(path);
    for (const text of ["", "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]) {
      await writeFile(path, text);
      await expect(loadPrivateKey(path)).rejects.toMatchObject({ code: "key.form" });
    }
  });

  it("are looked at before their rights: a folder, an open text and an encrypted key are no keys", async () => {
    await createKeyFile(path);
    await chmod(path, 0o644);
    await writeFile(path, "key");
    await expect(loadPrivateKey(path)).rejects.toMatchObject({ code: "key.form" });
    await writeFile(path, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
    await expect(loadPrivateKey(path)).rejects.toThrow("no unencrypted PKCS#8");
    await expect(loadPrivateKey(work)).rejects.toThrow("this is no file");
    await truncate(path, 2 ** 40);
    await expect(loadPrivateKey(path)).rejects.toThrow("too large for a key");
  });

  it("are openssl's: each side reads and verifies the other's", async () => {
    const signer = await createKeyFile(path);
    const pem = openssl("pkey", "-in", path, "-pubout").toString();
    expect(pem).toBe(publicKeyPem(signer.spki));
    expect(toHex(parsePublicKeyPem(pem))).toBe(toHex(signer.spki));
    const theirs = join(work, "theirs.pem");
    openssl("genpkey", "-algorithm", "ed25519", "-out", theirs);
    await chmod(theirs, 0o600);
    const message = join(work, "message");
    await writeFile(message, "what is signed");
    const signature = openssl("pkeyutl", "-sign", "-inkey", theirs, "-rawin", "-in", message);
    const { spki } = await loadPrivateKey(theirs);
    expect(await verifySignature(spki, utf8("what is signed"), signature)).toBe(true);
  });

  it("of another kind are refused", async () => {
    await createKeyFile(path);
    await writeFile(path, openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"));
    await expect(loadPrivateKey(path)).rejects.toMatchObject({ code: "key.form" });
    expect(() => parsePublicKeyPem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")).toThrow(
      "not an Ed25519",
    );
  });
});
