import { constants, createReadStream, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";

/** What a file is read for: `option` names it, and nothing beyond `maxBytes` is read. */
export type FileUse = { option: string; code: string; maxBytes: number; remedy: string; signal: AbortSignal };

/**
 * Reads a file that the command line names, whole: a file, or a pipe such as `<(git diff)` or /dev/stdin, until its
 * end or until `signal` aborts. Throws `code` for what has no end or is too large, before it fills the memory.
 */
export async function readGivenFile(
  name: string,
  { option, code, maxBytes, remedy, signal }: FileUse,
): Promise<Buffer> {
  const path = resolve(name);
  const refuse = (message: string): InfraDevError =>
    new InfraDevError("invalid", {
      code,
      message,
      where: name === "" ? option : path,
      rule: `${option} names a file or a pipe of at most ${maxBytes} bytes`,
      remedy,
    });
  if (name === "") throw refuse("no file is named");
  const found = await stat(path);
  if (!found.isFile() && !found.isFIFO()) throw refuse("this is neither a file nor a pipe");
  if (found.size > maxBytes) throw refuse(`the file has ${found.size} bytes`);
  // A pipe is opened without waiting for who writes it, and polled: a read that waits could not be given up.
  const stream = found.isFIFO()
    ? new Socket({
        fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
        readable: true,
        writable: false,
        signal,
      })
    : createReadStream(path, { signal });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw refuse(`it has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
