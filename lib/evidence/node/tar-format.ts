import { concatBytes, equalBytes, utf8 } from "../bytes";

export const blockBytes = 512;

const nameBytes = 100;
const prefixBytes = 155;

/** Shortest directory prefix that leaves a name of at most 100 bytes; null where ustar cannot hold the path. */
function splitPath(path: string): { name: Uint8Array; prefix: Uint8Array } | null {
  const whole = utf8(path);
  if (whole.length <= nameBytes) return { name: whole, prefix: new Uint8Array() };
  for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
    const name = utf8(path.slice(slash + 1));
    const prefix = utf8(path.slice(0, slash));
    if (prefix.length > prefixBytes) return null;
    if (name.length > 0 && name.length <= nameBytes) return { name, prefix };
  }
  return null;
}

/** Whether a canonical header can name this path (ustar: 100 bytes, or 155 + '/' + 100). */
export const fitsHeader = (path: string): boolean => splitPath(path) !== null;

const octal = (value: number, digits: number) => utf8(`${value.toString(8).padStart(digits, "0")}\0`);

function put(header: Uint8Array, offset: number, bytes: Uint8Array) {
  header.set(bytes, offset);
}

/** Sum of a header's bytes with its checksum field read as spaces. */
function checksumOf(header: Uint8Array): number {
  let sum = 8 * 0x20;
  for (const [index, byte] of header.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum;
}

/**
 * The one header that a bundle's entry may have: ustar, regular file, mode 0644, owner 0, time 0 (POSIX.1-1988 ustar
 * layout). Throws a RangeError where ustar cannot hold path or size.
 */
export function encodeHeader(path: string, size: number): Uint8Array {
  const split = splitPath(path);
  if (!split || size < 0 || size >= 8 ** 11) throw new RangeError(`ustar cannot hold '${path}' of ${size} bytes`);
  const header = new Uint8Array(blockBytes);
  put(header, 0, split.name);
  put(header, 100, octal(0o644, 7));
  put(header, 108, octal(0, 7));
  put(header, 116, octal(0, 7));
  put(header, 124, octal(size, 11));
  put(header, 136, octal(0, 11));
  header[156] = 0x30;
  put(header, 257, utf8("ustar\0" + "00"));
  put(header, 329, octal(0, 7));
  put(header, 337, octal(0, 7));
  put(header, 345, split.prefix);
  put(header, 148, concatBytes(octal(checksumOf(header), 6), utf8(" ")));
  return header;
}

function field(header: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = header.subarray(offset, offset + length);
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

const octalField = (header: Uint8Array, offset: number, length: number): number | null => {
  const text = String.fromCharCode(...field(header, offset, length)).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : null;
};

export interface RawHeader {
  /** As spelled; null where it is not UTF-8. */
  path: string | null;
  size: number | null;
  typeflag: string;
  checksumOk: boolean;
  ustar: boolean;
}

/** Reads a header of any tar dialect far enough to say what it is. */
export function decodeHeader(header: Uint8Array): RawHeader {
  const name = field(header, 0, nameBytes);
  const ustar = equalBytes(header.subarray(257, 265), utf8("ustar\0" + "00"));
  const prefix = ustar ? field(header, 345, prefixBytes) : new Uint8Array();
  let path: string | null;
  try {
    path = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      prefix.length > 0 ? concatBytes(prefix, utf8("/"), name) : name,
    );
  } catch {
    path = null;
  }
  return {
    path,
    size: octalField(header, 124, 12),
    typeflag: String.fromCharCode(header[156] ?? 0),
    checksumOk: octalField(header, 148, 8) === checksumOf(header),
    ustar,
  };
}

/** Zero bytes that fill an entry of this size up to a whole block. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;
