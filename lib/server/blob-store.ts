import "server-only";
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { InfraDevError } from "@/lib/contract/errors";

/** Bytes `start` to `end`, both counted from 0 and included. */
export type ByteRange = { start: number; end: number };

/**
 * Immutable bytes addressed by their sha256 (lowercase hex). A blob is either absent or whole: readers never see one
 * half written. An S3-compatible store can fill this interface.
 */
export type BlobStore = {
  put(bytes: Uint8Array): Promise<{ sha256: string; bytes: number }>;
  /** Takes a finished file over under the digest that the caller has computed from it; the file is gone afterwards. */
  adopt(path: string, sha256: string): Promise<void>;
  stat(sha256: string): Promise<{ bytes: number } | null>;
  /** Throws `blob.missing`. */
  read(sha256: string, range?: ByteRange): Promise<Readable>;
  readAll(sha256: string, limitBytes: number): Promise<Buffer>;
  /** A path on this machine that holds the blob, for what must seek in it. Throws `blob.missing`. */
  localPath(sha256: string): Promise<string>;
};

/** A folder: `<root>/ab/cdef...`, temporary files below `<root>/tmp`. */
export function createFolderBlobStore(root: string): BlobStore {
  const pathOf = (sha256: string) => {
    if (!/^[0-9a-f]{64}$/.test(sha256)) {
      throw new InfraDevError("invalid", {
        code: "blob.bad-digest",
        message: "a blob is named by 64 lowercase hex digits",
        where: sha256.slice(0, 80),
        rule: "blobs are addressed by sha256",
        remedy: "ask for the digest that the API printed",
      });
    }
    return join(root, sha256.slice(0, 2), sha256.slice(2));
  };

  const statBlob = async (sha256: string) => {
    try {
      const { size } = await stat(pathOf(sha256));
      return { bytes: size };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  };

  const localPath = async (sha256: string) => {
    if (!(await statBlob(sha256))) {
      throw new InfraDevError("not-found", {
        code: "blob.missing",
        message: "the blob store does not hold these bytes",
        where: sha256,
        rule: "evidence of a public row is never dropped",
        remedy: "restore the blob folder from its backup",
      });
    }
    return pathOf(sha256);
  };

  const publish = async (temporary: string, sha256: string) => {
    const target = pathOf(sha256);
    await mkdir(dirname(target), { recursive: true });
    await rename(temporary, target);
    await syncFolder(dirname(target));
  };

  const temporaryPath = async () => {
    const folder = join(root, "tmp");
    await mkdir(folder, { recursive: true });
    return join(folder, randomUUID());
  };

  return {
    stat: statBlob,
    localPath,

    async put(bytes) {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      if (await statBlob(sha256)) return { sha256, bytes: bytes.byteLength };
      const temporary = await temporaryPath();
      const file = await open(temporary, "wx", 0o644);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      } finally {
        await file.close();
      }
      await publish(temporary, sha256);
      return { sha256, bytes: bytes.byteLength };
    },

    async adopt(path, sha256) {
      if (await statBlob(sha256)) {
        await rm(path, { force: true });
        return;
      }
      const file = await open(path, "r");
      try {
        await file.sync();
      } finally {
        await file.close();
      }
      try {
        await publish(path, sha256);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
        const temporary = await temporaryPath();
        await copyFile(path, temporary);
        await publish(temporary, sha256);
        await rm(path, { force: true });
      }
    },

    async read(sha256, range) {
      return createReadStream(await localPath(sha256), range ? { start: range.start, end: range.end } : {});
    },

    async readAll(sha256, limitBytes) {
      const size = (await statBlob(sha256))?.bytes ?? 0;
      if (size > limitBytes) {
        throw new InfraDevError("too-large", {
          code: "blob.too-large",
          message: `the blob has ${size} bytes, more than the ${limitBytes} that are read whole here`,
          where: sha256,
          rule: "large files are read by ranges",
          remedy: "ask for a byte range",
        });
      }
      const chunks: Buffer[] = [];
      for await (const chunk of createReadStream(await localPath(sha256))) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
