import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import { bundleLimits } from "../../contract/bundle";
import { InfraDevError } from "../../contract/errors";
import { relativePathSchema } from "../../contract/scalars";
import { compareUtf8, equalBytes, utf8 } from "../bytes";
import { gzipHeader, gzipTrailer, gzipTrailerBytes } from "./gzip-format";
import { blockBytes, decodeHeader, encodeHeader, fitsHeader, paddingOf } from "./tar-format";

export interface ReadLimits {
  packedBytes: number;
  unpackedBytes: number;
  entries: number;
  pathBytes: number;
  /** Unpacked to packed, beyond a lead of `ratioLeadBytes`. */
  ratio: number;
  ratioLeadBytes: number;
}

/** The contract's limits. A small archive may lead by 64 MiB before the ratio binds: repetitive logs are honest. */
export const readLimits: ReadLimits = { ...bundleLimits, ratioLeadBytes: 64 * 1024 * 1024 };

export interface BundleEntry {
  path: string;
  /** Bytes. */
  size: number;
  /** The entry's bytes, once. What is not read is skipped. */
  content: AsyncIterable<Uint8Array>;
}

export interface OpenBundle {
  /** In the archive's order, which is that of their paths' bytes. Throws InfraDevError with an `archive.*` code. */
  entries: AsyncGenerator<BundleEntry, void, void>;
  /** Digest (hex) and size of the archive as read; known once every entry was passed. */
  archive(): { sha256: string; bytes: number };
}

function refuse(code: string, message: string, where: string, rule: string, remedy?: string): never {
  throw new InfraDevError("invalid", {
    code,
    message,
    where,
    rule,
    remedy: remedy ?? "take the bundle again as the runner wrote it; an archive packed by another program is refused",
  });
}

const tooLarge = (code: string, message: string, where: string, rule: string): never => {
  throw new InfraDevError("too-large", {
    code,
    message,
    where,
    rule,
    remedy: "bound the logs and resource samples of the grading more tightly",
  });
};

/** The deflate stream inside one gzip member, with header, trailer, size and end checked. */
class GzipMember {
  packed = 0;
  private readonly digest = createHash("sha256");
  private readonly source: string | AsyncIterable<Uint8Array>;
  private readonly limits: ReadLimits;
  private head = new Uint8Array();
  /** The last bytes seen, held back from inflation: at the end they are the trailer. */
  private tail = new Uint8Array();

  constructor(source: string | AsyncIterable<Uint8Array>, limits: ReadLimits) {
    this.source = source;
    this.limits = limits;
  }

  archive() {
    return { sha256: this.digest.copy().digest("hex"), bytes: this.packed };
  }

  private async *deflated(): AsyncGenerator<Uint8Array> {
    const { source } = this;
    for await (const whole of typeof source === "string" ? createReadStream(source) : source) {
      this.digest.update(whole);
      this.packed += whole.length;
      if (this.packed > this.limits.packedBytes)
        tooLarge(
          "archive.packed-size",
          `more than ${this.limits.packedBytes} bytes packed`,
          "archive",
          `a bundle is at most ${this.limits.packedBytes} bytes`,
        );
      let chunk = whole;
      const lacking = gzipHeader.length - this.head.length;
      if (lacking > 0) {
        this.head = Buffer.concat([this.head, chunk.subarray(0, lacking)]);
        chunk = chunk.subarray(lacking);
        if (!equalBytes(this.head, gzipHeader.subarray(0, this.head.length)))
          refuse(
            this.head[0] === 0x1f && this.head[1] === 0x8b ? "archive.not-canonical" : "archive.not-gzip",
            this.head[0] === 0x1f && this.head[1] === 0x8b
              ? "the gzip header is not the canonical one"
              : "the file is not a gzip archive",
            "archive, bytes 0 to 9",
            "a bundle is one gzip member whose header carries no name, time or extra field",
          );
      }
      const held = Buffer.concat([this.tail, chunk]);
      const cut = Math.max(0, held.length - gzipTrailerBytes);
      this.tail = held.subarray(cut);
      if (cut > 0) yield held.subarray(0, cut);
    }
  }

  async *inflated(): AsyncGenerator<Uint8Array> {
    const inflate = createInflateRaw({ chunkSize: 64 * 1024 });
    let failure: Error | null = null;
    const done = new Promise<void>((resolve) => {
      pipeline(Readable.from(this.deflated(), { objectMode: false }), inflate, (error) => {
        failure = error ?? null;
        resolve();
      });
    });
    let checksum = 0;
    let unpacked = 0;
    let ended = false;
    try {
      for await (const chunk of inflate as AsyncIterable<Buffer>) {
        checksum = crc32(chunk, checksum);
        unpacked += chunk.length;
        this.bound(unpacked);
        yield chunk;
      }
      ended = true;
    } catch (error) {
      this.explain(error);
    } finally {
      inflate.destroy();
      await done;
    }
    if (failure && (failure as Error) instanceof InfraDevError) throw failure;
    const expected = gzipHeader.length + inflate.bytesWritten + gzipTrailerBytes;
    if (!ended || failure || this.packed !== expected)
      refuse(
        "archive.trailing-data",
        "bytes follow the end of the compressed data",
        `archive, byte ${expected}`,
        "a bundle is exactly one gzip member and nothing after it",
      );
    if (!equalBytes(this.tail, gzipTrailer(checksum, unpacked)))
      refuse(
        "archive.checksum",
        "checksum or length of the compressed data do not fit",
        "archive, last 8 bytes",
        "gzip's CRC-32 and length must fit the data",
      );
  }

