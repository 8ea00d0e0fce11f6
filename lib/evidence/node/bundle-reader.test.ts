import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InfraDevError } from "../../contract/errors";
import { concatBytes, utf8 } from "../bytes";
import { gzipOf, packArchive } from "../testing";
import { extractBundle, type ReadLimits, readBundleEntries, readLimits } from "./bundle-reader";
import { encodeHeader } from "./tar-format";

let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-archives-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

const stream = async function* (bytes: Uint8Array, chunk = bytes.length) {
  for (let offset = 0; offset < bytes.length; offset += chunk) yield bytes.subarray(offset, offset + chunk);
};

/** Reads to the end; the refusal's code, or the paths that were read. */
async function read(bytes: Uint8Array, limits: ReadLimits = readLimits, chunk?: number): Promise<string | string[]> {
  const paths = [];
  try {
    for await (const { path } of readBundleEntries(stream(bytes, chunk), limits)) paths.push(path);
    return paths;
  } catch (error) {
    if (error instanceof InfraDevError) return error.code;
    throw error;
  }
}

const entry = (path: string, content = "x") => ({ path, bytes: utf8(content) });

/** A header with fields of one's own under a right checksum. */
function craft(path: string, size: number, edit: (header: Uint8Array) => void): Uint8Array {
  const header = encodeHeader("x", size);
  header.fill(0, 0, 100);
  header.set(utf8(path).subarray(0, 100));
  edit(header);
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.set(utf8(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return header;
}
const typed = (flag: string, path = "payload/a", link = "") => ({
  ...entry(path),
  header: craft(path, 1, (header) => {
    header[156] = flag.charCodeAt(0);
    header.set(utf8(link), 157);
  }),
});
const named = (path: string) => ({ ...entry(path), header: craft(path, 1, () => undefined) });

describe("canonical archives", () => {
  it("are read in any size of chunk", async () => {
    const bytes = packArchive([entry("a"), entry("b", ""), entry("c", "y".repeat(1500))]);
    for (const chunk of [1, 7, 512, 100_000]) expect(await read(bytes, readLimits, chunk)).toEqual(["a", "b", "c"]);
  });

  it("keep long paths in ustar's prefix, as tar reads them", async () => {
    const path = `payload/${"d".repeat(60)}/${"e".repeat(60)}/file.txt`;
    const bytes = packArchive([entry(path)]);
    expect(await read(bytes)).toEqual([path]);
    expect(execFileSync("tar", ["tzf", "-"], { input: bytes, encoding: "utf8" }).trim()).toBe(path);
  });

  it("may be left in the middle of an entry", async () => {
    const bytes = packArchive([entry("a", "1".repeat(5000)), entry("b", "22")]);
    const seen: string[] = [];
    for await (const { path, content } of readBundleEntries(stream(bytes, 100)))
      for await (const chunk of content) {
        seen.push(`${path}${String.fromCharCode(chunk[0] ?? 0)}`);
        break;
      }
    expect(seen).toEqual(["a1", "b2"]);
  });
});

describe("hostile archives are refused by their own code", () => {
  it.each([
    ["a symbolic link", "archive.link", [typed("2", "payload/a", "/etc/passwd")]],
    ["a hard link", "archive.link", [typed("1", "payload/a", "SHA256SUMS")]],
    ["a character device", "archive.device", [typed("3")]],
    ["a block device", "archive.device", [typed("4")]],
    ["a named pipe", "archive.device", [typed("6")]],
    ["a folder", "archive.entry-type", [typed("5", "payload/")]],
    ["an unknown type", "archive.entry-type", [typed("Z")]],
    ["a PAX header", "archive.extension-header", [typed("x", "PaxHeaders/a"), entry("payload/a")]],
    ["a global PAX header", "archive.extension-header", [typed("g", "pax_global_header"), entry("payload/a")]],
    ["a GNU long name", "archive.extension-header", [typed("L", "././@LongLink"), entry("payload/a")]],
    ["a GNU long link", "archive.extension-header", [typed("K", "././@LongLink"), entry("payload/a")]],
    ["an absolute path", "archive.path", [named("/etc/passwd")]],
    ["a path that leaves", "archive.path", [named("payload/../../x")]],
    ["a path that begins with ..", "archive.path", [named("../x")]],
    ["a path of a dot", "archive.path", [named("payload/./x")]],
    ["an empty part", "archive.path", [named("payload//x")]],
    ["a path that ends in a slash", "archive.path", [named("payload/x/")]],
    ["an empty path", "archive.path", [named("")]],
    ["a backslash", "archive.path", [named("payload\\x")]],
    ["a line feed", "archive.path", [named("payload/x\ny")]],
    ["an escape character", "archive.path", [named("payload/\u001b[2J")]],
    ["a bidirectional override", "archive.path", [named("payload/\u202etxt.exe")]],
    ["a duplicate", "archive.duplicate", [entry("payload/a"), entry("payload/a")]],
    ["a later duplicate", "archive.duplicate", [entry("payload/a"), entry("payload/b"), entry("payload/a")]],
    ["a file that is a folder", "archive.path", [entry("payload/a"), entry("payload/a-b"), entry("payload/a/b")]],
    ["entries out of order", "archive.order", [entry("b"), entry("a")]],
  ])("%s: %s", async (_, code, entries) => {
    expect(await read(packArchive(entries))).toBe(code);
    const target = join(work, "target");
    await expect(extractBundle(stream(packArchive(entries)), target)).rejects.toMatchObject({ code });
    expect(existsSync(target)).toBe(false);
    expect(await readdir(work)).toEqual([]);
  });

  it.each([
    ["a mode of its own", (header: Uint8Array) => header.set(utf8("0000755\0"), 100)],
    ["an owner", (header: Uint8Array) => header.set(utf8("0001750\0"), 108)],
    ["a time", (header: Uint8Array) => header.set(utf8("14000000000\0"), 136)],
    ["a user's name", (header: Uint8Array) => header.set(utf8("root"), 265)],
    ["GNU's magic", (header: Uint8Array) => header.set(utf8("ustar  \0"), 257)],
    ["hidden bytes at the header's end", (header: Uint8Array) => header.set(utf8("hidden"), 500)],
    ["hidden bytes after the name", (header: Uint8Array) => header.set(utf8("hidden"), 20)],
    [
      "a size in base 256",
      (header: Uint8Array) => header.set(Uint8Array.of(0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 124),
    ],
    ["a name in the prefix though it is short", (header: Uint8Array) => header.set(utf8("payload"), 345)],
  ])("a header with %s", async (_, edit) => {
    expect(await read(packArchive([{ ...entry("payload/a"), header: craft("payload/a", 1, edit) }]))).toBe(
      "archive.not-canonical",
    );
  });

  it("a wrong checksum of a header", async () => {
    const header = encodeHeader("a", 1);
    header[0] = 0x62;
    expect(await read(packArchive([{ ...entry("a"), header }]))).toBe("archive.header");
  });

  it("a path that is not UTF-8", async () => {
    const header = craft("payload/a", 1, (bytes) => bytes.set(Uint8Array.of(0xff, 0xfe), 8));
    expect(await read(packArchive([{ ...entry("payload/a"), header }]))).toBe("archive.path");
  });

  it("bytes that are not zero after a file's end", async () => {
    const tar = concatBytes(encodeHeader("a", 1), utf8("x"), new Uint8Array(511).fill(1), new Uint8Array(1024));
    expect(await read(gzipOf(tar))).toBe("archive.not-canonical");
  });

  it("an archive that ends early, at any place", async () => {
    const tar = concatBytes(encodeHeader("a", 600), new Uint8Array(1024), new Uint8Array(1024));
    for (const length of [0, 1, 511, 512, 700, 1536, 2047])
      expect(await read(gzipOf(tar.subarray(0, length)))).toBe("archive.truncated");
    const packed = packArchive([entry("a", "abc".repeat(500))]);
    for (let length = 10; length < packed.length; length += 1)
      expect(await read(packed.subarray(0, length)), `${length} bytes`).toMatch(
        /^archive\.(truncated|trailing-data|checksum)$/,
      );
  });

  it("data after the end: more blocks, more bytes, another member, another archive", async () => {
    const good = packArchive([entry("a")]);
    const tar = concatBytes(encodeHeader("a", 1), utf8("x"), new Uint8Array(511), new Uint8Array(1024));
    expect(await read(gzipOf(concatBytes(tar, new Uint8Array(512))))).toBe("archive.trailing-data");
    expect(await read(gzipOf(concatBytes(tar, tar)))).toBe("archive.trailing-data");
    expect(await read(concatBytes(good, Uint8Array.of(0)))).toBe("archive.trailing-data");
    expect(await read(concatBytes(good, good))).toBe("archive.trailing-data");
    expect(await read(concatBytes(good, gzipSync("more")), readLimits, 11)).toBe("archive.trailing-data");
    expect(await read(concatBytes(good, new Uint8Array(1 << 20)), readLimits, 4096)).toBe("archive.trailing-data");
  });

  it("other gzip headers, other formats, nothing at all", async () => {
    const tar = concatBytes(encodeHeader("a", 1), utf8("x"), new Uint8Array(511), new Uint8Array(1024));
    expect(await read(gzipSync(tar))).toBe("archive.not-canonical");
    expect(await read(tar)).toBe("archive.not-gzip");
    expect(await read(new Uint8Array())).toMatch(/^archive\./);
    expect(await read(utf8("PK\u0003\u0004"))).toMatch(/^archive\./);
  });

  it("a wrong CRC or length", async () => {
    const good = packArchive([entry("a")]);
    for (const offset of [8, 4]) {
      const bad = Buffer.from(good);
      bad[bad.length - offset] = (bad[bad.length - offset] ?? 0) ^ 1;
      expect(await read(bad)).toBe("archive.checksum");
    }
  });

  it("too many entries, too many bytes, packed or unpacked", async () => {
    const three = packArchive([entry("a"), entry("b"), entry("c")]);
    expect(await read(three, { ...readLimits, entries: 2 })).toBe("archive.entries");
    expect(await read(three, { ...readLimits, unpackedBytes: 2048 })).toBe("archive.unpacked-size");
    expect(await read(three, { ...readLimits, packedBytes: 50 })).toBe("archive.packed-size");
    const claim = craft("a", 1, (header) => header.set(utf8("77777777777\0"), 124));
    expect(await read(packArchive([{ ...entry("a"), header: claim }]))).toBe("archive.unpacked-size");
  });
});

describe("memory", () => {
  /** Reads an archive that a generator makes on the fly, in a program of its own; its peak memory over a small one's. */
  const peakKb = (mode: string) => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--import", "tsx", fileURLToPath(new URL("./read-large.fixture.ts", import.meta.url)), mode],
      { encoding: "utf8", timeout: 120_000 },
    );
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as { maxRssKb: number; outcome: string; unpacked: number };
  };

  it("does not grow with an entry of 1 GiB, nor with a bomb: at most 64 MiB over the reading of a small archive", () => {
    const base = peakKb("small");
    const large = peakKb("large");
    const bomb = peakKb("bomb");
    expect(base.outcome).toBe("read");
    expect(large).toMatchObject({ outcome: "read" });
    expect(large.unpacked).toBeGreaterThan(1000 * 1024 * 1024);
    expect(bomb.outcome).toBe("archive.ratio");
    const over = { large: large.maxRssKb - base.maxRssKb, bomb: bomb.maxRssKb - base.maxRssKb };
    console.log(`peak memory over base, KiB: ${JSON.stringify(over)}`);
    expect(over.large).toBeLessThan(64 * 1024);
    expect(over.bomb).toBeLessThan(64 * 1024);
  }, 180_000);
});
