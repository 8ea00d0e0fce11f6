import { resolve } from "node:path";
import { Option } from "commander";
import { bundleLimits, type PublishedKey, publishedKeysSchema } from "@/lib/contract/bundle";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import { type VerificationKey, verificationKeyOf } from "@/lib/evidence/dsse";
import { checkPublishedKeys, keyidOf, publishedKeyOf, type Signer } from "@/lib/evidence/keys";
import { parsePublicKeyPem } from "@/lib/evidence/node/key-file";
import { readGivenFile } from "../given-file";
import { loadSigningKey } from "../signing-key";

const { documentBytes: maxBytes } = bundleLimits;
const keysRemedy =
  "save the server's list once and pin it (curl -o keys.json <server>/.well-known/infradev-keys.json), or name the .pub.pem that stands beside a signing key";

/**
 * Keys from a file: the list that servers publish, or one public key in PEM. Throws `usage.keys-form`, `key.form` and
 * `key.keyid-mismatch`.
 */
export async function readKeys(name: string, signal: AbortSignal): Promise<PublishedKey[]> {
  const path = resolve(name);
  const use = { option: "--keys", code: "usage.keys-form", maxBytes, remedy: keysRemedy, signal };
  const text = (await readGivenFile(name, use)).toString();
  if (text.startsWith("-----BEGIN PUBLIC KEY-----")) {
    const spki = parsePublicKeyPem(text);
    const validFrom = new Date(0).toISOString();
    return [publishedKeyOf({ spki, keyid: await keyidOf(spki) }, { role: "runner", owner: path, validFrom })];
  }
  return parseKeys(text, path);
}

/** Keys of a list as servers publish it. Throws `usage.keys-form`, and what `checkPublishedKeys` finds. */
export async function parseKeys(text: string, where: string): Promise<PublishedKey[]> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "usage.keys-form",
        message: "the keys are neither a published list nor a public key in PEM",
        where,
        rule: "keys come as /.well-known/infradev-keys.json publishes them, or as -----BEGIN PUBLIC KEY-----",
        remedy: keysRemedy,
      },
      { cause },
    );
  }
  const parsed = publishedKeysSchema.safeParse(raw);
  if (!parsed.success)
    throw new InfraDevError(
      "invalid",
      problemFromZod(parsed.error, { code: "usage.keys-form", what: "the list of keys", where }),
    );
  const problem = await checkPublishedKeys(parsed.data.keys);
  if (problem) throw new InfraDevError("invalid", { ...problem, where });
  return parsed.data.keys;
}

/** `--keys` of commands that go on with signed reports. */
export const reportKeysOption = (): Option =>
  new Option(
    "--keys <file>",
    "public keys (a published list, or one in PEM) whose reports are taken too: those of other hosts, or of a key that is gone",
  );

/**
 * The public keys whose reports a command takes: that of `keyPath`, which is made where there is none, and the runners'
 * keys of `listName` that nobody revoked, whenever their validity ends. Throws what `readKeys` and `loadSigningKey` throw,
 * and `key.revoked` where the list says so of the signer's own key.
 */
export async function keysOfReports(
  keyPath: string,
  listName: string | undefined,
  signal: AbortSignal,
): Promise<{ signer: Signer; keys: VerificationKey[] }> {
  const given = listName === undefined ? [] : await readKeys(listName, signal);
  const signer = await loadSigningKey(keyPath);
  const counts = ({ revokedAt, compromisedSince }: PublishedKey) => revokedAt === null && compromisedSince === null;
  if (given.some((key) => key.keyid === signer.keyid && !counts(key)))
    throw new InfraDevError("conflict", {
      code: "key.revoked",
      message: `the list of keys says that ${signer.keyid} is revoked`,
      where: keyPath,
      rule: "what a revoked key signs counts nowhere",
      remedy: "name another key (--key); what this one signed has to be made again",
    });
  const runners = given.filter((key) => key.role === "runner" && counts(key));
  return { signer, keys: [verificationKeyOf(signer), ...runners] };
}
