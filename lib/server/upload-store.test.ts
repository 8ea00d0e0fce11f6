import { createHash } from "node:crypto";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFolderBlobStore } from "./blob-store";
import { createUploadStore } from "./upload-store";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "infradev-uploads-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
const sha256 = createHash("sha256").update(bytes).digest("hex");
const announcement = { sha256, bytes: bytes.byteLength };

async function* pieces(from: Uint8Array, breakAfter = Number.POSITIVE_INFINITY) {
  for (let start = 0; start < from.byteLength; start += 10_000) {
    if (start >= breakAfter) throw new Error("connection reset");
    yield from.subarray(start, start + 10_000);
  }
}

test("an upload that broke off goes on at the bytes on disk, in a new process too", async () => {
  const first = createUploadStore(root);
  await first.announce("upload-1", announcement);
  await expect(first.append("upload-1", 0, pieces(bytes, 120_000))).rejects.toThrow("connection reset");
  // A process that is killed while it writes leaves a part of a piece.
  await appendFile(join(root, "upload-1.part"), bytes.subarray(120_000, 123_456));

  const second = createUploadStore(root);
  const { offset, complete } = await second.announce("upload-1", announcement);
  expect({ offset, complete }).toEqual({ offset: 123_456, complete: false });
  expect(await second.append("upload-1", offset, pieces(bytes.subarray(offset)))).toEqual({
    offset: bytes.byteLength,
    complete: true,
  });
  expect(await readFile(await second.seal("upload-1"))).toEqual(bytes);
});

test("bytes at another offset, too many bytes and unknown uploads are refused by name", async () => {
  const store = createUploadStore(root);
  await expect(store.append("upload-1", 0, pieces(bytes))).rejects.toMatchObject({ code: "upload.not-announced" });
  await store.announce("upload-1", announcement);
  await expect(store.append("upload-1", 5, pieces(bytes))).rejects.toMatchObject({ code: "upload.offset" });
  await expect(store.seal("upload-1")).rejects.toMatchObject({ code: "upload.incomplete" });
  const longer = Buffer.concat([bytes, bytes]);
  await expect(store.append("upload-1", 0, pieces(longer))).rejects.toMatchObject({ code: "upload.too-long" });
  expect((await store.find("upload-1"))?.offset).toBe(bytes.byteLength);
});

test("bytes with another digest are thrown away, so that the upload can start over", async () => {
  const store = createUploadStore(root);
  await store.announce("upload-1", announcement);
  const wrong = Buffer.from(bytes);
  wrong[7] = 0xff;
  await store.append("upload-1", 0, pieces(wrong));
  await expect(store.seal("upload-1")).rejects.toMatchObject({ code: "upload.digest-mismatch" });
  expect(await store.announce("upload-1", announcement)).toEqual({ offset: 0, complete: false });
});

test("two writers at the same time: one is told to wait", async () => {
  const store = createUploadStore(root);
  await store.announce("upload-1", announcement);
  const [first, second] = await Promise.allSettled([
    store.append("upload-1", 0, pieces(bytes)),
    store.append("upload-1", 0, pieces(bytes)),
  ]);
  const rejected = [first, second].filter((result) => result.status === "rejected");
  expect(rejected).toHaveLength(1);
  expect(rejected[0]?.reason).toMatchObject({ code: "upload.busy" });
  await store.seal("upload-1");
});

test("a blob is whole or absent, is found by its digest, and is read by ranges", async () => {
  const blobs = createFolderBlobStore(join(root, "blobs"));
  expect(await blobs.stat(sha256)).toBeNull();
  await expect(blobs.read(sha256)).rejects.toMatchObject({ code: "blob.missing" });
  await expect(blobs.stat("../../etc/passwd")).rejects.toMatchObject({ code: "blob.bad-digest" });
  expect(await blobs.put(bytes)).toEqual({ sha256, bytes: bytes.byteLength });
  expect(await blobs.put(bytes)).toEqual({ sha256, bytes: bytes.byteLength });
  expect(await blobs.readAll(sha256, 1_000_000)).toEqual(bytes);
  await expect(blobs.readAll(sha256, 10)).rejects.toMatchObject({ code: "blob.too-large" });
  const chunks: Buffer[] = [];
  for await (const chunk of await blobs.read(sha256, { start: 10, end: 19 })) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks)).toEqual(bytes.subarray(10, 20));
});
