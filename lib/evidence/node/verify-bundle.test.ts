import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DsseEnvelope, PublishedKey } from "../../contract/bundle";
import { bundlePaths, dssePayloadType } from "../../contract/bundle";
import { InfraDevError } from "../../contract/errors";
import type { LogInclusion } from "../../contract/evidence-api";
import { compareUtf8, toBase64, utf8 } from "../bytes";
import { serializeEnvelope, signEnvelope } from "../dsse";
import { generateKeyPair, type Signer } from "../keys";
import { formatSums } from "../sums";
import type { TestBundle } from "../testing";
import {
  makeTestAcceptance,
  makeTestBundle,
  makeTestManifest,
  makeTestPayload,
  packArchive,
  serverKeyOf,
  testCandidate,
  testReceivedAt,
  unpackArchive,
} from "../testing";
import { writeBundle } from "./bundle-writer";
import { type VerifyOptions, verifyBundle } from "./verify-bundle";

type Entries = { path: string; bytes: Buffer }[];

let work: string;
let original: TestBundle;
let archive: Buffer;
let entries: Entries;
/** Another task's bundle by the same key. */
let other: TestBundle;
let otherEntries: Entries;

const stream = async function* (bytes: Uint8Array) {
  yield bytes;
};
const codesOf = async (bytes: Uint8Array, options: Partial<VerifyOptions> = {}) => {
  const report = await verifyBundle(stream(bytes), { keys: [original.key], ...options });
  expect(report.ok).toBe(report.checks.every((check) => check.ok));
  return report.checks.flatMap(({ problems }) => problems.map(({ code }) => code));
};
const sumsOf = (files: Entries) =>
  Buffer.from(
    formatSums(
      files
        .filter(({ path }) => path !== bundlePaths.sums && path !== bundlePaths.envelopes)
        .map(({ path, bytes }) => ({ path, sha256: createHash("sha256").update(bytes).digest("hex") })),
    ),
  );
const replace = (path: string, bytes: Buffer | string, from = entries): Entries =>
  from.map((entry) => (entry.path === path ? { path, bytes: Buffer.from(bytes) } : entry));
const withSums = (files: Entries) => replace(bundlePaths.sums, sumsOf(files), files);
const byPath = (files: Entries) => [...files].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
const fileOf = (path: string, from = entries): Buffer => {
  const entry = from.find((candidate) => candidate.path === path);
  if (!entry) throw new Error(`no ${path}`);
  return entry.bytes;
};
const envelopesOf = (from = entries): DsseEnvelope[] =>
  fileOf(bundlePaths.envelopes, from)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as DsseEnvelope);
const linesOf = (envelopes: DsseEnvelope[]) => envelopes.map((envelope) => `${serializeEnvelope(envelope)}\n`).join("");
const withEnvelopes = (envelopes: DsseEnvelope[], from = entries) =>
  replace(bundlePaths.envelopes, linesOf(envelopes), from);

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-evidence-"));
  const { signer } = await generateKeyPair();
  original = await makeTestBundle(join(work, "original.tar.gz"), {
    signer,
    statuses: { "probes/test_pool_probe.py::test_shape": "failed" },
    sealed: { "probes/stdout.log": "hidden\n" },
  });
  archive = await readFile(original.path);
  entries = await unpackArchive(original.path);
  const manifest = makeTestManifest();
  manifest.task.slug = "another-task";
  other = await makeTestBundle(join(work, "other.tar.gz"), { signer, manifest });
  otherEntries = await unpackArchive(other.path);
});
afterAll(() => rm(work, { recursive: true, force: true }));