  private bound(unpacked: number) {
    if (unpacked > this.limits.unpackedBytes)
      tooLarge(
        "archive.unpacked-size",
        `more than ${this.limits.unpackedBytes} bytes unpacked`,
        "archive",
        `a bundle unpacks to at most ${this.limits.unpackedBytes} bytes`,
      );
    if (unpacked > this.limits.ratio * this.packed + this.limits.ratioLeadBytes)
      tooLarge(
        "archive.ratio",
        `${unpacked} bytes unpacked out of ${this.packed} packed`,
        "archive",
        `unpacked bytes are at most ${this.limits.ratio} times the packed ones`,
      );
  }

  private explain(error: unknown): never {
    if (error instanceof InfraDevError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "Z_BUF_ERROR")
      refuse("archive.truncated", "the archive ends in the middle of its data", "archive", "a bundle is complete");
    if (code?.startsWith("Z_"))
      refuse(
        "archive.corrupt-data",
        `the compressed data cannot be read: ${(error as Error).message}`,
        "archive",
        "a bundle is a gzip archive",
      );
    throw error;
  }
}

/** Pulls exact amounts out of a stream of chunks. */
class Bytes {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  /** Up to `most` bytes; null at the end of the stream. */
  async some(most: number): Promise<Uint8Array | null> {
    while (this.rest.length === 0) {
      const next = await this.chunks.next();
      if (next.done) return null;
      this.rest = next.value;
    }
    const part = this.rest.subarray(0, most);
    this.rest = this.rest.subarray(part.length);
    return part;
  }

  async exactly(length: number): Promise<Uint8Array> {
    const whole = new Uint8Array(length);
    let offset = 0;
    while (offset < length) {
      const part = await this.some(length - offset);
      if (!part)
        refuse("archive.truncated", "the archive ends in the middle of its data", "archive", "a bundle is complete");
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  }

  async close(): Promise<void> {
    await this.chunks.return?.(undefined);
  }
}

const kindOf: Record<string, string> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a character device",
  "4": "a block device",
  "5": "a folder",
  "6": "a named pipe",
  "7": "a contiguous file",
  x: "an extended header",
  g: "a global extended header",
  L: "a GNU long name",
  K: "a GNU long link",
};

function refuseKind(typeflag: string, where: string): never {
  const kind = kindOf[typeflag] ?? `an entry of type '${typeflag.replaceAll(/\p{Cc}/gu, "?")}'`;
  const code =
    typeflag === "1" || typeflag === "2"
      ? "archive.link"
      : typeflag === "3" || typeflag === "4" || typeflag === "6"
        ? "archive.device"
        : "xgLK".includes(typeflag)
          ? "archive.extension-header"
          : "archive.entry-type";
  return refuse(code, `the archive holds ${kind}`, where, "a bundle holds regular files only");
}

/** Keeps what was seen of the archive's names, and refuses what may not follow. */
class Names {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();
  private previous: string | null = null;
  private readonly limits: ReadLimits;

  constructor(limits: ReadLimits) {
    this.limits = limits;
  }

  admit(path: string) {
    const printable = JSON.stringify(path);
    if (
      !relativePathSchema.safeParse(path).success ||
      !fitsHeader(path) ||
      utf8(path).length > this.limits.pathBytes ||
      /[\u202a-\u202e\u2066-\u2069]/u.test(path)
    )
      refuse(
        "archive.path",
        `the path ${printable} is not allowed`,
        printable,
        "a path is relative and has no '..', no empty part, no backslash and no control character",
      );
    if (this.files.has(path))
      refuse(
        "archive.duplicate",
        `the path ${printable} stands in the archive twice`,
        printable,
        "each path stands once",
      );
    const parents = path
      .split("/")
      .slice(0, -1)
      .map((_, index, parts) => parts.slice(0, index + 1).join("/"));
    if (this.folders.has(path) || parents.some((parent) => this.files.has(parent)))
      refuse(
        "archive.path",
        `the path ${printable} is a file and a folder`,
        printable,
        "a path names a file or a folder, not both",
      );
    if (this.previous !== null && compareUtf8(this.previous, path) > 0)
      refuse(
        "archive.order",
        `the path ${printable} comes after ${JSON.stringify(this.previous)}`,
        printable,
        "entries are sorted by the bytes of their paths",
      );
    this.files.add(path);
    for (const parent of parents) this.folders.add(parent);
    this.previous = path;
    if (this.files.size > this.limits.entries)
      tooLarge(
        "archive.entries",
        `more than ${this.limits.entries} entries`,
        "archive",
        `a bundle holds at most ${this.limits.entries} entries`,
      );
  }
}

