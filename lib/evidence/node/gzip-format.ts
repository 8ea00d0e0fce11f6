import { pipeline, Readable } from "node:stream";
import { constants, crc32, createDeflateRaw } from "node:zlib";

/** The one gzip header of a bundle: deflate, no name, no time, extra flags 0, operating system unknown (RFC 1952). */
export const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
export const gzipTrailerBytes = 8;

export function gzipTrailer(checksum: number, length: number): Uint8Array {
  const trailer = Buffer.alloc(gzipTrailerBytes);
  trailer.writeUInt32LE(checksum >>> 0, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return trailer;
}

/** `fast-to-read` gives up matches, so that nothing shrinks more than eightfold; see bundle-writer. */
export type Compression = "dense" | "fast-to-read";

/** One gzip member over `source`, byte for byte the same for the same bytes and the same zlib. */
export async function* gzipMember(
  source: AsyncIterable<Uint8Array>,
  compression: Compression,
  onProgress: (unpacked: number, packed: number) => void,
): AsyncGenerator<Uint8Array> {
  const deflate = createDeflateRaw(
    compression === "dense" ? { level: 6 } : { level: 6, strategy: constants.Z_HUFFMAN_ONLY },
  );
  let checksum = 0;
  let unpacked = 0;
  let packed = gzipHeader.length;
  const counted = async function* () {
    for await (const chunk of source) {
      checksum = crc32(chunk, checksum);
      unpacked += chunk.length;
      yield chunk;
    }
  };
  let failure: Error | null = null;
  const done = new Promise<void>((resolve) => {
    pipeline(Readable.from(counted(), { objectMode: false }), deflate, (error) => {
      failure = error ?? null;
      resolve();
    });
  });
  yield gzipHeader;
  try {
    for await (const chunk of deflate as AsyncIterable<Buffer>) {
      packed += chunk.length;
      onProgress(unpacked, packed);
      yield chunk;
    }
  } finally {
    deflate.destroy();
    await done;
  }
  if (failure) throw failure;
  yield gzipTrailer(checksum, unpacked);
}
