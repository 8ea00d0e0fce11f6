import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import type { Candidate, DsseEnvelope, PublishedKey } from "../contract/bundle";
import { bundlePaths, dssePayloadType } from "../contract/bundle";
import type { EvidenceResponse, LogInclusion } from "../contract/evidence-api";
import type { LogRecord } from "../contract/log";
import type { Guard, HostFacts, Launch, RankOutcome, Result, RunLock, TestOutcome } from "../contract/result";
import { summarize } from "../contract/result";
import type { Manifest, ManifestTest } from "../contract/task";
import type { GradingStatus, OutcomeStatus } from "../contract/vocabulary";
import { toBase64, toHex, utf8 } from "./bytes";
import { signEnvelope } from "./dsse";
import type { Signer } from "./keys";
import { generateKeyPair, publishedKeyOf } from "./keys";
import { signCheckpoint } from "./merkle";
import { readBundleEntries } from "./node/bundle-reader";
import type { WrittenBundle } from "./node/bundle-writer";
import { writeBundle } from "./node/bundle-writer";
import { gzipHeader, gzipTrailer } from "./node/gzip-format";
import { leafHashOf, MerkleTree } from "./node/merkle-tree";
import { blockBytes, encodeHeader, paddingOf } from "./node/tar-format";
import { buildReceiptStatement } from "./statements";

/** Payloads and bundles for tests: made up, named synthetic, valid in every schema and sum. */

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

export const testPatch = [
  "diff --git a/synthetic/pool.py b/synthetic/pool.py",
  "--- a/synthetic/pool.py",
  "+++ b/synthetic/pool.py",
  "@@ -1,2 +1,2 @@",
  " def release(block):",
  "-    return None",
  "+    return block",
  "",
].join("\n");

const testOf = (id: string, facts: Partial<ManifestTest>): ManifestTest => ({
  id,
  kind: "official",
  expectation: "f2p",
  group: "two-ranks",
  property: "value",
  condition: null,
  ranks: "all",
  needs: { ranks: 2, gpus: 0 },
  required: true,
  notRequiredReason: null,
  requirement: null,
  limit: null,
  ...facts,
});

/** A small manifest: two groups, official tests and probes, one test that is not required. */
export function makeTestManifest(overrides: Partial<Manifest> = {}): Manifest {
  return {
    format: "infradev-manifest/1",
    suite: { slug: "synthetic-suite", version: "1.0", probes: "open" },
    task: {
      slug: "synthetic-task",
      title: "Synthetic task",
      repo: "synthetic/fleet",
      category: "training",
      type: "feature",
      baseCommit: null,
      baseTree: "a".repeat(40),
      envKey: "python",
      gpusGrade: 0,
      protectedPaths: ["tests/**"],
    },
    digests: { prompts: { interface: digestOf("prompt") }, grading: digestOf("grading") },
    groups: [
      { id: "two-ranks", launcher: "ranks", nproc: 2, isolation: "group", timeout_sec: 60, test_timeout_sec: 20 },
      { id: "single", launcher: "pytest", nproc: 1, isolation: "file", timeout_sec: 60, test_timeout_sec: 20 },
    ],
    tests: [
      testOf("tests/test_pool.py::test_release", {}),
      testOf("tests/test_pool.py::test_keeps_order", { expectation: "p2p", group: "single" }),
      testOf("probes/test_pool_probe.py::test_shape", { kind: "probe", property: "shape-layout-dtype" }),
      testOf("probes/test_pool_probe.py::test_any_rank", { kind: "probe", ranks: "any" }),
      testOf("tests/test_pool.py::test_needs_gpus", {
        required: false,
        notRequiredReason: "needs 2 GPUs",
        needs: { ranks: 2, gpus: 2 },
        group: "single",
      }),
    ],
    ...overrides,
  };
}

export const testCandidate: Candidate = {
  kind: "model",
  model: "Synthetic model",
  agent: "synthetic-agent",
  agentVersion: "1.0",
  reasoningEffort: null,
  promptCondition: "interface",
  promptDigest: digestOf("prompt"),
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
};

export interface TestPayloadOverrides {
  gradingId?: string;
  manifest?: Manifest;
  patch?: string;
  status?: GradingStatus;
  executor?: Result["executor"];
  sandboxed?: boolean;
  /** Merged status by test id, `passed` where nothing is said (tests that are not required: `not-run`). */
  statuses?: Record<string, OutcomeStatus>;
  /** Changes the result last, after everything was made consistent. */
  editResult?: (result: Result) => void;
  /** More files, by path under payload/. */
  files?: Record<string, string | Uint8Array>;
  /** Files of sealed/, by path. */
  sealed?: Record<string, string | Uint8Array>;
}

