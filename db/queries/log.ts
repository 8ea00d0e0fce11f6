import type { SqlRunner } from "./queue";

/** Any constant does; it is the log's own. */
const logLock = 5_418_200_117;

/**
 * Holds the log until the transaction ends and answers the position of the next record. Positions rise by one without
 * gaps, in the order of commits: a reader that sees a record sees every earlier one.
 */
export async function lockLog(tx: SqlRunner): Promise<number> {
  await tx`select pg_advisory_xact_lock(${logLock})`;
  const [row] = await tx<{ next: string }[]>`select coalesce(max(position) + 1, 0) as next from log_record`;
  return Number(row?.next ?? 0);
}

export async function appendLogRecord(
  tx: SqlRunner,
  params: { position: number; kind: string; gradingId: string | null; record: Uint8Array; leafHash: Uint8Array },
): Promise<void> {
  await tx`
    insert into log_record (position, kind, grading_id, record, leaf_hash)
    values (${params.position}, ${params.kind}, ${params.gradingId}, ${Buffer.from(params.record)},
            ${Buffer.from(params.leafHash)})`;
}

/** Leaf hashes from position `from` (included) on, in order. */
export async function listLeafHashes(sql: SqlRunner, from: number): Promise<Uint8Array[]> {
  const rows = await sql<{ leafHash: Uint8Array }[]>`
    select leaf_hash as "leafHash" from log_record where position >= ${from} order by position`;
  return rows.map((row) => row.leafHash);
}

/** Records of positions `from` (included) to `to` (excluded), in order. */
export async function listLogRecords(sql: SqlRunner, params: { from: number; to: number }): Promise<Uint8Array[]> {
  const rows = await sql<{ record: Uint8Array }[]>`
    select record from log_record where position >= ${params.from} and position < ${params.to} order by position`;
  return rows.map((row) => row.record);
}

/** The record of a grading's acceptance. */
export async function findGradingRecord(
  sql: SqlRunner,
  gradingId: string,
): Promise<{ position: number; record: Uint8Array } | null> {
  const [row] = await sql<{ position: string; record: Uint8Array }[]>`
    select position, record from log_record where grading_id = ${gradingId} and kind = 'bundle'
    order by position limit 1`;
  return row ? { position: Number(row.position), record: row.record } : null;
}
