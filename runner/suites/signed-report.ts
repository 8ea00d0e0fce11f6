import { mkdir, readFile, realpath, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { dsseEnvelopeSchema } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import { decodeUtf8, utf8 } from "@/lib/evidence/bytes";
import { serializeEnvelope, signEnvelope, type VerificationKey, verifyEnvelope } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import { findHolder, type GpuLock, takeLock } from "../gpus/lock";
import { sha256Hex } from "./files";

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

/**
 * Reads a report that one of `keys` signed. Throws `<prefix>.form` where the file is no report of this type and version,
 * DSSE's problems (`<prefix>.unknown-key`, `<prefix>.signature-invalid`, `<prefix>.envelope-form`), and what the system
 * says where it cannot be read.
 */
export async function readSignedReport<T>(
  path: string,
  keys: readonly VerificationKey[],
  of: { prefix: string; payloadType: string; schema: z.ZodType<T>; remedy: string },
): Promise<T> {
  const form = (cause: unknown): InfraDevError =>
    new InfraDevError(
      "invalid",
      {
        code: `${of.prefix}.form`,
        message: "the file is no signed report of this type and version",
        where: path,
        rule: `one DSSE envelope of type ${of.payloadType}`,
        remedy: of.remedy,
      },
      { cause },
    );
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw form(cause);
    }
  };
  const envelopeSchema = dsseEnvelopeSchema.extend({ payloadType: z.literal(of.payloadType) });
  const envelope = envelopeSchema.safeParse(parsed(await readFile(path, "utf8")));
  if (!envelope.success) throw form(envelope.error);
  const verdict = await verifyEnvelope(envelope.data, keys, of.prefix);
  if (!verdict.ok) {
    const { code, remedy, where } = verdict.problem;
    throw new InfraDevError("invalid", {
      ...verdict.problem,
      where: where === undefined ? path : `${path} (${where})`,
      remedy: code.endsWith(".unknown-key")
        ? "name the key that signed it (--key, or its public half in --keys, unless revoked), or another place"
        : remedy,
    });
  }
  const report = of.schema.safeParse(parsed(decodeUtf8(verdict.body)));
  if (report.success) return report.data;
  throw form(report.error);
}

/**
 * Takes the lock of a report for this process: whoever goes on with it keeps what it has in memory, so two would write
 * over each other's gradings. Throws `report.in-use` where a process of this host has it.
 */
export async function holdReport(path: string): Promise<GpuLock> {
  await mkdir(dirname(path), { recursive: true });
  const name = `report/${sha256Hex(utf8(join(await realpath(dirname(path)), basename(path))))}`;
  for (;;) {
    const lock = await takeLock(name, "a report");
    if (lock !== null) return lock;
    const holder = await findHolder(name);
    if (holder === null) continue; // it has just been given back
    throw new InfraDevError("conflict", {
      code: "report.in-use",
      message: `process ${holder.pid || "unknown"} goes on with the report there${holder.since && `, since ${holder.since}`}`,
      where: path,
      rule: "one process writes a report",
      remedy: "wait until it is over, end it, or name another --out",
    });
  }
}
