import "server-only";
import { appendLogRecord, lockLog } from "@/db/queries/log";
import type { SqlRunner } from "@/db/queries/queue";
import { type LogRecord, logRecordMaxBytes } from "@/lib/contract/log";
import { utf8 } from "@/lib/evidence/bytes";
import { leafHashOf } from "@/lib/evidence/node/merkle-tree";

/**
 * Appends a record in the caller's transaction. From here until the transaction ends no other can append, so call it
 * late. Answers the record's position and leaf hash.
 */
export async function appendToLog(
  tx: SqlRunner,
  record: LogRecord,
  gradingId: string | null,
): Promise<{ index: number; leafHash: Uint8Array }> {
  const bytes = utf8(JSON.stringify(record));
  if (bytes.byteLength > logRecordMaxBytes) throw new Error(`a log record of ${bytes.byteLength} bytes is too long`);
  const leaf = leafHashOf(bytes);
  const index = await lockLog(tx);
  await appendLogRecord(tx, { position: index, kind: record.type, gradingId, record: bytes, leafHash: leaf });
  return { index, leafHash: leaf };
}
