import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { InfraDevError } from "../../contract/errors";
import { fromBase64, toBase64 } from "../bytes";
import type { Signer } from "../keys";
import { generateKeyPair, rawPublicKey, signerFromPkcs8 } from "../keys";

const pemLine = 64;
const maxKeyBytes = 64 * 1024;

function toPem(label: string, der: Uint8Array): string {
  const lines = toBase64(der).match(new RegExp(`.{1,${pemLine}}`, "g")) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** The DER inside a PEM block of this label; null where the text is none. */
function fromPem(label: string, text: string): Uint8Array | null {
  const body = new RegExp(`^-----BEGIN ${label}-----\\s([A-Za-z0-9+/=\\s]+)-----END ${label}-----\\s*$`).exec(
    text,
  )?.[1];
  try {
    return body === undefined ? null : fromBase64(body.replaceAll(/\s/g, ""));
  } catch {
    return null;
  }
}

/** SPKI DER of a public key in PEM; throws `key.form` where the text holds none of Ed25519. */
export function parsePublicKeyPem(text: string): Uint8Array {
  const spki = fromPem("PUBLIC KEY", text) ?? new Uint8Array();
  rawPublicKey(spki);
  return spki;
}

/** A public key as PEM, for openssl. */
export const publicKeyPem = (spki: Uint8Array): string => toPem("PUBLIC KEY", spki);

/**
 * Writes a file that appears whole or not at all, and never in place of another: gives whether it did, false where one
 * stands there. A writer that is killed leaves a file of another name.
 */
export async function writeNewFile(path: string, text: string, mode: number): Promise<boolean> {
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    const file = await open(partial, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(partial, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    await rm(partial, { force: true });
  }
}

/** Makes a key and writes it as PKCS#8 PEM, mode 0600. Refuses to replace a file: `key.exists`. */
export async function createKeyFile(path: string): Promise<Signer> {
  const { signer, pkcs8 } = await generateKeyPair();
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (await writeNewFile(path, toPem("PRIVATE KEY", pkcs8), 0o600)) return signer;
  throw new InfraDevError("conflict", {
    code: "key.exists",
    message: "a file stands where the new key would be written",
    where: path,
    rule: "a key is never replaced in place",
    remedy: "use the key that is there, or name another file",
  });
}

/**
 * Reads a private key in PKCS#8 PEM. Problems: `key.missing`, `key.permissions` (anyone but the owner may read it),
 * `key.form`.
 */
export async function loadPrivateKey(path: string): Promise<Signer> {
  const notThis = (message: string): InfraDevError =>
    new InfraDevError("invalid", {
      code: "key.form",
      message,
      where: path,
      rule: "the file begins with -----BEGIN PRIVATE KEY----- and holds base64",
      remedy: "name the file of an Ed25519 key; to make one where there is none: openssl genpkey -algorithm ed25519",
    });
  let text: string;
  let mode: number;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw notThis("this is no file");
    if (found.size > maxKeyBytes) throw notThis("the file is too large for a key");
    mode = found.mode;
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new InfraDevError(
      "not-found",
      {
        code: "key.missing",
        message: "there is no private key",
        where: path,
        rule: "a bundle is signed by an Ed25519 key that its host keeps",
        remedy: `make one with: openssl genpkey -algorithm ed25519 -out ${path} && chmod 600 ${path}`,
      },
      { cause },
    );
  }
  const der = fromPem("PRIVATE KEY", text);
  if (!der) {
    const encrypted = text.includes("BEGIN ENCRYPTED PRIVATE KEY");
    throw notThis(`the file is no ${encrypted ? "unencrypted " : ""}PKCS#8 private key in PEM`);
  }
  if ((mode & 0o077) !== 0)
    throw new InfraDevError("invalid", {
      code: "key.permissions",
      message: `the private key's file has mode ${(mode & 0o777).toString(8).padStart(4, "0")}`,
      where: path,
      rule: "only its owner may read or write a private key (mode 0600)",
      remedy: `run: chmod 600 ${path}`,
    });
  return signerFromPkcs8(der);
}

/** The key in this file; made where there is none. Of several that start at once, one makes it and all have it. */
export async function loadOrCreateKey(path: string): Promise<Signer> {
  const is = (error: unknown, code: string): boolean => error instanceof InfraDevError && error.code === code;
  try {
    return await loadPrivateKey(path);
  } catch (error) {
    if (!is(error, "key.missing")) throw error;
  }
  try {
    return await createKeyFile(path);
  } catch (error) {
    if (!is(error, "key.exists")) throw error;
    return await loadPrivateKey(path);
  }
}
