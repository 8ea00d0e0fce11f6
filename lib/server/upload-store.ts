import "server-only";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";

export type UploadAnnouncement = { sha256: string; bytes: number };
export type UploadProgress = { offset: number; complete: boolean };

/**
 * Files on their way in. The offset of an upload is the size of its file on disk and nothing else, so it is right after
 * a crash of this server too.
 */
export type UploadStore = {
  /** Opens or finds an upload. Announcing other bytes under the same id starts over. */
  announce(id: string, announcement: UploadAnnouncement): Promise<UploadProgress>;
  find(id: string): Promise<(UploadAnnouncement & { offset: number }) | null>;
  /** Appends at `offset`, which must be the offset reached. Throws `upload.offset`, `upload.too-long`, `upload.busy`. */
  append(id: string, offset: number, body: AsyncIterable<Uint8Array>): Promise<UploadProgress>;
  /** Checks the digest of a complete upload; a wrong one is thrown away (`upload.digest-mismatch`). Answers its path. */
  seal(id: string): Promise<string>;
  discard(id: string): Promise<void>;
};

export function createUploadStore(root: string): UploadStore {
  const writing = new Set<string>();
  const partOf = (id: string) => join(root, `${checkedId(id)}.part`);
  const noteOf = (id: string) => join(root, `${checkedId(id)}.json`);

  const find = async (id: string) => {
    const note = await readOrNull(noteOf(id));
    if (note === null) return null;
    const announcement = JSON.parse(note) as UploadAnnouncement;
    return { ...announcement, offset: await sizeOrZero(partOf(id)) };
  };

  const require = async (id: string) => {
    const upload = await find(id);
    if (!upload) {
      throw new InfraDevError("not-found", {
        code: "upload.not-announced",
        message: "no upload is open here",
        where: id,
        rule: "an upload is announced with its sha256 and size before its bytes are sent",
        remedy: "POST the announcement and continue at the offset of the answer",
      });
    }
    return upload;
  };

  const discard = async (id: string) => {
    await rm(noteOf(id), { force: true });
    await rm(partOf(id), { force: true });
  };

  return {
    find,
    discard,

    async announce(id, { sha256, bytes }) {
      const present = await find(id);
      if (present?.sha256 === sha256 && present.bytes === bytes) {
        return { offset: present.offset, complete: present.offset === bytes };
      }
      if (writing.has(id)) throw busy(id);
      await mkdir(root, { recursive: true });
      await discard(id);
      const temporary = `${noteOf(id)}.new`;
      const file = await open(temporary, "w", 0o600);
      try {
        await file.writeFile(JSON.stringify({ sha256, bytes }));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, noteOf(id));
      return { offset: 0, complete: false };
    },

    async append(id, offset, body) {
      const upload = await require(id);
      if (writing.has(id)) throw busy(id);
      if (offset !== upload.offset) {
        throw new InfraDevError("conflict", {
          code: "upload.offset",
          message: `the upload stands at offset ${upload.offset}, not at ${offset}`,
          where: `Upload-Offset: ${offset}`,
          rule: "bytes are appended at the offset reached",
          remedy: `continue at offset ${upload.offset}`,
        });
      }
      writing.add(id);
      try {
        const file = await open(partOf(id), "a", 0o600);
        let reached = offset;
        try {
          for await (const chunk of body) {
            if (reached + chunk.byteLength > upload.bytes) {
              throw new InfraDevError("too-large", {
                code: "upload.too-long",
                message: `more bytes were sent than the ${upload.bytes} announced`,
                where: id,
                rule: "an upload has exactly the announced size",
                remedy: "announce the file's real size and digest, and send it again",
              });
            }
            await file.writeFile(chunk);
            reached += chunk.byteLength;
          }
          await file.sync();
        } finally {
          await file.close();
        }
        return { offset: reached, complete: reached === upload.bytes };
      } finally {
        writing.delete(id);
      }
    },

    async seal(id) {
      const upload = await require(id);
      if (upload.offset !== upload.bytes) {
        throw new InfraDevError("conflict", {
          code: "upload.incomplete",
          message: `${upload.offset} of ${upload.bytes} bytes have arrived`,
          where: id,
          rule: "an upload is used when it is complete",
          remedy: `continue at offset ${upload.offset}`,
        });
      }
      const found = await sha256OfFile(partOf(id));
      if (found !== upload.sha256) {
        await discard(id);
        throw new InfraDevError("invalid", {
          code: "upload.digest-mismatch",
          message: `the bytes received have sha256 ${found}, announced was ${upload.sha256}`,
          where: id,
          rule: "the bytes must have the announced digest",
          remedy: "compute the file's sha256 again, announce it and send the file from the start",
        });
      }
      return partOf(id);
    },
  };
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

function busy(id: string): InfraDevError {
  return new InfraDevError("conflict", {
    code: "upload.busy",
    message: "another request is writing to this upload",
    where: id,
    rule: "one writer at a time",
    remedy: "wait until that request has ended, ask for the offset and continue there",
  });
}

function checkedId(id: string): string {
  if (!/^[0-9a-z-]{1,80}$/.test(id)) throw new Error(`upload id '${id}' is not a plain name`);
  return id;
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function sizeOrZero(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
