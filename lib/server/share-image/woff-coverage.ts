import { inflateSync } from "node:zlib";

/**
 * The code points that a WOFF 1 font has a glyph for, from its `cmap` table (formats 4 and 12).
 *
 * Source: W3C WOFF File Format 1.0; OpenType specification, `cmap`.
 */
export function woffCoverage(font: Buffer): Set<number> {
  const tables = font.readUInt16BE(12);
  const covered = new Set<number>();
  for (let index = 0; index < tables; index++) {
    const entry = 44 + 20 * index;
    if (font.toString("latin1", entry, entry + 4) !== "cmap") continue;
    const offset = font.readUInt32BE(entry + 4);
    const packed = font.readUInt32BE(entry + 8);
    const bytes = font.subarray(offset, offset + packed);
    readCharacterMap(packed < font.readUInt32BE(entry + 12) ? inflateSync(bytes) : bytes, covered);
  }
  return covered;
}

function readCharacterMap(table: Buffer, covered: Set<number>): void {
  for (let index = 0; index < table.readUInt16BE(2); index++) {
    const start = table.readUInt32BE(4 + 8 * index + 4);
    const format = table.readUInt16BE(start);
    if (format === 4) readSegments(table, start, covered);
    if (format === 12) readGroups(table, start, covered);
  }
}

function readSegments(table: Buffer, start: number, covered: Set<number>): void {
  const twice = table.readUInt16BE(start + 6);
  for (let at = 0; at < twice; at += 2) {
    const end = table.readUInt16BE(start + 14 + at);
    const first = table.readUInt16BE(start + 16 + twice + at);
    for (let code = first; code <= end && code < 0xffff; code++) covered.add(code);
  }
}

function readGroups(table: Buffer, start: number, covered: Set<number>): void {
  for (let group = 0; group < table.readUInt32BE(start + 12); group++) {
    const at = start + 16 + 12 * group;
    for (let code = table.readUInt32BE(at); code <= table.readUInt32BE(at + 4); code++) covered.add(code);
  }
}
