import type { Problem } from "../contract/errors";
import { InfraDevError } from "../contract/errors";
import { logRecordMaxBytes } from "../contract/log";
import { concatBytes, equalBytes, fromBase64, sha256, toBase64, toHex, utf8 } from "./bytes";
import type { Signer } from "./keys";
import { rawPublicKey, verifySignature } from "./keys";

/**
 * The append-only log: RFC 6962 hashing and proofs, C2SP signed notes, checkpoints and tiles (c2sp.org/signed-note,
 * c2sp.org/tlog-checkpoint, c2sp.org/tlog-tiles). What a reader needs; the tree itself is in node/merkle-tree.ts.
 */

/** SHA-256(0x00 || record). */
export const leafHash = (record: Uint8Array): Promise<Uint8Array> => sha256(concatBytes(Uint8Array.of(0), record));

/** SHA-256(0x01 || left || right). */
const nodeHash = (left: Uint8Array, right: Uint8Array): Promise<Uint8Array> =>
  sha256(concatBytes(Uint8Array.of(1), left, right));

const half = (value: number) => Math.floor(value / 2);
const odd = (value: number) => value % 2 === 1;

/** Root that an inclusion proof leads to (RFC 9162, 2.1.3.2); null where the proof has the wrong length. */
async function rootFromInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<Uint8Array | null> {
  if (index < 0 || index >= size) return null;
  let node = index;
  let last = size - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0) return null;
    if (odd(node) || node === last) {
      root = await nodeHash(sibling, root);
      while (!odd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else root = await nodeHash(root, sibling);
    node = half(node);
    last = half(last);
  }
  return last === 0 ? root : null;
}

/** Whether `proof` shows that `leaf` stands at `index` in the tree of this size and root. */
export async function verifyInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): Promise<boolean> {
  const reached = await rootFromInclusion(index, size, leaf, proof);
  return reached !== null && equalBytes(reached, root);
}

