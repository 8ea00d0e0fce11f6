import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { publishedKeyOf } from "@/lib/evidence/keys";
import { loadSigningKey, publicKeyPath } from "../signing-key";
import { keysOfReports } from "./given-keys";

let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-given-keys-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

it("takes reports of its own key, of a public half in PEM, and of listed keys that nobody revoked", async () => {
  const key = (name: string) => loadSigningKey(join(work, `${name}.pem`));
  const [own, other, revoked, stolen] = await Promise.all(["own", "other", "revoked", "stolen"].map(key));
  if (own === undefined || other === undefined || revoked === undefined || stolen === undefined)
    throw new Error("keys");
  const taken = async (file?: string) =>
    (await keysOfReports(own, file, new AbortController().signal)).map(({ keyid }) => keyid);
  expect(await taken()).toEqual([own.keyid]);
  expect(await taken(publicKeyPath(join(work, "other.pem")))).toEqual([own.keyid, other.keyid]);

  const since = "2026-01-01T00:00:00Z";
  const facts = { role: "runner" as const, owner: "a host", validFrom: since };
  const list = join(work, "keys.json");
  const keys = [
    publishedKeyOf(other, facts),
    { ...publishedKeyOf(revoked, facts), revokedAt: since },
    { ...publishedKeyOf(stolen, facts), revokedAt: since, compromisedSince: since },
  ];
  await writeFile(list, JSON.stringify({ format: "infradev-keys/1", keys }));
  expect(await taken(list)).toEqual([own.keyid, other.keyid]);
});
