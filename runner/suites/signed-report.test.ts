import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import type { DsseEnvelope } from "@/lib/contract/bundle";
import { verificationKeyOf } from "@/lib/evidence/dsse";
import { generateKeyPair, type Signer } from "@/lib/evidence/keys";
import { readSignedReport, writeSignedReport } from "./signed-report";

const payloadType = "application/vnd.infradev.test+json";
const of = { prefix: "test", payloadType, schema: z.object({ value: z.int() }), remedy: "write it" };

let work: string;
let path: string;
let signer: Signer;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-signed-report-"));
  path = join(work, "report.json");
  signer = (await generateKeyPair()).signer;
});
afterAll(() => rm(work, { recursive: true, force: true }));

const read = (by = signer) => readSignedReport(path, [verificationKeyOf(by)], of);
async function change(how: (envelope: DsseEnvelope) => object): Promise<void> {
  await writeSignedReport(path, payloadType, { value: 1 }, signer);
  await writeFile(path, JSON.stringify(how(JSON.parse(await readFile(path, "utf8")) as DsseEnvelope)));
}

it("reads what one of the keys signed, and nothing else", async () => {
  await writeSignedReport(path, payloadType, { value: 1 }, signer);
  expect(await read()).toEqual({ value: 1 });
  await expect(read((await generateKeyPair()).signer)).rejects.toMatchObject({
    problem: {
      code: "test.unknown-key",
      where: expect.stringContaining(path),
      remedy: expect.stringContaining("--keys"),
    },
  });
});

it("says of a report that was changed after it was signed that it is to be taken again from its signer", async () => {
  await change((envelope) => ({ ...envelope, payload: Buffer.from('{"value":2}').toString("base64") }));
  await expect(read()).rejects.toMatchObject({
    problem: { code: "test.signature-invalid", remedy: expect.stringContaining("from its signer") },
  });
});

it.each<[string, () => Promise<void>]>([
  ["another type", () => change((envelope) => ({ ...envelope, payloadType: "application/vnd.in-toto+json" }))],
  ["another version, though signed", () => writeSignedReport(path, payloadType, { value: "1" }, signer)],
  ["no JSON", () => writeFile(path, "{")],
])("refuses a file of %s", async (_, write) => {
  await write();
  await expect(read()).rejects.toMatchObject({ problem: { code: "test.form", where: path, remedy: "write it" } });
});

it("leaves it to its caller that there is none", async () => {
  await expect(readSignedReport(join(work, "none"), [], of)).rejects.toMatchObject({ code: "ENOENT" });
});
