import { createHash } from "node:crypto";
import type { TileName } from "../merkle";
import { tileWidth, tileWidthAt } from "../merkle";

const emptyRoot = createHash("sha256").digest();

/** SHA-256(0x00 || record), at once. */
export const leafHashOf = (record: Uint8Array): Uint8Array =>
  createHash("sha256").update(Uint8Array.of(0)).update(record).digest();

const nodeHashOf = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  createHash("sha256").update(Uint8Array.of(1)).update(left).update(right).digest();

/** Largest power of two below `size` (size >= 2). */
function splitOf(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

/**
 * An RFC 6962 tree over leaf hashes, held in memory (64 bytes a record): appending costs two hashes on average, roots
 * and proofs of any earlier size cost O(log n).
 */
export class MerkleTree {
  /** levels[l][i] is the hash of records [i * 2^l, (i + 1) * 2^l). */
  private readonly levels: Uint8Array[][] = [[]];

  constructor(leafHashes: Iterable<Uint8Array> = []) {
    for (const hash of leafHashes) this.append(hash);
  }

  get size(): number {
    return this.levels[0]?.length ?? 0;
  }

  append(leafHash: Uint8Array): void {
    let hash = leafHash;
    for (let level = 0; ; level += 1) {
      const nodes = this.levels[level] ?? [];
      this.levels[level] = nodes;
      nodes.push(hash);
      const left = nodes.at(-2);
      if (nodes.length % 2 === 1 || !left) return;
      hash = nodeHashOf(left, hash);
    }
  }

  /** Merkle tree hash of the first `size` records. */
  root(size = this.size): Uint8Array {
    this.bound(size);
    return size === 0 ? emptyRoot : this.hashOf(0, size);
  }

  /** Siblings from the leaf at `index` upwards, in the tree of the first `size` records. */
  inclusionProof(index: number, size = this.size): Uint8Array[] {
    this.bound(size);
    if (!Number.isInteger(index) || index < 0 || index >= size)
      throw new RangeError(`no record ${index} in a tree of ${size}`);
    return this.path(index, 0, size);
  }

  /** Shows that the tree of `newSize` begins with the tree of `oldSize` (RFC 6962, 2.1.2). */
  consistencyProof(oldSize: number, newSize = this.size): Uint8Array[] {
    this.bound(newSize);
    if (!Number.isInteger(oldSize) || oldSize < 1 || oldSize > newSize)
      throw new RangeError(`no tree of ${oldSize} records within ${newSize}`);
    return this.subproof(oldSize, 0, newSize, true);
  }

  /** Bytes of a tile of the tree of `size` records; null where the tree has no such tile or it is not that wide. */
  tile({ level, index, width }: TileName & { level: number }, size = this.size): Uint8Array | null {
    this.bound(size);
    if (width < 1 || width > tileWidthAt(size, level, index)) return null;
    const nodes = this.levels[level * 8] ?? [];
    return Buffer.concat(nodes.slice(index * tileWidth, index * tileWidth + width));
  }

  private bound(size: number) {
    if (!Number.isInteger(size) || size < 0 || size > this.size)
      throw new RangeError(`the log has ${this.size} records, not ${size}`);
  }

  private hashOf(start: number, end: number): Uint8Array {
    const count = end - start;
    const level = Math.log2(count);
    const whole = Number.isInteger(level) ? this.levels[level]?.[start / count] : undefined;
    if (whole) return whole;
    const split = splitOf(count);
    return nodeHashOf(this.hashOf(start, start + split), this.hashOf(start + split, end));
  }

  private path(index: number, start: number, end: number): Uint8Array[] {
    if (end - start === 1) return [];
    const split = start + splitOf(end - start);
    return index < split
      ? [...this.path(index, start, split), this.hashOf(split, end)]
      : [...this.path(index, split, end), this.hashOf(start, split)];
  }

  private subproof(old: number, start: number, end: number, complete: boolean): Uint8Array[] {
    if (old === end) return complete ? [] : [this.hashOf(start, end)];
    const split = start + splitOf(end - start);
    return old <= split
      ? [...this.subproof(old, start, split, complete), this.hashOf(split, end)]
      : [...this.subproof(old, split, end, false), this.hashOf(start, split)];
  }
}
