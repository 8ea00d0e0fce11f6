import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PublishedKey } from "@/lib/contract/bundle";
import { publishedKeyOf } from "@/lib/evidence/keys";
import { loadSigningKey, publicKeyPath } from "../signing-key";
import { keysOfReports } from "./given-keys";

const since = "2026-01-01T00:00:00Z";

let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-given-keys-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

const pathOf = (name: string): string => join(work, `${name}.pem`);
const listed = async (name: string, facts: Partial<PublishedKey> = {}): Promise<PublishedKey> => ({
  ...publishedKeyOf(await loadSigningKey(pathOf(name)), { role: "runner", owner: "a host", validFrom: since }),
  ...facts,
});
async function listOf(...keys: PublishedKey[]): Promise<string> {
  const file = join(work, "keys.json");
  await writeFile(file, JSON.stringify({ format: "infradev-keys/1", keys }));
  return file;
}
async function taken(file?: string): Promise<string[]> {
  const { signer, keys } = await keysOfReports(pathOf("own"), file, new AbortController().signal);
  expect(keys[0]?.keyid, "its own key comes first").toBe(signer.keyid);
  return keys.slice(1).map(({ keyid }) => keyid);
}

describe("reports are taken", () => {
  it("of its own key, and of a public half in PEM", async () => {
    const { keyid } = await listed("other");
    expect(await taken()).toEqual([]);
    expect(await taken(publicKeyPath(pathOf("other")))).toEqual([keyid]);
  });

  it("of listed runners that nobody revoked", async () => {
    const other = await listed("other");
    const keys = [
      other,
      await listed("revoked", { revokedAt: since }),
      await listed("stolen", { compromisedSince: since }),
      await listed("vendor", { role: "vendor" }),
      await listed("server", { role: "server" }),
    ];
    expect(await taken(await listOf(...keys))).toEqual([other.keyid]);
  });

  it("of nobody where its own key is revoked", async () => {
    await expect(taken(await listOf(await listed("own", { revokedAt: since })))).rejects.toMatchObject({
      code: "key.revoked",
    });
  });
});

it("makes no key where the list cannot be read", async () => {
  const [list, key] = [join(work, "no-list"), pathOf("new")];
  await writeFile(list, "{}");
  await expect(keysOfReports(key, list, new AbortController().signal)).rejects.toMatchObject({
    code: "usage.keys-form",
  });
  expect(existsSync(key)).toBe(false);
});
