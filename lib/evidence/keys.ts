import type { PublishedKey } from "../contract/bundle";
import type { Problem } from "../contract/errors";
import { InfraDevError } from "../contract/errors";
import { concatBytes, equalBytes, fromBase64, fromHex, sha256Hex, toBase64, webBytes } from "./bytes";

/** What every Ed25519 SubjectPublicKeyInfo begins with; the 32 bytes of the key follow (RFC 8410). */
const spkiPrefix = fromHex("302a300506032b6570032100");

/** A private key that can sign, with its public half. */
export interface Signer {
  /** Hex sha256 of the SPKI DER. */
  readonly keyid: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  /** 64 bytes of Ed25519 over the message. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

export interface KeyPair {
  readonly signer: Signer;
  /** PKCS#8, DER: the private key. */
  readonly pkcs8: Uint8Array;
}

/** DSSE's keyid: hex sha256 of the key's SubjectPublicKeyInfo in DER. */
export const keyidOf = (spki: Uint8Array): Promise<string> => sha256Hex(spki);

/** The 32 bytes of an Ed25519 public key; throws `key.form` where the SPKI is of another kind. */
export function rawPublicKey(spki: Uint8Array): Uint8Array {
  if (spki.length !== 44 || !equalBytes(spki.subarray(0, 12), spkiPrefix))
    throw new InfraDevError("invalid", {
      code: "key.form",
      message: "not an Ed25519 public key",
      rule: "a public key is a SubjectPublicKeyInfo of Ed25519 in DER (44 bytes), in base64",
      remedy: "export it with: openssl pkey -in key.pem -pubout -outform DER | base64 -w0",
    });
  return spki.subarray(12);
}

/** Wraps 32 bytes of an Ed25519 public key as SPKI DER. */
export const spkiOfRaw = (raw: Uint8Array): Uint8Array => concatBytes(spkiPrefix, raw);

async function importPublicKey(spki: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", webBytes(rawPublicKey(spki)), "Ed25519", false, ["verify"]);
}

/** True where `signature` is Ed25519 over `message` by the key; false for any other bytes of any length. */
export async function verifySignature(spki: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== 64) return false;
  return crypto.subtle.verify("Ed25519", await importPublicKey(spki), webBytes(signature), webBytes(message));
}

async function signerFrom(privateKey: CryptoKey, spki: Uint8Array): Promise<Signer> {
  return {
    keyid: await keyidOf(spki),
    spki,
    sign: async (message) => new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, webBytes(message))),
  };
}

/** Makes a fresh Ed25519 key. */
export async function generateKeyPair(): Promise<KeyPair> {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  return { signer: await signerFrom(pair.privateKey, spki), pkcs8 };
}

/** A signer from a PKCS#8 DER private key; throws `key.form` where it holds no Ed25519 key. */
export async function signerFromPkcs8(pkcs8: Uint8Array): Promise<Signer> {
  let privateKey: CryptoKey;
  try {
    privateKey = await crypto.subtle.importKey("pkcs8", webBytes(pkcs8), "Ed25519", true, ["sign"]);
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "key.form",
        message: "not an Ed25519 private key",
        rule: "a private key is PKCS#8 (what `openssl genpkey -algorithm ed25519` writes)",
        remedy: "make one with: openssl genpkey -algorithm ed25519 -out key.pem",
      },
      { cause },
    );
  }
  const jwk = await crypto.subtle.exportKey("jwk", privateKey);
  const x = (jwk.x ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const raw = fromBase64(x.padEnd(Math.ceil(x.length / 4) * 4, "="));
  return signerFrom(privateKey, spkiOfRaw(raw));
}

/** A public key as `/.well-known/infradev-keys.json` lists it, valid from `validFrom` with no end. */
export function publishedKeyOf(
  signer: Pick<Signer, "keyid" | "spki">,
  facts: Pick<PublishedKey, "role" | "owner" | "validFrom"> & Partial<PublishedKey>,
): PublishedKey {
  return {
    validUntil: null,
    revokedAt: null,
    compromisedSince: null,
    ...facts,
    keyid: signer.keyid,
    spki: toBase64(signer.spki),
  };
}

/**
 * Why a signature by this key that was received at `receivedAt` does not count; null where it counts: the time lies
 * in [validFrom, validUntil), before `compromisedSince`, and before the key was revoked.
 */
export function keyProblemAt(
  key: Omit<PublishedKey, "spki" | "role" | "owner">,
  receivedAt: Date,
  prefix: "bundle" | "receipt" | "log" = "bundle",
): Problem | null {
  const at = receivedAt.getTime();
  const time = receivedAt.toISOString();
  const where = `key ${key.keyid}`;
  const reached = (instant: string | null) => instant !== null && at >= Date.parse(instant);
  if (reached(key.compromisedSince))
    return {
      code: `${prefix}.key-revoked`,
      message: `the key counts as compromised since ${key.compromisedSince}; this was received at ${time}`,
      where,
      rule: "a signature counts only if it was received before its key counts as compromised",
      remedy: "grade again on a host whose key is in force",
    };
  if (reached(key.revokedAt))
    return {
      code: `${prefix}.key-revoked`,
      message: `the key was revoked at ${key.revokedAt}; this was received at ${time}`,
      where,
      rule: "a signature counts only if it was received before its key was revoked",
      remedy: "grade again on a host whose key is in force, or give the receipt that shows an earlier time",
    };
  if (at < Date.parse(key.validFrom))
    return {
      code: `${prefix}.key-not-yet-valid`,
      message: `the key is valid from ${key.validFrom}; this was received at ${time}`,
      where,
      rule: "a signature counts only if it was received inside its key's window",
      remedy: "sign with a key whose window has begun",
    };
  if (reached(key.validUntil))
    return {
      code: `${prefix}.key-expired`,
      message: `the key was valid until ${key.validUntil}; this was received at ${time}`,
      where,
      rule: "a signature counts only if it was received inside its key's window",
      remedy: "sign with a key that is in force, or give the receipt that shows an earlier time",
    };
  return null;
}

/** Checks that a published key's keyid is the digest of its own bytes; a list that lies about it is refused. */
export async function checkPublishedKeys(keys: readonly PublishedKey[]): Promise<Problem | null> {
  for (const key of keys) {
    const problem = (message: string): Problem => ({
      code: "key.keyid-mismatch",
      message,
      where: `key ${key.keyid}`,
      rule: "a keyid is the hex sha256 of the key's SubjectPublicKeyInfo in DER",
      remedy: "take the list of keys from the server again, or correct the pinned file",
    });
    let spki: Uint8Array;
    try {
      spki = fromBase64(key.spki);
      rawPublicKey(spki);
    } catch {
      return { ...problem("the list holds bytes that are no Ed25519 public key"), code: "key.form" };
    }
    if ((await keyidOf(spki)) !== key.keyid) return problem("the list names a key by a keyid that is not its digest");
  }
  return null;
}
