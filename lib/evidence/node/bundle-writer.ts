import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { z } from "zod";
import type { Candidate, DsseEnvelope } from "../../contract/bundle";
import { bundleLimits, bundlePaths, dssePayloadType, requiredPayloadPaths } from "../../contract/bundle";
import { InfraDevError, problemFromZod } from "../../contract/errors";
import { guardSchema, hostFactsSchema, resultSchema, runLockSchema } from "../../contract/result";
import { relativePathSchema } from "../../contract/scalars";
import { manifestSchema } from "../../contract/task";
import { compareUtf8, decodeUtf8, toHex, utf8 } from "../bytes";
import { checkGuard, checkResult, checkRunLock } from "../check-result";
import { serializeEnvelope, signEnvelope } from "../dsse";
import type { Signer } from "../keys";
import type { PayloadFacts } from "../statements";
import { buildRunResultStatement, buildTestResultStatement } from "../statements";
import { formatSums } from "../sums";
import { type Compression, gzipMember } from "./gzip-format";
import { blockBytes, encodeHeader, fitsHeader, paddingOf } from "./tar-format";

/** What goes into an archive under a path: bytes, or a file whose size and digest were taken before. */
type ArchiveInput = { path: string; bytes: Uint8Array } | FileInput;

interface FileInput {
  path: string;
  file: string;
  size: number;
  /** Hex. */
  sha256: string;
}

const sizeOf = (input: ArchiveInput) => ("bytes" in input ? input.bytes.length : input.size);

const refuse = (code: string, message: string, where: string, rule: string, remedy: string): never => {
  throw new InfraDevError("invalid", { code, message, where, rule, remedy });
};

/** Largest lead of unpacked over 100 times packed before the writer turns to the sparing compression. */
const denseLeadBytes = 32 * 1024 * 1024;
const denseRatio = 100;

async function* tarStream(inputs: readonly ArchiveInput[]): AsyncGenerator<Uint8Array> {
  for (const input of inputs) {
    const size = sizeOf(input);
    yield encodeHeader(input.path, size);
    if ("bytes" in input) {
      if (size > 0) yield input.bytes;
    } else {
      const hash = createHash("sha256");
      let seen = 0;
      for await (const chunk of createReadStream(input.file) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        seen += chunk.length;
        if (seen > size) break;
        yield chunk;
      }
      if (seen !== size || hash.digest("hex") !== input.sha256)
        refuse(
          "bundle.file-changed",
          "the file changed while the bundle was being written",
          input.path,
          "a payload is complete before it is bundled",
          "end what still writes into the payload and try again",
        );
    }
    const padding = paddingOf(size);
    if (padding > 0) yield new Uint8Array(padding);
  }
  yield new Uint8Array(2 * blockBytes);
}

function checkInputs(inputs: readonly ArchiveInput[]) {
  let unpacked = 2 * blockBytes;
  for (const input of inputs) {
    if (!relativePathSchema.safeParse(input.path).success || !fitsHeader(input.path))
      refuse(
        "archive.path",
        "this path cannot stand in a bundle",
        input.path,
        "a path is relative, without '..' or control characters, and fits ustar (100 bytes, or 155 + '/' + 100)",
        "shorten or rename the file",
      );
    unpacked += blockBytes + sizeOf(input) + paddingOf(sizeOf(input));
  }
  if (inputs.length > bundleLimits.entries)
    refuse(
      "archive.entries",
      `${inputs.length} files`,
      "bundle",
      `a bundle holds at most ${bundleLimits.entries} entries`,
      "write fewer, larger files",
    );
  if (unpacked > bundleLimits.unpackedBytes)
    refuse(
      "archive.unpacked-size",
      `${unpacked} bytes unpacked`,
      "bundle",
      `a bundle unpacks to at most ${bundleLimits.unpackedBytes} bytes`,
      "bound the logs and resource samples more tightly",
    );
}

async function writeOnce(file: FileHandle, inputs: readonly ArchiveInput[], compression: Compression) {
  const hash = createHash("sha256");
  let bytes = 0;
  let lead = 0;
  const member = gzipMember(tarStream(inputs), compression, (unpacked, packed) => {
    lead = Math.max(lead, unpacked - denseRatio * packed);
  });
  for await (const chunk of member) {
    hash.update(chunk);
    for (let done = 0; done < chunk.length; )
      done += (await file.write(chunk, done, chunk.length - done, bytes + done)).bytesWritten;
    bytes += chunk.length;
  }
  return { sha256: hash.digest("hex"), bytes, tooDense: lead > denseLeadBytes };
}

/**
 * Writes a canonical archive: entries sorted by bytes, fixed headers, one gzip member. It appears under its name whole
 * or not at all. Where text is so repetitive that a reader's bound on the ratio would refuse it, it is packed less.
 * Returns the archive's digest (hex) and size in bytes.
 */