function readHeader(block: Uint8Array, names: Names, limits: ReadLimits): { path: string; size: number } {
  const header = decodeHeader(block);
  const where = header.path === null ? "an entry whose name is not UTF-8" : JSON.stringify(header.path);
  if (!header.checksumOk)
    refuse(
      "archive.header",
      "the checksum of an entry's header does not fit",
      where,
      "each header carries its checksum",
    );
  if (header.typeflag !== "0" && header.typeflag !== "\0") refuseKind(header.typeflag, where);
  if (header.path === null) refuse("archive.path", "a path is not UTF-8", where, "paths are UTF-8");
  names.admit(header.path);
  if (header.size === null || !header.ustar)
    refuse("archive.not-canonical", "the header is not in ustar's form", where, "headers are the canonical ustar ones");
  if (header.size > limits.unpackedBytes)
    tooLarge(
      "archive.unpacked-size",
      `the entry claims ${header.size} bytes`,
      where,
      `a bundle unpacks to at most ${limits.unpackedBytes} bytes`,
    );
  if (!equalBytes(block, encodeHeader(header.path, header.size)))
    refuse(
      "archive.not-canonical",
      "the entry's header carries a mode, owner, time or padding of its own",
      where,
      "each entry has mode 0644, owner 0 and time 0",
    );
  return { path: header.path, size: header.size };
}

async function* readEntries(bytes: Bytes, limits: ReadLimits): AsyncGenerator<BundleEntry, void, void> {
  const names = new Names(limits);
  try {
    for (;;) {
      const block = await bytes.exactly(blockBytes);
      if (block.every((byte) => byte === 0)) break;
      const { path, size } = readHeader(block, names, limits);
      let left = size;
      const content = (async function* () {
        while (left > 0) {
          const part = await bytes.some(left);
          if (!part)
            refuse("archive.truncated", "the archive ends in the middle of a file", path, "a bundle is complete");
          left -= part.length;
          yield part;
        }
      })();
      yield { path, size, content };
      while (left > 0) {
        const part = await bytes.some(left);
        if (!part)
          refuse("archive.truncated", "the archive ends in the middle of a file", path, "a bundle is complete");
        left -= part.length;
      }
      if ((await bytes.exactly(paddingOf(size))).some((byte) => byte !== 0))
        refuse("archive.not-canonical", "the bytes after a file's end are not zero", path, "padding is zero");
    }
    if ((await bytes.exactly(blockBytes)).some((byte) => byte !== 0) || (await bytes.some(1)) !== null)
      refuse(
        "archive.trailing-data",
        "bytes follow the end of the archive",
        "archive, after the last entry",
        "two blocks of zeros end a bundle and nothing follows them",
      );
  } finally {
    await bytes.close();
  }
}

/**
 * Reads a bundle's archive as a stream, within limits: memory does not grow with the size of an entry. Only the one
 * canonical form that the writer makes is read; everything else is refused by a code of its own (`archive.link`,
 * `archive.path`, `archive.duplicate`, `archive.order`, `archive.ratio`, ...).
 */
export function openBundle(source: string | AsyncIterable<Uint8Array>, limits: ReadLimits = readLimits): OpenBundle {
  const member = new GzipMember(source, limits);
  return {
    entries: readEntries(new Bytes(member.inflated()), limits),
    archive: () => member.archive(),
  };
}

/** Yields a bundle's entries; see `openBundle`. */
export const readBundleEntries = (
  source: string | AsyncIterable<Uint8Array>,
  limits: ReadLimits = readLimits,
): AsyncGenerator<BundleEntry, void, void> => openBundle(source, limits).entries;

/** Writes entries under a folder that appears whole, by `commit`, or not at all. */
export class AtomicExtraction {
  private readonly partial: string;
  private readonly target: string;

  constructor(target: string) {
    this.target = target;
    this.partial = `${target}.${randomBytes(6).toString("hex")}.partial`;
  }

  /** Passes the bytes on while writing them. */
  async *write(path: string, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const file = join(this.partial, path);
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(file, "wx", 0o644);
    try {
      for await (const chunk of content) {
        await handle.appendFile(chunk);
        yield chunk;
      }
    } finally {
      await handle.close();
    }
  }

  async commit(): Promise<void> {
    await rename(this.partial, this.target);
  }

  async discard(): Promise<void> {
    await rm(this.partial, { recursive: true, force: true });
  }
}

/** Unpacks a bundle into a folder that must not exist yet; it appears whole or not at all. */
export async function extractBundle(source: string | AsyncIterable<Uint8Array>, target: string): Promise<void> {
  const extraction = new AtomicExtraction(target);
  try {
    for await (const { path, content } of readBundleEntries(source))
      for await (const _ of extraction.write(path, content)) {
        // written on the way through
      }
    await extraction.commit();
  } finally {
    await extraction.discard();
  }
}