/** Whether `proof` shows that the tree of `newSize` begins with the tree of `oldSize` (RFC 9162, 2.1.4.2). */
export async function verifyConsistency(
  oldSize: number,
  newSize: number,
  oldRoot: Uint8Array,
  newRoot: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<boolean> {
  if (oldSize < 1 || oldSize > newSize) return false;
  if (oldSize === newSize) return proof.length === 0 && equalBytes(oldRoot, newRoot);
  let node = oldSize - 1;
  let last = newSize - 1;
  while (odd(node)) {
    node = half(node);
    last = half(last);
  }
  const path = node === 0 ? [oldRoot, ...proof] : [...proof];
  const first = path.shift();
  if (!first) return false;
  let oldHash = first;
  let newHash = first;
  for (const sibling of path) {
    if (last === 0) return false;
    if (odd(node) || node === last) {
      oldHash = await nodeHash(sibling, oldHash);
      newHash = await nodeHash(sibling, newHash);
      while (!odd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else newHash = await nodeHash(newHash, sibling);
    node = half(node);
    last = half(last);
  }
  return last === 0 && equalBytes(oldHash, oldRoot) && equalBytes(newHash, newRoot);
}

export interface Checkpoint {
  /** Schema-less URL of the log, also the name of its key. */
  origin: string;
  /** Number of records. */
  size: number;
  root: Uint8Array;
}

const ed25519NoteKey = 1;
const keyNamePattern = /^[^\s+\p{Cc}]+$/u;

/** C2SP's key id: the first four bytes of SHA-256(name || 0x0A || 0x01 || public key). Not DSSE's keyid. */
async function noteKeyId(name: string, spki: Uint8Array): Promise<Uint8Array> {
  const digest = await sha256(concatBytes(utf8(`${name}\n`), Uint8Array.of(ed25519NoteKey), rawPublicKey(spki)));
  return digest.subarray(0, 4);
}

/** `name+hexid+base64`: the form in which tools for signed notes take a log's public key. */
export async function noteVerifierKey(name: string, spki: Uint8Array): Promise<string> {
  const encoded = toBase64(concatBytes(Uint8Array.of(ed25519NoteKey), rawPublicKey(spki)));
  return `${name}+${toHex(await noteKeyId(name, spki))}+${encoded}`;
}

/** A signed note over `text`, which must end in a line feed. */
async function signNote(text: string, name: string, signer: Signer): Promise<string> {
  if (!text.endsWith("\n") || !keyNamePattern.test(name))
    throw new RangeError("a note's text ends in a line feed and its key's name has no space and no '+'");
  const signature = concatBytes(await noteKeyId(name, signer.spki), await signer.sign(utf8(text)));
  return `${text}\n\u2014 ${name} ${toBase64(signature)}\n`;
}

/** The signed checkpoint of a tree. */
export const signCheckpoint = (checkpoint: Checkpoint, signer: Signer): Promise<string> =>
  signNote(`${checkpoint.origin}\n${checkpoint.size}\n${toBase64(checkpoint.root)}\n`, checkpoint.origin, signer);

const noteProblem = (code: string, message: string): { problem: Problem } => ({
  problem: {
    code,
    message,
    where: "log checkpoint",
    rule: "a checkpoint is a C2SP signed note: origin, size and root, signed by the log's key",
    remedy: "take the checkpoint again from the server, and the list of keys that holds its key",
  },
});

/**
 * Reads a note and verifies it: at least one signature by a known key of this name, and none by a known key that does
 * not verify. Signatures of unknown keys are ignored, as C2SP asks.
 */
export async function openNote(
  note: string,
  name: string,
  keys: readonly { spki: Uint8Array }[],
): Promise<{ text: string; key: { spki: Uint8Array } } | { problem: Problem }> {
  const cut = note.lastIndexOf("\n\n");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: C2SP forbids exactly these
  if (cut < 0 || /[\u0000-\u0009\u000b-\u001f]/u.test(note))
    return noteProblem("log.checkpoint-form", "the checkpoint has no text and signatures set apart by an empty line");
  const text = note.slice(0, cut + 1);
  const lines = note.slice(cut + 2).split("\n");
  if (lines.pop() !== "" || lines.length === 0 || lines.length > 16)
    return noteProblem("log.checkpoint-form", "the checkpoint's signature lines do not have their form");
  let verifiedBy: { spki: Uint8Array } | null = null;
  for (const line of lines) {
    const match = /^\u2014 (\S+) (\S+)$/u.exec(line);
    let signature: Uint8Array;
    try {
      signature = fromBase64(match?.[2] ?? "?");
    } catch {
      return noteProblem("log.checkpoint-form", "the checkpoint's signature lines do not have their form");
    }
    if (match?.[1] !== name) continue;
    for (const key of keys) {
      if (!equalBytes(await noteKeyId(name, key.spki), signature.subarray(0, 4))) continue;
      if (!(await verifySignature(key.spki, utf8(text), signature.subarray(4))))
        return noteProblem("log.signature-invalid", "the checkpoint's signature does not fit its text");
      verifiedBy ??= key;
    }
  }
  return verifiedBy
    ? { text, key: verifiedBy }
    : noteProblem("log.unknown-key", `no known key of '${name}' signed the checkpoint`);
}

/** Reads and verifies a checkpoint of the log named `origin`. */
export async function openCheckpoint(
  note: string,
  origin: string,
  keys: readonly { spki: Uint8Array }[],
): Promise<{ checkpoint: Checkpoint; key: { spki: Uint8Array } } | { problem: Problem }> {
  const opened = await openNote(note, origin, keys);
  if ("problem" in opened) return opened;
  const [first, size, root] = opened.text.split("\n");
  if (first !== origin) return noteProblem("log.origin", `the checkpoint is of '${first}', expected '${origin}'`);
  if (!size || !/^(0|[1-9]\d{0,15})$/.test(size) || !root)
    return noteProblem("log.checkpoint-form", "the checkpoint's size or root does not have its form");
  try {
    const bytes = fromBase64(root);
    if (bytes.length !== 32) throw new RangeError("a root is 32 bytes");
    return { checkpoint: { origin, size: Number(size), root: bytes }, key: opened.key };
  } catch {
    return noteProblem("log.checkpoint-form", "the checkpoint's root is not 32 bytes in base64");
  }
}

/** Hashes in a full tile. */
export const tileWidth = 256;

const indexPath = (index: number): string => {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, "0");
  const parts = padded.match(/\d{3}/g) ?? [];
  return parts.map((part, position) => (position < parts.length - 1 ? `x${part}` : part)).join("/");
};

export interface TileName {
  /** `entries` for the bundles of records. */
  level: number | "entries";
  index: number;
  /** 256 for a full tile. */
  width: number;
}

/** `tile/<L>/<N>[.p/<W>]`. */
export const tilePath = ({ level, index, width }: TileName): string =>
  `tile/${level}/${indexPath(index)}${width === tileWidth ? "" : `.p/${width}`}`;

/** Reads a tile's path; null for any other spelling. */
export function parseTilePath(path: string): TileName | null {
  const match = /^tile\/(entries|[1-9]?\d)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path);
  const [, level, index, width] = match ?? [];
  if (!level || !index) return null;
  const name: TileName = {
    level: level === "entries" ? level : Number(level),
    index: Number(index.replaceAll(/[x/]/g, "")),
    width: width ? Number(width) : tileWidth,
  };
  return tilePath(name) === path && (name.level === "entries" || name.level <= 63) ? name : null;
}

/** Number of hashes that level `level` of a tree of `size` records has in tile `index`; 0 where there is none. */
export function tileWidthAt(size: number, level: number | "entries", index: number): number {
  const hashes = Math.floor(size / tileWidth ** (level === "entries" ? 0 : level));
  return Math.max(0, Math.min(tileWidth, hashes - index * tileWidth));
}

/** Records, each behind its length in two bytes, big-endian. */
export function encodeEntries(records: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    ...records.flatMap((record) => {
      if (record.length > logRecordMaxBytes)
        throw new InfraDevError("invalid", {
          code: "log.record-size",
          message: `a record of ${record.length} bytes`,
          rule: `a log record is at most ${logRecordMaxBytes} bytes`,
          remedy: "name what is large by its digest",
        });
      return [Uint8Array.of(record.length >> 8, record.length & 0xff), record];
    }),
  );
}

/** Reads the records of an entry tile; null where lengths and bytes do not fit. */
export function decodeEntries(bytes: Uint8Array): Uint8Array[] | null {
  const records: Uint8Array[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const [high, low] = bytes.subarray(offset, offset + 2);
    if (high === undefined || low === undefined) return null;
    const end = offset + 2 + high * 256 + low;
    if (end > bytes.length) return null;
    records.push(bytes.subarray(offset + 2, end));
    offset = end;
  }
  return records;
}