describe("a good bundle", () => {
  it("holds in every check, and yields its documents and files", async () => {
    const report = await verifyBundle(original.path, { keys: [original.key] });
    expect(report.checks.filter((check) => !check.ok)).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.archive).toEqual({ sha256: original.sha256, bytes: archive.length });
    expect(report.contents?.result).toEqual(original.result);
    expect(report.contents?.runResult.predicate.outcome).toMatchObject({
      requiredTotal: 4,
      requiredPassed: 3,
      resolved: false,
    });
    expect(report.contents?.testResult.predicate).toMatchObject({
      result: "FAILED",
      failedTests: ["probes/test_pool_probe.py::test_shape"],
      warnedTests: ["tests/test_pool.py::test_needs_gpus"],
    });
    expect(report.contents?.files.map(({ path }) => path)).toContain("sealed.tar.gz");
    expect(report.notChecked.join(" ")).toContain("sealed.tar.gz");
  });

  it("is the same archive byte for byte when written again, and when repacked in order", async () => {
    const again = join(work, "again.tar.gz");
    const payload = join(work, "payload");
    await makeTestPayload(payload, { gradingId: original.result.gradingId });
    const request = {
      payloadDir: payload,
      attemptId: null,
      lease: null,
      candidate: testCandidate,
      signer: original.signer,
    };
    const first = await writeBundle({ ...request, out: again });
    const second = await writeBundle({ ...request, out: `${again}.2` });
    expect(second.sha256).toBe(first.sha256);
    expect(await codesOf(packArchive(entries))).toEqual([]);
  });

  it("unpacks to a folder only where everything holds", async () => {
    const target = join(work, "unpacked");
    const good = await verifyBundle(original.path, { keys: [original.key], extractTo: target });
    expect(good.ok).toBe(true);
    expect(await readFile(join(target, bundlePaths.patch))).toEqual(fileOf(bundlePaths.patch));
    const refused = join(work, "refused");
    await verifyBundle(stream(packArchive(replace(bundlePaths.patch, "other"))), {
      keys: [original.key],
      extractTo: refused,
    });
    expect(existsSync(refused)).toBe(false);
    expect((await readdir(work)).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  it("passes sha256sum, and holds nothing that SHA256SUMS does not list", async () => {
    const target = join(work, "by-hand");
    await verifyBundle(original.path, { keys: [original.key], extractTo: target });
    const output = execFileSync("sh", ["-c", "sha256sum --check --strict SHA256SUMS"], {
      cwd: target,
      encoding: "utf8",
    });
    expect(output.trimEnd().split("\n")).toHaveLength(entries.length - 2);
  });
});

describe("each contradiction has its code", () => {
  const result = () => JSON.parse(fileOf(bundlePaths.result).toString("utf8"));
  const cases: [string, string, () => Entries | Promise<Entries>][] = [
    ["a changed file", "bundle.digest-mismatch", () => replace("payload/ranks/0/0.stdout.log", "PASSED\n")],
    ["a changed patch", "bundle.patch-mismatch", () => replace(bundlePaths.patch, "other")],
    [
      "a changed file under edited sums",
      "bundle.sums-mismatch",
      () => withSums(replace("payload/ranks/0/0.stdout.log", "PASSED\n")),
    ],
    ["a removed file", "bundle.missing-file", () => entries.filter(({ path }) => path !== "payload/junit/0/0.xml")],
    [
      "a removed document",
      "bundle.missing-file",
      () => withSums(entries.filter(({ path }) => path !== bundlePaths.guard)),
    ],
    [
      "a CTRF document of other tests, listed anew",
      "bundle.ctrf-mismatch",
      () =>
        withSums(
          replace(
            bundlePaths.ctrf,
            fileOf(bundlePaths.ctrf).toString().replace('"status": "failed"', '"status": "passed"'),
          ),
        ),
    ],
    ["no sums", "bundle.missing-file", () => entries.filter(({ path }) => path !== bundlePaths.sums)],
    ["no statements", "bundle.missing-file", () => entries.filter(({ path }) => path !== bundlePaths.envelopes)],
    ["no sealed file", "bundle.missing-file", () => entries.filter(({ path }) => path !== bundlePaths.sealed)],
    [
      "an added file",
      "bundle.unlisted-file",
      () => byPath([...entries, { path: "payload/zz.txt", bytes: Buffer.from("x") }]),
    ],
    [
      "an added file beside the payload",
      "bundle.unlisted-file",
      () => byPath([...entries, { path: "README", bytes: Buffer.from("x") }]),
    ],
    [
      "a listed file beside the payload",
      "bundle.unexpected-file",
      () => withSums(byPath([...entries, { path: "README", bytes: Buffer.from("x") }])),
    ],
    ["reordered files", "archive.order", () => [...entries].reverse()],
    [
      "a duplicate",
      "archive.duplicate",
      () => entries.flatMap((entry) => (entry.path === bundlePaths.patch ? [entry, entry] : [entry])),
    ],
    [
      "unsorted sums",
      "bundle.sums-form",
      () =>
        replace(
          bundlePaths.sums,
          `${fileOf(bundlePaths.sums).toString().trimEnd().split("\n").reverse().join("\n")}\n`,
        ),
    ],
    ["swapped statements", "bundle.statement-form", () => withEnvelopes(envelopesOf().reverse())],
    ["one statement", "bundle.envelope-form", () => withEnvelopes(envelopesOf().slice(0, 1))],
    [
      "a re-serialized statement",
      "bundle.envelope-form",
      () =>
        replace(
          bundlePaths.envelopes,
          envelopesOf()
            .map(
              (envelope) =>
                `${JSON.stringify({ payloadType: envelope.payloadType, payload: envelope.payload, signatures: envelope.signatures })}\n`,
            )
            .join(""),
        ),
    ],
    [
      "a statement with spaces",
      "bundle.envelope-form",
      () => replace(bundlePaths.envelopes, linesOf(envelopesOf()).replaceAll(",", ", ")),
    ],
    [
      "a second signature",
      "bundle.envelope-form",
      () =>
        withEnvelopes(
          envelopesOf().map((envelope) => ({
            ...envelope,
            signatures: [...envelope.signatures, ...envelope.signatures],
          })),
        ),
    ],
    ["another task's statements", "bundle.sums-mismatch", () => withEnvelopes(envelopesOf(otherEntries))],
    [
      "another task's second statement",
      "bundle.sums-mismatch",
      () => withEnvelopes([...envelopesOf().slice(0, 1), ...envelopesOf(otherEntries).slice(1)]),
    ],
    [
      "a statement edited without its key",
      "bundle.signature-invalid",
      () =>
        withEnvelopes(
          envelopesOf().map((envelope) => ({
            ...envelope,
            payload: toBase64(
              Buffer.from(Buffer.from(envelope.payload, "base64").toString().replace('"FAILED"', '"PASSED"')),
            ),
          })),
        ),
    ],
    [
      "a result changed and listed anew",
      "bundle.sums-mismatch",
      () =>
        withSums(
          replace(
            bundlePaths.result,
            JSON.stringify({ ...result(), summary: { ...result().summary, resolved: true } }),
          ),
        ),
    ],
  ];
  it.each(cases)("%s: %s", async (_, code, change) => {
    expect(await codesOf(packArchive(await change()))).toContain(code);
  });

  /** Signs anything with the registered key: what a dishonest or broken runner could send. */
  const resigned = async (files: Entries, signer: Signer, edit: (statement: string) => string = (text) => text) => {
    const sums = sumsOf(files);
    const sha = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    const oldSums = sha(fileOf(bundlePaths.sums));
    const oldResult = sha(fileOf(bundlePaths.manifest));
    const envelopes = [];
    for (const envelope of envelopesOf()) {
      const text = edit(Buffer.from(envelope.payload, "base64").toString())
        .replaceAll(oldSums, sha(sums))
        .replaceAll(oldResult, sha(fileOf(bundlePaths.manifest, files)))
        .replaceAll(original.signer.keyid, signer.keyid);
      envelopes.push(await signEnvelope(dssePayloadType, utf8(text), signer));
    }
    return packArchive(replace(bundlePaths.envelopes, linesOf(envelopes), replace(bundlePaths.sums, sums, files)));
  };

  it("holds where the same content is signed again by the same key (the control of the cases below)", async () => {
    expect(await codesOf(await resigned(entries, original.signer))).toEqual([]);
  });

  it("refuses a stranger's key, even where the statements hold", async () => {
    const { signer } = await generateKeyPair();
    expect(await codesOf(await resigned(entries, signer))).toEqual(["bundle.unknown-key"]);
  });

  it("refuses the server's key for a bundle", async () => {
    const keys = [{ ...original.key, role: "server" as const }];
    expect(await codesOf(archive, { keys })).toEqual(["bundle.unknown-key"]);
  });

  it("refuses a vendor's signature over a lease", async () => {
    expect(await codesOf(archive, { keys: [{ ...original.key, role: "vendor" }] })).toEqual(["bundle.lease-role"]);
  });

  it("refuses a list of keys that lies about a keyid", async () => {
    const { signer } = await generateKeyPair();
    const lying: PublishedKey = { ...original.key, spki: toBase64(signer.spki) };
    expect(await codesOf(archive, { keys: [lying] })).toEqual(["key.keyid-mismatch"]);
    expect(await codesOf(archive, { keys: [{ ...original.key, spki: "AAAA" }] })).toEqual(["key.form"]);
  });

  it.each([
    [
      "a dropped test",
      "result.missing-test",
      (r: TestBundle["result"]) => {
        r.tests.pop();
      },
    ],
    [
      "an added test",
      "result.unlisted-test",
      (r: TestBundle["result"]) => {
        r.tests.push(...r.tests.slice(0, 1).map((test) => ({ ...test, id: "tests/new.py::t" })));
      },
    ],
    [
      "a test listed twice",
      "result.duplicate-test",
      (r: TestBundle["result"]) => {
        r.tests.push(...r.tests.slice(0, 1));
      },
    ],
    [
      "a failed test called passed",
      "result.merge",
      (r: TestBundle["result"]) => {
        for (const test of r.tests) if (test.status === "failed") test.status = "passed";
      },
    ],
    [
      "one rank that failed",
      "result.merge",
      (r: TestBundle["result"]) => {
        const rank = r.tests[0]?.ranks[1];
        if (rank) rank.status = "hung";
      },
    ],
    [
      "one rank that said nothing",
      "result.merge",
      (r: TestBundle["result"]) => {
        r.tests[0]?.ranks.pop();
      },
    ],
    [
      "a failure whose root rank is not named",
      "result.root-rank",
      (r: TestBundle["result"]) => {
        for (const test of r.tests) test.rootRank = null;
      },
    ],
    [
      "a failure of another kind than its root rank's",
      "result.root-rank",
      (r: TestBundle["result"]) => {
        for (const test of r.tests)
          for (const rank of test.ranks) if (test.status === "failed" && rank.rank === 0) rank.status = "hung";
      },
    ],
    [
      "a rank beyond the launch",
      "result.rank",
      (r: TestBundle["result"]) => {
        const rank = r.tests[0]?.ranks[1];
        if (rank) rank.rank = 7;
      },
    ],
    [
      "a requirement dropped",
      "result.manifest-mismatch",
      (r: TestBundle["result"]) => {
        for (const test of r.tests) if (test.status === "failed") test.required = false;
      },
    ],
    [
      "a wrong sum",
      "result.arithmetic",
      (r: TestBundle["result"]) => {
        r.summary.requiredPassed += 1;
      },
    ],
    [
      "a resolved that is none",
      "result.arithmetic",
      (r: TestBundle["result"]) => {
        r.summary.resolved = true;
      },
    ],
    [
      "no reason for a rejection",
      "result.reason",
      (r: TestBundle["result"]) => {
        r.status = "patch-rejected";
      },
    ],
    [
      "an end before the start",
      "result.times",
      (r: TestBundle["result"]) => {
        r.finishedAt = "2024-01-01T00:00:00Z";
      },
    ],
    [
      "another task",
      "bundle.task-mismatch",
      (r: TestBundle["result"]) => {
        r.task = "another-task";
      },
    ],
    [
      "a statement of other times",
      "bundle.statement-mismatch",
      (r: TestBundle["result"]) => {
        r.startedAt = "2025-01-01T00:00:00.001Z";
      },
    ],
  ] as const)("a signed result with %s: %s", async (_, code, edit) => {
    const edited = result();
    edit(edited);
    const bytes = await resigned(replace(bundlePaths.result, JSON.stringify(edited)), original.signer);
    expect(await codesOf(bytes)).toContain(code);
  });

  it("names the field in which a signed statement differs from the payload", async () => {
    const bytes = await resigned(entries, original.signer, (text) =>
      text.replace('"requiredPassed":3', '"requiredPassed":4'),
    );
    const report = await verifyBundle(stream(bytes), { keys: [original.key] });
    const [problem] = report.checks.flatMap(({ problems }) => problems);
    expect(problem).toMatchObject({
      code: "bundle.statement-mismatch",
      where: "bundle.intoto.jsonl#run-result.predicate.outcome.requiredPassed",
      message: "the run-result statement says 4, the payload yields 3",
    });
  });

  it.each([
    ["bundle.archive-mismatch", { bundleSha256: "0".repeat(64) }],
    ["bundle.grading-mismatch", { gradingId: "00000000-0000-4000-8000-000000000000" }],
    ["bundle.attempt-mismatch", { attemptId: null }],
    ["bundle.lease-mismatch", { lease: null }],
    ["bundle.lease-mismatch", { lease: { id: "00000000-0000-4000-8000-000000000000", nonce: "n" } }],
    ["bundle.nonce-mismatch", { lease: { id: "00000000-0000-4000-8000-000000000000", nonce: "n" } }],
    ["bundle.task-mismatch", { task: "another-task" }],
    ["bundle.task-mismatch", { suite: { slug: "synthetic-suite", version: "2.0" } }],
    ["bundle.task-mismatch", { gradingDigest: "0".repeat(64) }],
    ["bundle.patch-mismatch", { patchSha256: "0".repeat(64) }],
    ["bundle.candidate-mismatch", { candidate: { ...testCandidate, model: "Another" } }],
    ["bundle.key-mismatch", { keyid: "0".repeat(64) }],
  ])("%s where something else was expected", async (code, expectation) => {
    expect(await codesOf(archive, { expect: expectation })).toContain(code);
  });

  it("agrees with everything that was expected of it", async () => {
    const { result: expected, manifest } = original;
    const codes = await codesOf(archive, {
      expect: {
        bundleSha256: original.sha256,
        gradingId: expected.gradingId,
        attemptId: original.attemptId,
        lease: original.lease,
        suite: expected.suite,
        task: expected.task,
        gradingDigest: manifest.digests.grading,
        candidate: original.candidate,
        keyid: original.signer.keyid,
      },
    });
    expect(codes).toEqual([]);
  });

  it.each([
    ["bundle.key-expired", { validUntil: "2025-01-02T00:00:00Z" }],
    ["bundle.key-not-yet-valid", { validFrom: "2025-01-04T00:00:00Z" }],
    ["bundle.key-revoked", { revokedAt: "2025-01-03T00:00:00Z" }],
    ["bundle.key-revoked", { revokedAt: "2025-02-01T00:00:00Z", compromisedSince: "2025-01-03T00:00:00Z" }],
  ])("%s by the time of receipt", async (code, window) => {
    const receivedAt = new Date("2025-01-03T00:00:00Z");
    expect(await codesOf(archive, { keys: [{ ...original.key, ...window }], receivedAt })).toEqual([code]);
  });
});

describe("receipt and log", () => {
  let server: Signer;
  let serverKey: PublishedKey;
  const accepted = (bundle: TestBundle) => makeTestAcceptance(bundle, server);

  beforeAll(async () => {
    ({ signer: server } = await generateKeyPair());
    serverKey = serverKeyOf(server);
  });
  const keys = () => [original.key, serverKey];

  it("hold together, and carry a key that has expired since", async () => {
    const evidence = await accepted(original);
    const expired = { ...original.key, validUntil: "2025-01-02T00:00:00Z" };
    const report = await verifyBundle(original.path, { keys: [expired, serverKey], ...evidence });
    expect(report.checks.filter((check) => !check.ok)).toEqual([]);
    expect(report.checks.map(({ id }) => id)).toEqual(expect.arrayContaining(["receipt", "inclusion"]));
    expect(report.contents?.receipt?.predicate.receivedAt).toBe(testReceivedAt);
    expect(await codesOf(archive, { keys: [expired, serverKey] })).toEqual(["bundle.key-expired"]);
  });

  it("refuse another bundle's receipt", async () => {
    const { receipt } = await accepted(other);
    expect(await codesOf(archive, { keys: keys(), receipt })).toEqual(
      expect.arrayContaining(["receipt.bundle-mismatch", "receipt.grading-mismatch", "receipt.sums-mismatch"]),
    );
  });

  it("refuse a receipt by a key that is not the server's", async () => {
    const { receipt } = await accepted(original);
    expect(await codesOf(archive, { keys: [original.key, { ...serverKey, role: "runner" }], receipt })).toEqual([
      "receipt.unknown-key",
    ]);
  });

  it("refuse a receipt that was edited", async () => {
    const { receipt } = await accepted(original);
    const payload = toBase64(Buffer.from(Buffer.from(receipt.payload, "base64").toString().replace("01:00", "02:00")));
    expect(await codesOf(archive, { keys: keys(), receipt: { ...receipt, payload } })).toEqual([
      "receipt.signature-invalid",
    ]);
  });

  it("refuse a record, a proof or a checkpoint of something else", async () => {
    const { receipt, log } = await accepted(original);
    const { log: otherLog } = await accepted(other);
    const attempt = (changed: Partial<LogInclusion>) =>
      codesOf(archive, { keys: keys(), receipt, log: { ...log, ...changed } });
    expect(await attempt({})).toEqual([]);
    expect(await attempt({ record: otherLog.record })).toEqual(["log.record-mismatch"]);
    expect(await attempt({ index: 3 })).toEqual(["log.record-mismatch"]);
    expect(await attempt({ record: "IR==" })).toEqual(["log.record-form"]);
    expect(await attempt({ proof: log.proof.slice(1) })).toEqual(["log.inclusion-invalid"]);
    expect(await attempt({ checkpoint: otherLog.checkpoint })).toEqual(["log.inclusion-invalid"]);
    expect(await attempt({ checkpoint: log.checkpoint.replace("\n13\n", "\n14\n") })).toEqual([
      "log.signature-invalid",
    ]);
  });
});

describe("random mutations", () => {
  const runs = Number(process.env.INFRADEV_MUTATIONS ?? 100);
  const seed = Number(process.env.INFRADEV_SEED ?? Date.now() % 2 ** 31);
  const at = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
  const pick = <T>(list: readonly T[], where: number): T => list[Math.floor(where * list.length)] as T;
  const flip = (bytes: Buffer, where: number, bit: number) => {
    const changed = Buffer.from(bytes);
    const index = Math.floor(where * bytes.length);
    if (bytes.length > 0) changed[index] = (changed[index] ?? 0) ^ (1 << bit);
    return changed;
  };
  const payload = () => entries.filter(({ path }) => path.startsWith("payload/"));

  const mutation = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("archive-bit" as const), at, bit: fc.nat(7) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("archive-cut" as const), at }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("archive-append" as const),
        bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("archive-splice" as const),
        at,
        bytes: fc.uint8Array({ maxLength: 40 }),
        drop: fc.nat(40),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("file-bit" as const),
        file: at,
        at,
        bit: fc.nat(7),
        sums: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), file: at, sums: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("add" as const),
        name: fc.string({ maxLength: 30 }),
        bytes: fc.uint8Array({ maxLength: 30 }),
        sums: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("rename" as const),
        file: at,
        name: fc.string({ maxLength: 30 }),
        sums: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("swap" as const), file: at, with: at }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("exchange-contents" as const), file: at, with: at, sums: fc.boolean() }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("envelope-json" as const), line: fc.nat(1), at, bit: fc.nat(7) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("envelope-space" as const),
        at,
        space: fc.constantFrom(" ", "\t", "\r", "\n"),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("envelope-mix" as const), first: fc.nat(3), second: fc.nat(3) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("signature" as const),
        line: fc.nat(1),
        sig: fc.uint8Array({ maxLength: 80 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("keyid" as const),
        line: fc.nat(1),
        keyid: fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("foreign-file" as const), file: at, sums: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("header-byte" as const),
        file: at,
        offset: fc.nat(511),
        value: fc.nat(255),
      }),
    },
  );
  type Mutation = typeof mutation extends fc.Arbitrary<infer M> ? M : never;

  const headerOf = (path: string): Buffer => {
    const alone = packArchive([{ path, bytes: fileOf(path) }]);
    return Buffer.from(execFileSync("gzip", ["-dc"], { input: alone, maxBuffer: 1 << 26 }).subarray(0, 512));
  };

  const pack = (files: Entries, sums = false) => {
    const names = new Set(files.map(({ path }) => path));
    const listed = sums && names.has(bundlePaths.sums) ? withSums(files) : files;
    try {
      return packArchive(byPath(listed));
    } catch (error) {
      // ustar cannot hold the name at all
      if (error instanceof RangeError) return Buffer.from("unpackable");
      throw error;
    }
  };

  function mutate(m: Mutation): Buffer {
    switch (m.kind) {
      case "archive-bit":
        return flip(archive, m.at, m.bit);
      case "archive-cut":
        return archive.subarray(0, Math.floor(m.at * archive.length));
      case "archive-append":
        return Buffer.concat([archive, m.bytes]);
      case "archive-splice": {
        const where = Math.floor(m.at * archive.length);
        return Buffer.concat([archive.subarray(0, where), m.bytes, archive.subarray(where + m.drop)]);
      }
      case "file-bit": {
        const { path, bytes } = pick(entries, m.file);
        return pack(replace(path, flip(bytes, m.at, m.bit)), m.sums && path !== bundlePaths.sums);
      }
      case "remove": {
        const { path } = pick(entries, m.file);
        return pack(
          entries.filter((entry) => entry.path !== path),
          m.sums,
        );
      }
      case "add":
        return pack([...entries, { path: `payload/${m.name}`, bytes: Buffer.from(m.bytes) }], m.sums);
      case "rename": {
        const { path } = pick(payload(), m.file);
        return pack(
          entries.map((entry) => (entry.path === path ? { ...entry, path: `payload/${m.name}` } : entry)),
          m.sums,
        );
      }
      case "swap": {
        const files = [...entries];
        const [a, b] = [Math.floor(m.file * files.length), Math.floor(m.with * files.length)];
        const [first, second] = [files[a], files[b]];
        if (first && second) [files[a], files[b]] = [second, first];
        return packArchive(files);
      }
      case "exchange-contents": {
        const [a, b] = [pick(payload(), m.file), pick(payload(), m.with)];
        return pack(replace(b.path, a.bytes, replace(a.path, b.bytes)), m.sums);
      }
      case "envelope-json": {
        const envelopes = envelopesOf();
        const envelope = pick(envelopes, m.line / 2);
        const body = flip(Buffer.from(envelope.payload, "base64"), m.at, m.bit);
        return pack(withEnvelopes(envelopes.with(m.line, { ...envelope, payload: toBase64(body) })));
      }
      case "envelope-space": {
        const text = linesOf(envelopesOf());
        const where = Math.floor(m.at * text.length);
        return pack(replace(bundlePaths.envelopes, text.slice(0, where) + m.space + text.slice(where)));
      }
      case "envelope-mix": {
        const all = [...envelopesOf(), ...envelopesOf(otherEntries)];
        return pack(withEnvelopes([all[m.first] as DsseEnvelope, all[m.second] as DsseEnvelope]));
      }
      case "signature": {
        const envelopes = envelopesOf();
        const envelope = pick(envelopes, m.line / 2);
        const signatures = envelope.signatures.map(({ keyid }) => ({ keyid, sig: toBase64(m.sig) }));
        return pack(withEnvelopes(envelopes.with(m.line, { ...envelope, signatures })));
      }
      case "keyid": {
        const envelopes = envelopesOf();
        const envelope = pick(envelopes, m.line / 2);
        const signatures = envelope.signatures.map(({ sig }) => ({ keyid: m.keyid, sig }));
        return pack(withEnvelopes(envelopes.with(m.line, { ...envelope, signatures })));
      }
      case "foreign-file": {
        const { path, bytes } = pick(otherEntries, m.file);
        return pack(replace(path, bytes), m.sums && path !== bundlePaths.sums);
      }
      case "header-byte": {
        const target = pick(entries, m.file).path;
        const header = headerOf(target);
        header[m.offset] = m.value;
        return packArchive(entries.map((entry) => (entry.path === target ? { ...entry, header } : entry)));
      }
    }
  }

  it(
    `is refused by a code of its own, or is byte for byte the original (${runs} mutations, seed ${seed})`,
    async () => {
      const seen = new Map<string, number>();
      const signed = new Set(entries.map(({ path }) => path));
      await fc.assert(
        fc.asyncProperty(mutation, async (m) => {
          const target = join(work, "mutant");
          const report = await verifyBundle(stream(mutate(m)), { keys: [original.key], extractTo: target });
          const code = report.checks.find((check) => !check.ok)?.problem?.code ?? "identical";
          seen.set(code, (seen.get(code) ?? 0) + 1);
          try {
            expect(code).toMatch(/^(identical|(archive|bundle|result)\.[a-z-]+)$/);
            expect(report.ok).toBe(code === "identical");
            expect(existsSync(target)).toBe(report.ok);
            if (!report.ok) {
              for (const check of report.checks)
                for (const problem of check.problems)
                  expect(problem).toMatchObject({
                    message: expect.any(String),
                    where: expect.any(String),
                    rule: expect.any(String),
                    remedy: expect.any(String),
                  });
              return;
            }
            expect(
              new Set([...(report.contents?.files ?? []).map(({ path }) => path), "SHA256SUMS", "bundle.intoto.jsonl"]),
            ).toEqual(signed);
            for (const { path, bytes } of entries) expect(await readFile(join(target, path))).toEqual(bytes);
          } finally {
            await rm(target, { recursive: true, force: true });
          }
        }),
        { numRuns: runs, seed },
      );
      console.log(
        `seed ${seed}; mutations refused by: ${[...seen]
          .sort(([a], [b]) => compareUtf8(a, b))
          .map(([code, count]) => `${code} ${count}`)
          .join(", ")}`,
      );
      expect(seen.size).toBeGreaterThan(5);
    },
    60_000 + 100 * runs,
  );
});