const startedAt = "2025-01-01T00:00:00.000Z";
const finishedAt = "2025-01-01T00:00:04.500Z";

function rankOutcome(rank: number, status: OutcomeStatus, launch: number | null): RankOutcome {
  const failed = status !== "passed" && status !== "not-run" && status !== "skipped";
  return {
    rank,
    status,
    launch,
    startedAt: launch === null ? null : "2025-01-01T00:00:01.000Z",
    durationMs: launch === null ? null : 12.5,
    failure: failed
      ? {
          phase: "call",
          exceptionType: status === "failed" ? "AssertionError" : null,
          mro: status === "failed" ? ["AssertionError", "Exception"] : [],
          message: `synthetic ${status}`,
          frames: [],
          activeCheck: null,
          secondaryOf: null,
        }
      : null,
    logLine: null,
  };
}

function outcomeOf(test: ManifestTest, status: OutcomeStatus, nproc: number, launch: number | null): TestOutcome {
  const reports = status !== "not-run";
  return {
    id: test.id,
    kind: test.kind,
    expectation: test.expectation,
    group: test.group,
    required: test.required,
    status,
    durationMs: reports ? 12.5 : null,
    ranks: reports ? Array.from({ length: nproc }, (_, rank) => rankOutcome(rank, status, launch)) : [],
    rootRank: ["passed", "skipped", "not-run"].includes(status) ? null : 0,
    resources: [],
    label: null,
  };
}

/** A result that fits the manifest, with the statuses that are asked for. */
function makeTestResult(manifest: Manifest, overrides: TestPayloadOverrides = {}): Result {
  const gpus = manifest.profile?.gpus ?? manifest.task.gpusGrade;
  const launches: Launch[] = manifest.groups.map((group) => ({
    group: group.id,
    launcher: group.launcher,
    isolation: group.isolation,
    nproc: group.nproc,
    tests: manifest.tests.filter((test) => test.group === group.id && test.required).map(({ id }) => id),
    startedAt,
    durationMs: 2000,
    killed: null,
    exits: Array.from({ length: group.nproc }, (_, rank) => ({ rank, code: 0, signal: null })),
    ...(gpus === 0 ? {} : { gpus: Array.from({ length: gpus }, (_, index) => `GPU-synthetic-${index}`) }),
  }));
  const status = overrides.status ?? "completed";
  const tests = manifest.tests.map((test) => {
    const launch = manifest.groups.findIndex(({ id }) => id === test.group);
    const usual: OutcomeStatus = test.required && status === "completed" ? "passed" : "not-run";
    const wanted = overrides.statuses?.[test.id] ?? usual;
    return outcomeOf(test, wanted, manifest.groups[launch]?.nproc ?? 1, wanted === "not-run" ? null : launch);
  });
  const result: Result = {
    format: "infradev-result/1",
    gradingId: overrides.gradingId ?? randomUUID(),
    suite: { slug: manifest.suite.slug, version: manifest.suite.version },
    task: manifest.task.slug,
    status,
    reason: status === "completed" ? null : { code: `synthetic.${status}`, message: "synthetic", evidence: [] },
    executor: overrides.executor ?? "bwrap",
    sandboxed: overrides.sandboxed ?? true,
    startedAt,
    finishedAt,
    durationMs: 4500,
    summary: summarize(tests, status === "completed"),
    launches,
    tests,
    extraTests: [],
  };
  overrides.editResult?.(result);
  return result;
}

export const testHost: HostFacts = {
  os: "linux",
  kernel: "6.1.0",
  arch: "x64",
  cpuModel: "Synthetic CPU",
  cpuCount: 2,
  memoryMb: 8192,
  gpus: [],
  topology: null,
  cuda: null,
  nccl: null,
  python: "3.12.0",
  pytest: "8.0.0",
  torch: null,
  node: "20.19.0",
};

/** Writes files by path under `dir`. */
async function writeTree(dir: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
}

