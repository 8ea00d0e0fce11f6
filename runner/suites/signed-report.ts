import { mkdir, realpath, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { utf8 } from "@/lib/evidence/bytes";
import { serializeEnvelope, signEnvelope } from "@/lib/evidence/dsse";
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