describe("writer", () => {
  it("signs nothing that a reader would refuse", async () => {
    const payloadDir = join(work, "bad-payload");
    await makeTestPayload(payloadDir, {
      editResult: (result) => {
        result.summary.requiredPassed += 1;
      },
    });
    const out = join(work, "bad.tar.gz");
    const request = {
      payloadDir,
      attemptId: null,
      lease: null,
      candidate: testCandidate,
      signer: original.signer,
      out,
    };
    await expect(writeBundle(request)).rejects.toMatchObject({ code: "result.arithmetic" });
    await makeTestPayload(payloadDir, { executor: "process", sandboxed: true });
    await expect(writeBundle(request)).rejects.toMatchObject({ code: "result.sandbox" });
    const canaries = [{ launch: 0, rank: 0, expected: "failed", observed: "passed" }];
    await makeTestPayload(payloadDir, {
      files: {
        "guard.json": JSON.stringify({ format: "infradev-guard/1", canaries, restoredPaths: [], findings: [] }),
      },
    });
    await expect(writeBundle(request)).rejects.toMatchObject({ code: "result.guard" });
    const controls = [{ group: "official", test: "tests/test_x.py::test_x", change: "end", observed: "passed" }];
    await makeTestPayload(payloadDir, {
      files: {
        "guard.json": JSON.stringify({
          format: "infradev-guard/1",
          canaries: [],
          restoredPaths: [],
          findings: [],
          controls,
        }),
      },
    });
    await expect(writeBundle(request)).rejects.toMatchObject({ code: "result.guard" });
    await rm(join(payloadDir, "guard.json"));
    await expect(writeBundle(request)).rejects.toMatchObject({ code: "bundle.missing-file" });
    expect(existsSync(out)).toBe(false);
  });

  it("refuses a link in the payload, and leaves nothing behind", async () => {
    const payloadDir = join(work, "linked");
    await makeTestPayload(payloadDir);
    execFileSync("ln", ["-s", "/etc/hostname", join(payloadDir, "host.txt")]);
    const out = join(work, "linked.tar.gz");
    const attempt = writeBundle({
      payloadDir,
      attemptId: null,
      lease: null,
      candidate: testCandidate,
      signer: original.signer,
      out,
    });
    await expect(attempt).rejects.toBeInstanceOf(InfraDevError);
    await expect(attempt).rejects.toMatchObject({ code: "archive.link" });
    expect((await readdir(work)).filter((name) => name.startsWith("linked.tar"))).toEqual([]);
  });

  it("packs very repetitive logs so that the reader's ratio does not refuse them", async () => {
    const log = Buffer.alloc(100 * 1024 * 1024, "waiting for peers\n");
    const bundle = await makeTestBundle(join(work, "repetitive.tar.gz"), {
      signer: original.signer,
      files: { "ranks/0/0.stdout.log": log },
    });
    const report = await verifyBundle(bundle.path, { keys: [original.key] });
    expect(report.checks.filter((check) => !check.ok)).toEqual([]);
    await writeFile(bundle.path, "");
  });
});
