import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createFolderBlobStore } from "../blob-store";
import { indexedEveryBytes, lineIndexOf } from "./line-index";
import { lineLimitBytes, readLines } from "./read-lines";

let dataDir: string;
let context: { dataDir: string; blobs: ReturnType<typeof createFolderBlobStore> };
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "line-index-"));
  context = { dataDir, blobs: createFolderBlobStore(join(dataDir, "blobs")) };
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const put = (text: string | Buffer) => context.blobs.put(Buffer.from(text as string));
const all = { from: 1, count: 100_000 };

describe("lines of a blob", () => {
  it("are those of the text, whatever their lengths, wherever one begins to read", async () => {
    const length = fc.oneof(
      fc.nat(20),
      fc.constantFrom(
        0,
        lineLimitBytes - 1,
        lineLimitBytes,
        lineLimitBytes + 1,
        indexedEveryBytes - 1,
        indexedEveryBytes,
      ),
      fc.nat(3 * indexedEveryBytes),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(length, { maxLength: 40 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 45 }),
        fc.integer({ min: 1, max: 45 }),
        async (lengths, ended, from, count) => {
          const lines = lengths.map((bytes, index) => `${index}`.padEnd(bytes, "x").slice(0, bytes));
          const text = lines.join("\n") + (ended ? "\n" : "");
          const whole = text === "" ? [] : text.replace(/\n$/, "").split("\n");
          const read = await readLines(context, await put(text), { from, count });
          expect(read.lineCount).toBe(whole.length);
          expect(read.lines).toEqual(
            whole.slice(from - 1, from - 1 + count).map((line, index) => ({
              number: from + index,
              text: line.slice(0, lineLimitBytes),
              bytes: line.length,
              cut: line.length > lineLimitBytes,
            })),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it("show bytes that are not UTF-8, NULs and ends of Windows, and cut no character in two", async () => {
    const broken = Buffer.concat([Buffer.from([0xff, 0x41, 0, 0x42]), Buffer.from("\r\nnext\n")]);
    const texts = (await readLines(context, await put(broken), all)).lines.map(({ text }) => text);
    expect(texts).toEqual(["\ufffdA\0B", "next"]);
    const [long] = (await readLines(context, await put(`x${"é".repeat(lineLimitBytes)}\n`), all)).lines;
    expect(long?.text).toBe(`x${"é".repeat(lineLimitBytes / 2 - 1)}`);
    expect(long?.bytes).toBe(2 * lineLimitBytes + 1);
  });

  it("of ten megabytes each are read without their middles", async () => {
    const blob = await put(`${"a".repeat(10_000_000)}\n${"b".repeat(10_000_000)}\nend\n`);
    await lineIndexOf(context, blob);
    const ranges: number[] = [];
    const watched = {
      ...context,
      blobs: {
        ...context.blobs,
        read: async (sha256: string, range?: { start: number; end: number }) => {
          const stream = await context.blobs.read(sha256, range);
          stream.on("close", () => ranges.push((stream as unknown as { bytesRead: number }).bytesRead));
          return stream;
        },
      },
    };
    const { lines } = await readLines(watched, blob, all);
    expect(lines.map(({ bytes }) => bytes)).toEqual([10_000_000, 10_000_000, 3]);
    await expect.poll(() => ranges.length).toBe(3);
    expect(ranges.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(500_000);
  });
});

describe("the index of a large blob", () => {
  it("is made once, kept whole beside the blobs, and made again where it was damaged", async () => {
    const blob = await put("one line of a long log\n".repeat(100_000));
    const reads = vi.spyOn(context.blobs, "read");
    const both = await Promise.all([lineIndexOf(context, blob), lineIndexOf(context, blob)]);
    expect(both[0]).toBe(both[1]);
    expect(both[0].lineCount).toBe(100_000);
    expect(await lineIndexOf(context, blob)).toEqual(both[0]);
    expect(reads).toHaveBeenCalledTimes(1);
    const folder = join(dataDir, "line-index", blob.sha256.slice(0, 2));
    expect(await readdir(folder)).toEqual([`${blob.sha256.slice(2)}.json`]);
    const file = join(folder, `${blob.sha256.slice(2)}.json`);
    const kept = await readFile(file, "utf8");
    await writeFile(file, kept.slice(0, 100));
    expect(await lineIndexOf(context, blob)).toEqual(both[0]);
    expect(await readFile(file, "utf8")).toBe(kept);
  });
});