async function writeArchive(out: string, inputs: readonly ArchiveInput[]): Promise<{ sha256: string; bytes: number }> {
  const sorted = [...inputs].sort((a, b) => compareUtf8(a.path, b.path));
  checkInputs(sorted);
  await mkdir(dirname(out), { recursive: true });
  const partial = `${out}.${randomBytes(6).toString("hex")}.partial`;
  try {
    const file = await open(partial, "wx", 0o644);
    let written: Awaited<ReturnType<typeof writeOnce>>;
    try {
      written = await writeOnce(file, sorted, "dense");
      if (written.tooDense) {
        await file.truncate(0);
        written = await writeOnce(file, sorted, "fast-to-read");
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (written.bytes > bundleLimits.packedBytes)
      refuse(
        "archive.packed-size",
        `${written.bytes} bytes packed`,
        basename(out),
        `a bundle is at most ${bundleLimits.packedBytes} bytes`,
        "bound the logs and resource samples more tightly",
      );
    await rename(partial, out);
    return { sha256: written.sha256, bytes: written.bytes };
  } finally {
    await rm(partial, { force: true });
  }
}

/** Every regular file under `dir` with size and digest, by its path under `prefix`. Links and devices are refused. */
async function listFiles(dir: string, prefix: string): Promise<FileInput[]> {
  const files: FileInput[] = [];
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = `${prefix}${entry.name}`;
    const file = join(dir, entry.name);
    if (entry.isDirectory()) files.push(...(await listFiles(file, `${path}/`)));
    else if (entry.isFile()) files.push({ path, file, ...(await digestFile(file)) });
    else
      refuse(
        "archive.link",
        "the payload holds something that is neither a file nor a folder",
        path,
        "a bundle holds regular files only",
        "remove it from the payload",
      );
  }
  return files;
}

/** Digest (hex) and size of a file, streamed. */
export async function digestFile(path: string): Promise<{ sha256: string; size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest("hex"), size };
}

async function readDocument<Schema extends z.ZodType>(
  dir: string,
  path: string,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const name = path.slice(bundlePaths.payload.length);
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(await readFile(join(dir, name))));
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "bundle.document-form",
        message: "the file is not JSON in UTF-8",
        where: path,
        rule: "the payload's documents are JSON",
        remedy: "grade again",
      },
      { cause },
    );
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw new InfraDevError(
      "invalid",
      problemFromZod(parsed.error, {
        code: "bundle.document-form",
        what: "the document does not fit its schema",
        where: path,
      }),
    );
  return parsed.data;
}

export interface BundleRequest {
  /** Folder that holds exactly the files of `payload/`. */
  payloadDir: string;
  /** Folder of what would reveal hidden probes; left out of the bundle where it is absent or empty. */
  sealedDir?: string | undefined;
  attemptId: string | null;
  /** Of leased gradings. */
  lease: { id: string; nonce: string } | null;
  candidate: Candidate;
  signer: Signer;
  /** Where the bundle goes, usually `<grading-id>.infradev.tar.gz`. */
  out: string;
}

export interface WrittenBundle {
  path: string;
  /** Of the archive, hex. */
  sha256: string;
  bytes: number;
  sumsSha256: string;
  envelopes: DsseEnvelope[];
}

async function sealedInput(sealedDir: string | undefined, out: string): Promise<FileInput[]> {
  if (!sealedDir) return [];
  const inner = await listFiles(sealedDir, "").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (inner.length === 0) return [];
  const file = `${out}.${randomBytes(6).toString("hex")}.sealed`;
  const { sha256, bytes } = await writeArchive(file, inner);
  return [{ path: bundlePaths.sealed, file, size: bytes, sha256 }];
}

/**
 * Builds, signs and writes the bundle of one grading. The payload is checked first, so that nothing is signed that a
 * reader would refuse: documents fit their schemas, the result is complete and adds up (throws InfraDevError with the
 * first thing that does not hold). A payload and its bundle never change after that.
 */
export async function writeBundle(request: BundleRequest): Promise<WrittenBundle> {
  const { payloadDir, out, signer } = request;
  const payload = await listFiles(payloadDir, bundlePaths.payload);
  const digestOf = new Map(payload.map(({ path, sha256 }) => [path, sha256]));
  const digest = (path: string): string =>
    digestOf.get(path) ??
    refuse("bundle.missing-file", "the payload lacks a file", path, "every bundle has this file", "grade again");
  for (const path of requiredPayloadPaths) digest(path);

  const sealed = await sealedInput(request.sealedDir, out);
  try {
    const inputs = [...payload, ...sealed];
    const sums = formatSums(inputs);
    const sumsSha256 = toHex(createHash("sha256").update(sums).digest());
    const facts: PayloadFacts = {
      sumsSha256,
      patchSha256: digest(bundlePaths.patch),
      manifestSha256: digest(bundlePaths.manifest),
      runLockSha256: digest(bundlePaths.runLock),
      result: await readDocument(payloadDir, bundlePaths.result, resultSchema),
      manifest: await readDocument(payloadDir, bundlePaths.manifest, manifestSchema),
      runLock: await readDocument(payloadDir, bundlePaths.runLock, runLockSchema),
      host: await readDocument(payloadDir, bundlePaths.host, hostFactsSchema),
    };
    const guard = await readDocument(payloadDir, bundlePaths.guard, guardSchema);
    const [problem] = [
      ...checkResult(facts.result, facts.manifest),
      ...checkGuard(guard, facts.result),
      ...checkRunLock(facts.runLock, facts.manifest, facts.patchSha256),
    ];
    if (problem) throw new InfraDevError("invalid", problem);

    const stated = {
      attemptId: request.attemptId,
      lease: request.lease,
      candidate: request.candidate,
      keyid: signer.keyid,
    };
    const envelopes: DsseEnvelope[] = [];
    for (const statement of [buildTestResultStatement(facts), buildRunResultStatement(facts, stated)])
      envelopes.push(await signEnvelope(dssePayloadType, utf8(JSON.stringify(statement)), signer));
    const lines = utf8(envelopes.map((envelope) => `${serializeEnvelope(envelope)}\n`).join(""));
    const archive = await writeArchive(out, [
      ...inputs,
      { path: bundlePaths.sums, bytes: sums },
      { path: bundlePaths.envelopes, bytes: lines },
    ]);
    return { path: out, ...archive, sumsSha256, envelopes };
  } finally {
    for (const { file } of sealed) await rm(file, { force: true });
  }
}
