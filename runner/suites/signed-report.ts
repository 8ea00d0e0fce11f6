import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { utf8 } from "@/lib/evidence/bytes";
import { serializeEnvelope, signEnvelope } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";

/** Writes a report as a signed DSSE envelope of this payload type, whole or not at all. */
export async function writeSignedReport(
  path: string,
  payloadType: string,
  report: unknown,
  signer: Signer,
): Promise<void> {
  const envelope = await signEnvelope(payloadType, utf8(JSON.stringify(report)), signer);
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${serializeEnvelope(envelope)}\n`);
  await rename(temporary, path);
}
