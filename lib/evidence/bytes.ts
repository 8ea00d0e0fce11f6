/** Byte work that the browser and Node share: Uint8Array and WebCrypto only. */

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Decodes UTF-8; throws a TypeError on bytes that are not UTF-8. A byte order mark is kept as a character. */
export const decodeUtf8 = (bytes: Uint8Array): string => strictDecoder.decode(bytes);

export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Decodes hex digits, two a byte; throws a RangeError on anything else. */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) throw new RangeError("expected hex digits, two a byte");
  return Uint8Array.from({ length: text.length / 2 }, (_, index) =>
    Number.parseInt(text.slice(index * 2, index * 2 + 2), 16),
  );
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let offset = 0; offset < bytes.length; offset += 8192)
    binary += String.fromCharCode(...bytes.subarray(offset, offset + 8192));
  return btoa(binary);
}

/** Decodes padded standard base64 in its one canonical spelling; throws a RangeError on any other. */
export function fromBase64(text: string): Uint8Array {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new RangeError("expected padded base64", { cause });
  }
  if (btoa(binary) !== text) throw new RangeError("expected padded base64 in its canonical spelling");
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Byte order, as `LC_ALL=C sort` has it. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Order of two texts by their UTF-8 bytes. */
export const compareUtf8 = (a: string, b: string): number => compareBytes(utf8(a), utf8(b));

export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => compareBytes(a, b) === 0;

/** What WebCrypto wants to see: bytes over a plain ArrayBuffer, copied only where they are not. */
export function webBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", webBytes(bytes)));
}

export const sha256Hex = async (bytes: Uint8Array): Promise<string> => toHex(await sha256(bytes));
