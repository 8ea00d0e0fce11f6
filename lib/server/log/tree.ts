import "server-only";
import type postgres from "postgres";
import type { z } from "zod";
import { findGradingRecord, listLeafHashes, listLogRecords } from "@/db/queries/log";
import type { logAnswerSchema } from "@/lib/contract/api";
import { InfraDevError } from "@/lib/contract/errors";
import type { LogInclusion } from "@/lib/contract/evidence-api";
import { logRecordSchema } from "@/lib/contract/log";
import { toBase64, toHex } from "@/lib/evidence/bytes";
import { encodeEntries, parseTilePath, signCheckpoint, tileWidth, tileWidthAt } from "@/lib/evidence/merkle";
import { MerkleTree } from "@/lib/evidence/node/merkle-tree";
import type { ServerContext } from "../context";

const trees = new WeakMap<postgres.Sql, { tree: MerkleTree; growing: Promise<void> }>();

/** The log's tree as of now: records are never changed, so each process keeps it and reads what is new. */
async function currentTree(sql: postgres.Sql): Promise<MerkleTree> {
  const held = trees.get(sql) ?? { tree: new MerkleTree(), growing: Promise.resolve() };
  trees.set(sql, held);
  const grow = async () => {
    for (const hash of await listLeafHashes(sql, held.tree.size)) held.tree.append(new Uint8Array(hash));
  };
  // One reader after the other, also after one that failed: two would append the same hashes twice.
  const grown = held.growing.then(grow, grow);
  held.growing = grown;
  await grown;
  return held.tree;
}

/** The signed checkpoint (C2SP tlog-checkpoint) of the log as it stands. */
export async function currentCheckpoint(context: ServerContext): Promise<string> {
  const tree = await currentTree(context.database.sql);
  const size = tree.size;
  return signCheckpoint({ origin: context.serverName, size, root: tree.root(size) }, context.signer);
}

/** Bytes of a tile by its path below /log/ (C2SP tlog-tiles). Throws `log.no-such-tile`. */
export async function readTile(context: ServerContext, path: string): Promise<{ bytes: Uint8Array; full: boolean }> {
  const name = parseTilePath(path);
  const tree = await currentTree(context.database.sql);
  const available = name ? tileWidthAt(tree.size, name.level, name.index) : 0;
  if (!name || name.width > available) {
    throw new InfraDevError("not-found", {
      code: "log.no-such-tile",
      message: "the log has no such tile",
      where: path.slice(0, 200),
      rule: "tiles are named as c2sp.org/tlog-tiles says: tile/<level>/<index>[.p/<width>], tile/entries/<index>[.p/<width>]",
      remedy: "take the tree's size from /log/checkpoint and ask for the tiles that it has",
    });
  }
  const full = name.width === tileWidth;
  if (name.level !== "entries") {
    const bytes = tree.tile({ level: name.level, index: name.index, width: name.width });
    if (bytes) return { bytes, full };
    throw new Error(`tile ${path} is missing from a tree of ${tree.size} records`);
  }
  const from = name.index * tileWidth;
  const records = await listLogRecords(context.database.sql, { from, to: from + name.width });
  return { bytes: encodeEntries(records.map((record) => new Uint8Array(record))), full };
}

/** Records from `from` on, parsed, at most `limit`, with the number of all. */
export async function readRecords(
  context: ServerContext,
  { from, limit }: { from: number; limit: number },
): Promise<z.infer<typeof logAnswerSchema>> {
  const { size } = await currentTree(context.database.sql);
  const to = Math.min(size, from + limit);
  const records = from < to ? await listLogRecords(context.database.sql, { from, to }) : [];
  return {
    size,
    records: records.map((record, at) => ({
      index: from + at,
      record: logRecordSchema.parse(JSON.parse(new TextDecoder().decode(record))),
    })),
  };
}

/** Where a grading's record stands, with a proof for the checkpoint that is given with it. Null without a record. */
export async function inclusionOf(context: ServerContext, gradingId: string): Promise<LogInclusion | null> {
  const { sql } = context.database;
  const found = await findGradingRecord(sql, gradingId);
  if (!found) return null;
  const tree = await currentTree(sql);
  const size = tree.size;
  return {
    index: found.position,
    record: toBase64(new Uint8Array(found.record)),
    proof: tree.inclusionProof(found.position, size).map(toHex),
    checkpoint: await signCheckpoint({ origin: context.serverName, size, root: tree.root(size) }, context.signer),
  };
}