/** Fills `dir` with the files of a payload. Returns its result and manifest. */
export async function makeTestPayload(
  dir: string,
  overrides: TestPayloadOverrides = {},
): Promise<{ result: Result; manifest: Manifest }> {
  const manifest = overrides.manifest ?? makeTestManifest();
  const patch = overrides.patch ?? testPatch;
  const result = makeTestResult(manifest, overrides);
  const runLock: RunLock = {
    format: "infradev-run-lock/1",
    suite: result.suite,
    task: { slug: result.task, gradingDigest: manifest.digests.grading, baseTree: manifest.task.baseTree },
    patchSha256: digestOf(patch),
    environment: {
      key: manifest.task.envKey,
      executor: result.executor,
      python: testHost.python,
      pytest: testHost.pytest,
      digests: [],
    },
    runner: { version: "0.0.0-synthetic" },
    launches: manifest.groups.map(({ id, nproc }) => ({ group: id, argv: ["python", "-m", "pytest"], nproc, env: {} })),
    seeds: { PYTHONHASHSEED: 0 },
    limits: { memoryMb: null, outputBytes: 1 << 24, timeoutSec: 60 },
  };
  const guard: Guard = { format: "infradev-guard/1", canaries: [], restoredPaths: [], findings: [] };
  const document = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const ctrfStatus = (status: OutcomeStatus) =>
    status === "passed" ? "passed" : status === "skipped" || status === "not-run" ? "skipped" : "failed";
  const tests = result.tests.map((test) => ({
    name: test.id,
    status: ctrfStatus(test.status),
    rawStatus: test.status,
    duration: test.durationMs ?? 0,
  }));
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  const logs = Object.fromEntries(
    result.launches.flatMap((launch, index) =>
      launch.exits.flatMap(({ rank }) => [
        [`ranks/${index}/${rank}.stdout.log`, `collected ${launch.tests.length} items\n`],
        [`ranks/${index}/${rank}.stderr.log`, ""],
        [`events/${index}/${rank}.jsonl`, '{"event":"session_start"}\n'],
        [`junit/${index}/${rank}.xml`, '<?xml version="1.0" encoding="utf-8"?>\n<testsuites/>\n'],
      ]),
    ),
  );
  await writeTree(dir, {
    "result.json": document(result),
    "manifest.json": document(manifest),
    "run.lock.json": document(runLock),
    "patch.diff": patch,
    "host.json": document(testHost),
    "guard.json": document(guard),
    "tests.ctrf.json": document({
      reportFormat: "CTRF",
      specVersion: "0.0.0",
      results: {
        tool: { name: "infradev" },
        summary: {
          tests: tests.length,
          passed: count("passed"),
          failed: count("failed"),
          pending: 0,
          skipped: count("skipped"),
          other: 0,
          start: Date.parse(startedAt),
          stop: Date.parse(finishedAt),
        },
        tests,
      },
    }),
    ...logs,
    ...overrides.files,
  });
  return { result, manifest };
}

/** Packs entries in the order given, with headers of one's own where given: for archives that must be refused. */
export function packArchive(entries: readonly { path: string; bytes: Uint8Array; header?: Uint8Array }[]): Buffer {
  const tar = Buffer.concat([
    ...entries.flatMap(({ path, bytes, header }) => [
      header ?? encodeHeader(path, bytes.length),
      bytes,
      new Uint8Array(paddingOf(bytes.length)),
    ]),
    new Uint8Array(2 * blockBytes),
  ]);
  return gzipOf(tar);
}

/** One canonical gzip member over the bytes. */
export const gzipOf = (bytes: Uint8Array): Buffer =>
  Buffer.concat([gzipHeader, deflateRawSync(bytes), gzipTrailer(crc32(bytes), bytes.length)]);

/** Reads a good archive whole into memory. */
export async function unpackArchive(path: string): Promise<{ path: string; bytes: Buffer }[]> {
  const entries = [];
  for await (const entry of readBundleEntries(path)) {
    const parts = [];
    for await (const chunk of entry.content) parts.push(Buffer.from(chunk));
    entries.push({ path: entry.path, bytes: Buffer.concat(parts) });
  }
  return entries;
}

export interface TestBundleOptions extends TestPayloadOverrides {
  signer?: Signer;
  attemptId?: string | null;
  lease?: { id: string; nonce: string } | null;
  candidate?: Candidate;
}

export interface TestBundle extends WrittenBundle {
  signer: Signer;
  /** The signer's key, in force since 2020. */
  key: PublishedKey;
  result: Result;
  manifest: Manifest;
  attemptId: string | null;
  lease: { id: string; nonce: string } | null;
  candidate: Candidate;
}

