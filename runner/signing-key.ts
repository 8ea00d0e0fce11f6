import { access, writeFile } from "node:fs/promises";
import type { Signer } from "@/lib/evidence/keys";
import { loadOrCreateKey, publicKeyPem } from "@/lib/evidence/node/key-file";

/** Where the public half of a key file stands: `key.pem` -> `key.pub.pem`. */
export const publicKeyPath = (keyPath: string): string => keyPath.replace(/(\.pem)?$/, ".pub.pem");

/** The key in this file, made where there is none; its public half is written beside it, for `verify --keys`. */
export async function loadSigningKey(keyPath: string): Promise<Signer> {
  const signer = await loadOrCreateKey(keyPath);
  const publicPath = publicKeyPath(keyPath);
  await access(publicPath).catch(() => writeFile(publicPath, publicKeyPem(signer.spki), { mode: 0o644 }));
  return signer;
}
