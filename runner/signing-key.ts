import { readFile } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";
import { keyidOf, type Signer } from "@/lib/evidence/keys";
import { loadOrCreateKey, parsePublicKeyPem, publicKeyPem, writeNewFile } from "@/lib/evidence/node/key-file";

/** Where the public half of a key file stands: `key.pem` -> `key.pub.pem`. */
export const publicKeyPath = (keyPath: string): string => keyPath.replace(/(\.pem)?$/, ".pub.pem");

/** Id of the public key in this file, `none` where the file holds no key; null where there is no file. */
async function findPublicKeyid(path: string): Promise<string | null> {
  try {
    return await keyidOf(parsePublicKeyPem(await readFile(path, "utf8")));
  } catch (error) {
    if (error instanceof InfraDevError) return "none";
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

/**
 * The key in this file, made where there is none; its public half is written beside it, for `verify --keys`. Throws
 * `key.other-public` where that of another key stands there.
 */
export async function loadSigningKey(keyPath: string): Promise<Signer> {
  const signer = await loadOrCreateKey(keyPath);
  const publicPath = publicKeyPath(keyPath);
  let found = await findPublicKeyid(publicPath);
  // Several may start at once: what another one wrote meanwhile is looked at, too.
  if (found === null && !(await writeNewFile(publicPath, publicKeyPem(signer.spki), 0o644))) {
    found = await findPublicKeyid(publicPath);
  }
  if (found === null || found === signer.keyid) return signer;
  throw new InfraDevError("conflict", {
    code: "key.other-public",
    message:
      found === "none"
        ? `no public key stands beside the key ${signer.keyid}`
        : `the public half of the key ${found} stands beside the key ${signer.keyid}`,
    where: publicPath,
    rule: `it is what verify --keys takes for what ${keyPath} signs, and is not replaced`,
    remedy: `move ${publicPath} away (it is then written for the key that is there), or put the key that it belongs to back to ${keyPath}`,
  });
}