/** Makes a payload and its signed bundle; `out` names the archive. */
export async function makeTestBundle(out: string, options: TestBundleOptions = {}): Promise<TestBundle> {
  const signer = options.signer ?? (await generateKeyPair()).signer;
  const work = await mkdtemp(join(tmpdir(), "infradev-bundle-"));
  try {
    const payloadDir = join(work, "payload");
    const sealedDir = join(work, "sealed");
    const { result, manifest } = await makeTestPayload(payloadDir, options);
    await writeTree(sealedDir, options.sealed ?? {});
    const stated = {
      attemptId: options.attemptId === undefined ? randomUUID() : options.attemptId,
      lease: options.lease === undefined ? { id: randomUUID(), nonce: digestOf(out) } : options.lease,
      candidate: options.candidate ?? testCandidate,
    };
    const written = await writeBundle({ payloadDir, sealedDir, ...stated, signer, out });
    const key = publishedKeyOf(signer, { role: "runner", owner: "Synthetic host", validFrom: "2020-01-01T00:00:00Z" });
    return { ...written, signer, key, result, manifest, ...stated };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export const testReceivedAt = "2025-01-01T01:00:00.000Z";
const testOrigin = "log.example/infradev";

/** The server's key as its list has it, in force since 2020. */
export const serverKeyOf = (server: Signer): PublishedKey =>
  publishedKeyOf(server, { role: "server", owner: "Synthetic server", validFrom: "2020-01-01T00:00:00Z" });

/** What a server gives for a bundle that it accepted: its receipt, and where the bundle stands in the log. */
export async function makeTestAcceptance(
  bundle: TestBundle,
  server: Signer,
): Promise<{ receipt: DsseEnvelope; log: LogInclusion }> {
  const stated: LogRecord = {
    format: "infradev-log/1",
    type: "bundle",
    at: testReceivedAt,
    gradingId: bundle.result.gradingId,
    bundleSha256: bundle.sha256,
    verdict: "accepted",
  };
  const record = utf8(JSON.stringify(stated));
  const tree = new MerkleTree(Array.from({ length: 11 }, (_, index) => leafHashOf(utf8(`${index}`))));
  const index = tree.size;
  tree.append(leafHashOf(record));
  tree.append(leafHashOf(utf8("later")));
  const statement = buildReceiptStatement({
    gradingId: bundle.result.gradingId,
    bundleSha256: bundle.sha256,
    sumsSha256: bundle.sumsSha256,
    receivedAt: testReceivedAt,
    policy: "infradev-ingest/1",
    verdict: "accepted",
    log: { origin: testOrigin, index, leafHash: toHex(leafHashOf(record)) },
  });
  return {
    receipt: await signEnvelope(dssePayloadType, utf8(JSON.stringify(statement)), server),
    log: {
      index,
      record: toBase64(record),
      proof: tree.inclusionProof(index).map(toHex),
      checkpoint: await signCheckpoint({ origin: testOrigin, size: tree.size, root: tree.root() }, server),
    },
  };
}

/** The evidence endpoint's answer for a bundle, and the bytes behind its URLs. */
export async function makeTestEvidence(
  bundle: TestBundle,
  server: Signer,
): Promise<{ response: EvidenceResponse; files: Map<string, Buffer> }> {
  const entries = await unpackArchive(bundle.path);
  const base = `/api/v1/gradings/${bundle.result.gradingId}`;
  const payload = entries.filter(({ path }) => path.startsWith("payload/"));
  const text = (path: string) => entries.find((entry) => entry.path === path)?.bytes.toString("utf8") ?? "";
  return {
    files: new Map(payload.map(({ path, bytes }) => [`${base}/files/${path}`, bytes])),
    response: {
      gradingId: bundle.result.gradingId,
      suite: bundle.result.suite,
      task: bundle.result.task,
      bundle: { sha256: bundle.sha256, bytes: bundle.bytes, url: `${base}/bundle` },
      envelopes: text(bundlePaths.envelopes),
      sums: text(bundlePaths.sums),
      files: Object.fromEntries(payload.map(({ path }) => [path, `${base}/files/${path}`])),
      ...(await makeTestAcceptance(bundle, server)),
      keys: { format: "infradev-keys/1", keys: [bundle.key, serverKeyOf(server)] },
      shown: {
        status: bundle.result.status,
        summary: bundle.result.summary,
        tests: bundle.result.tests.map(({ id, status }) => ({ id, status })),
      },
    },
  };
}
