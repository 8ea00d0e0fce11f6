import type { z } from "zod";
import type {
  Candidate,
  DsseEnvelope,
  PublishedKey,
  ReceiptStatement,
  RunResultStatement,
  TestResultStatement,
} from "../contract/bundle";
import {
  bundlePaths,
  dsseEnvelopeSchema,
  predicateTypes,
  receiptStatementSchema,
  runResultStatementSchema,
  testResultStatementSchema,
} from "../contract/bundle";
import type { Problem } from "../contract/errors";
import { problemFromZod } from "../contract/errors";
import type { LogInclusion } from "../contract/evidence-api";
import { logRecordSchema } from "../contract/log";
import type { HostFacts, Result, RunLock } from "../contract/result";
import { hostFactsSchema, resultSchema, runLockSchema } from "../contract/result";
import type { Manifest } from "../contract/task";
import { manifestSchema } from "../contract/task";
import { decodeUtf8, fromBase64, fromHex, toHex } from "./bytes";
import { checkResult, checkRunLock } from "./check-result";
import { serializeEnvelope, verifyEnvelope } from "./dsse";
import { checkPublishedKeys, keyProblemAt } from "./keys";
import { leafHash, openCheckpoint, verifyInclusion } from "./merkle";
import { buildRunResultStatement, buildTestResultStatement, compareStatement, differences } from "./statements";

/** One thing that was checked, in a sentence, and everything that contradicts it. */
export interface Check {
  id: string;
  label: string;
  ok: boolean;
  /** What was found. */
  detail: string;
  /** The first contradiction. */
  problem?: Problem;
  problems: Problem[];
}

/** A check that holds where there is no problem. */
export function checkOf(id: string, label: string, held: string, problems: readonly Problem[]): Check {
  const [problem] = problems;
  return {
    id,
    label,
    ok: !problem,
    detail: problem ? `${problem.message}${problems.length > 1 ? ` (and ${problems.length - 1} more)` : ""}` : held,
    ...(problem ? { problem } : {}),
    problems: [...problems],
  };
}

/** What the verifier knows from elsewhere and the evidence must agree with. Whatever is left out is not compared. */
export interface Expectation {
  /** Of the archive. */
  bundleSha256?: string | undefined;
  gradingId?: string | undefined;
  attemptId?: string | null | undefined;
  lease?: { id: string; nonce: string } | null | undefined;
  suite?: { slug: string; version?: string | undefined } | undefined;
  task?: string | undefined;
  gradingDigest?: string | undefined;
  patchSha256?: string | undefined;
  candidate?: Candidate | undefined;
  keyid?: string | undefined;
}

const parseJson = <Schema extends z.ZodType>(
  bytes: Uint8Array,
  schema: Schema,
  where: string,
): { value: z.infer<Schema> } | { problem: Problem } => {
  let raw: unknown;
  try {
    raw = JSON.parse(decodeUtf8(bytes));
  } catch {
    return {
      problem: {
        code: "bundle.document-form",
        message: "the document is not JSON in UTF-8",
        where,
        rule: "documents of a bundle are JSON",
        remedy: "take the bundle again from its signer",
      },
    };
  }
  const parsed = schema.safeParse(raw);
  return parsed.success
    ? { value: parsed.data }
    : {
        problem: problemFromZod(parsed.error, {
          code: "bundle.document-form",
          what: "the document does not fit its schema",
          where,
          remedy: "grade again with a current runner",
        }),
      };
};

const envelopeForm = (where: string, message: string): Problem => ({
  code: "bundle.envelope-form",
  message,
  where,
  rule: "bundle.intoto.jsonl holds two lines, the test result and the run result; each is an envelope with one signature, spelled as its own re-serialization",
  remedy: "take the bundle again as the runner wrote it",
});

/** Reads `bundle.intoto.jsonl` strictly: two lines, each equal to its own re-serialization. */
function parseEnvelopes(text: string): { envelopes: [DsseEnvelope, DsseEnvelope] } | { problem: Problem } {
  const lines = text.split("\n");
  if (lines.length !== 3 || lines[2] !== "")
    return { problem: envelopeForm(bundlePaths.envelopes, "the file does not hold exactly two lines") };
  const envelopes: DsseEnvelope[] = [];
  for (const [index, line] of lines.slice(0, 2).entries()) {
    const where = `${bundlePaths.envelopes}:${index + 1}`;
    let raw: unknown;
    try {
      raw = JSON.parse(line);
    } catch {
      return { problem: envelopeForm(where, "the line is not JSON") };
    }
    const parsed = dsseEnvelopeSchema.safeParse(raw);
    if (!parsed.success)
      return {
        problem: problemFromZod(parsed.error, { code: "bundle.envelope-form", what: "the line is no envelope", where }),
      };
    if (serializeEnvelope(parsed.data) !== line)
      return { problem: envelopeForm(where, "the line is not spelled as its own re-serialization") };
    if (parsed.data.signatures.length !== 1)
      return { problem: envelopeForm(where, `the envelope has ${parsed.data.signatures.length} signatures`) };
    envelopes.push(parsed.data);
  }
  const [first, second] = envelopes;
  if (!first || !second)
    return { problem: envelopeForm(bundlePaths.envelopes, "the file does not hold exactly two lines") };
  return { envelopes: [first, second] };
}

const subjectIn = (statement: TestResultStatement | RunResultStatement, name: string) =>
  statement.subject.find((subject) => subject.name === name)?.digest.sha256;

interface SignedStatements {
  testResult: TestResultStatement;
  runResult: RunResultStatement;
  key: PublishedKey;
}

const statementForm = (problem: Problem) => ({ problem: { ...problem, code: "bundle.statement-form" } });

async function openStatements(
  envelopes: readonly [DsseEnvelope, DsseEnvelope],
  keys: readonly PublishedKey[],
): Promise<SignedStatements | { problem: Problem }> {
  const signers = keys.filter(({ role }) => role !== "server");
  const opened = [];
  for (const [index, envelope] of envelopes.entries()) {
    const verdict = await verifyEnvelope(envelope, signers);
    if (!verdict.ok) {
      const where = `${bundlePaths.envelopes}:${index + 1}`;
      return { problem: { ...verdict.problem, where: [where, verdict.problem.where].filter(Boolean).join(", ") } };
    }
    opened.push(verdict);
  }
  const [first, second] = opened;
  if (!first || !second || first.key.keyid !== second.key.keyid)
    return {
      problem: {
        code: "bundle.key-mismatch",
        message: "the two statements are signed by different keys",
        where: bundlePaths.envelopes,
        rule: "one key signs both statements of a bundle",
        remedy: "take the bundle again from its signer; its statements come from different bundles",
      },
    };
  const testResult = parseJson(first.body, testResultStatementSchema, `${bundlePaths.envelopes}:1`);
  if ("problem" in testResult) return statementForm(testResult.problem);
  const runResult = parseJson(second.body, runResultStatementSchema, `${bundlePaths.envelopes}:2`);
  if ("problem" in runResult) return statementForm(runResult.problem);
  return { testResult: testResult.value, runResult: runResult.value, key: first.key };
}

interface OpenedReceipt {
  statement: ReceiptStatement;
  key: PublishedKey;
}

async function openReceipt(
  receipt: DsseEnvelope,
  keys: readonly PublishedKey[],
): Promise<OpenedReceipt | { problem: Problem }> {
  const verdict = await verifyEnvelope(
    receipt,
    keys.filter(({ role }) => role === "server"),
    "receipt",
  );
  if (!verdict.ok) return { problem: verdict.problem };
  const statement = parseJson(verdict.body, receiptStatementSchema, "receipt");
  if ("problem" in statement) return { problem: { ...statement.problem, code: "receipt.form" } };
  return { statement: statement.value, key: verdict.key };
}

function receiptProblems(
  { statement, key }: OpenedReceipt,
  facts: { bundleSha256: string; sumsSha256: string; gradingId: string | undefined },
): Problem[] {
  const mismatch = (code: string, what: string, says: string | undefined, is: string): Problem => ({
    code,
    message: `the receipt is for ${what} ${says ?? "(none)"}, this is ${is}`,
    where: "receipt",
    rule: "a receipt names the grading, the archive's digest and the digest of SHA256SUMS that the server accepted",
    remedy: "take the receipt that belongs to this bundle",
  });
  const { predicate, subject } = statement;
  const problems: Problem[] = [];
  const late = keyProblemAt(key, new Date(predicate.receivedAt), "receipt");
  if (late) problems.push(late);
  if (predicate.bundleSha256 !== facts.bundleSha256)
    problems.push(mismatch("receipt.bundle-mismatch", "the archive", predicate.bundleSha256, facts.bundleSha256));
  if (facts.gradingId !== undefined && predicate.gradingId !== facts.gradingId)
    problems.push(mismatch("receipt.grading-mismatch", "the grading", predicate.gradingId, facts.gradingId));
  const sums = subject.find(({ name }) => name === bundlePaths.sums)?.digest.sha256;
  if (sums !== facts.sumsSha256)
    problems.push(mismatch("receipt.sums-mismatch", "the SHA256SUMS", sums, facts.sumsSha256));
  const archive = subject.find(({ name }) => name === `${predicate.gradingId}.infradev.tar.gz`)?.digest.sha256;
  if (archive !== predicate.bundleSha256)
    problems.push(mismatch("receipt.bundle-mismatch", "the subject", archive, predicate.bundleSha256));
  return problems;
}

/** Whether the log's record, proof and checkpoint show that this very bundle was appended where the receipt says. */
async function inclusionProblems(
  log: LogInclusion,
  receipt: ReceiptStatement["predicate"],
  keys: readonly PublishedKey[],
): Promise<{ problems: Problem[]; size: number }> {
  const refuse = (code: string, message: string): { problems: Problem[]; size: number } => ({
    problems: [
      {
        code,
        message,
        where: "log",
        rule: "the log holds a record of this bundle, at the receipt's index, under a checkpoint signed by the log's key",
        remedy: "take the inclusion proof again from the server; if it still fails, the log was rewritten",
      },
    ],
    size: 0,
  });
  let record: Uint8Array;
  try {
    record = fromBase64(log.record);
  } catch {
    return refuse("log.record-form", "the log's record is not canonical base64");
  }
  const leaf = await leafHash(record);
  const parsed = parseJson(record, logRecordSchema, "log record");
  if ("problem" in parsed) return refuse("log.record-form", parsed.problem.message);
  const stated = parsed.value;
  if (
    stated.type !== "bundle" ||
    stated.gradingId !== receipt.gradingId ||
    stated.bundleSha256 !== receipt.bundleSha256 ||
    stated.verdict !== receipt.verdict
  )
    return refuse("log.record-mismatch", "the log's record is of another bundle, grading or verdict");
  if (log.index !== receipt.log.index || toHex(leaf) !== receipt.log.leafHash)
    return refuse("log.record-mismatch", "the log's record is not the one that the receipt names");
  const servers = keys.filter(({ role }) => role === "server").map(({ spki }) => ({ spki: fromBase64(spki) }));
  const opened = await openCheckpoint(log.checkpoint, receipt.log.origin, servers);
  if ("problem" in opened) return { problems: [opened.problem], size: 0 };
  const { size, root } = opened.checkpoint;
  if (!(await verifyInclusion(log.index, size, leaf, log.proof.map(fromHex), root)))
    return refuse("log.inclusion-invalid", "the proof does not lead from the record to the checkpoint's root");
  return { problems: [], size };
}

function expectationProblems(expect: Expectation, statement: RunResultStatement, keyid: string): Problem[] {
  const { grading, task, candidate } = statement.predicate;
  const { patchSha256, ...maker } = candidate;
  const compare = (code: string, field: string, expected: unknown, actual: unknown): Problem[] =>
    expected === undefined
      ? []
      : differences(expected, actual).map((difference) => ({
          code,
          message: `says ${difference.actual}, expected ${difference.expected}`,
          where: `${bundlePaths.envelopes}#run-result.predicate.${[field, difference.path].filter(Boolean).join(".")}`,
          rule: "a bundle belongs to one grading, attempt, lease, nonce, task, patch and candidate",
          remedy: "send the bundle that was made for this grading",
        }));
  const { lease } = expect;
  return [
    ...compare("bundle.grading-mismatch", "grading.id", expect.gradingId, grading.id),
    ...compare("bundle.attempt-mismatch", "grading.attemptId", expect.attemptId, grading.attemptId),
    ...(lease && grading.lease
      ? [
          ...compare("bundle.lease-mismatch", "grading.lease.id", lease.id, grading.lease.id),
          ...compare("bundle.nonce-mismatch", "grading.lease.nonce", lease.nonce, grading.lease.nonce),
        ]
      : compare("bundle.lease-mismatch", "grading.lease", lease, grading.lease)),
    ...compare("bundle.task-mismatch", "task.suite", expect.suite?.slug, task.suite),
    ...compare("bundle.task-mismatch", "task.suiteVersion", expect.suite?.version, task.suiteVersion),
    ...compare("bundle.task-mismatch", "task.slug", expect.task, task.slug),
    ...compare("bundle.task-mismatch", "task.gradingDigest", expect.gradingDigest, task.gradingDigest),
    ...compare("bundle.patch-mismatch", "candidate.patchSha256", expect.patchSha256, patchSha256),
    ...compare("bundle.candidate-mismatch", "candidate", expect.candidate, maker),
    ...compare("bundle.key-mismatch", "runner.keyid", expect.keyid, keyid),
  ];
}

/** The evidence of one grading, wherever its bytes came from. */
export interface Evidence {
  /** Digest of the archive: computed where the archive is at hand, else as stated. */
  bundleSha256: string;
  /** `bundle.intoto.jsonl`. */
  envelopes: string;
  /** Hex sha256 of SHA256SUMS. */
  sumsSha256: string;
  /** Digests of files as computed from their bytes, by path. */
  digests: ReadonlyMap<string, string>;
  /** Bytes of the payload's documents, by path: result, manifest, run lock, host. */
  documents: ReadonlyMap<string, Uint8Array>;
  keys: readonly PublishedKey[];
  receipt?: DsseEnvelope | null | undefined;
  log?: LogInclusion | null | undefined;
  /** When the bundle was received, for the keys' windows. Without it the receipt's time counts, else now. */
  receivedAt?: Date | undefined;
  expect?: Expectation | undefined;
}

/** What the evidence says, once every check holds. */
export interface EvidenceContents {
  result: Result;
  manifest: Manifest;
  runLock: RunLock;
  host: HostFacts;
  runResult: RunResultStatement;
  testResult: TestResultStatement;
  receipt: ReceiptStatement | null;
  key: PublishedKey;
}

export interface EvidenceReport {
  checks: Check[];
  /** Null where statements or documents could not be read. */
  contents: EvidenceContents | null;
}

interface Documents {
  result: Result;
  manifest: Manifest;
  runLock: RunLock;
  host: HostFacts;
}

function readDocuments(documents: ReadonlyMap<string, Uint8Array>): { value: Documents | null; problems: Problem[] } {
  const problems: Problem[] = [];
  const read = <Schema extends z.ZodType>(path: string, schema: Schema): z.infer<Schema> | null => {
    const bytes = documents.get(path);
    if (!bytes) {
      problems.push({
        code: "bundle.missing-file",
        message: "the evidence lacks this document",
        where: path,
        rule: "every bundle has its result, manifest, replay inputs and host facts",
        remedy: "take the bundle again from its signer",
      });
      return null;
    }
    const parsed = parseJson(bytes, schema, path);
    if ("problem" in parsed) {
      problems.push(parsed.problem);
      return null;
    }
    return parsed.value;
  };
  const result = read(bundlePaths.result, resultSchema);
  const manifest = read(bundlePaths.manifest, manifestSchema);
  const runLock = read(bundlePaths.runLock, runLockSchema);
  const host = read(bundlePaths.host, hostFactsSchema);
  return { value: result && manifest && runLock && host ? { result, manifest, runLock, host } : null, problems };
}

function subjectProblems(statements: SignedStatements, evidence: Evidence): Problem[] {
  const problems: Problem[] = [];
  const patch = evidence.digests.get(bundlePaths.patch);
  for (const statement of [statements.testResult, statements.runResult]) {
    const name = statement.predicateType === predicateTypes.testResult ? "test-result" : "run-result";
    for (const [code, path, actual] of [
      ["bundle.sums-mismatch", bundlePaths.sums, evidence.sumsSha256],
      ["bundle.patch-mismatch", bundlePaths.patch, patch],
    ] as const) {
      const signed = subjectIn(statement, path);
      if (signed === actual) continue;
      problems.push({
        code,
        message: `the ${name} statement signs ${signed ?? "no digest of it"}, the file has ${actual ?? "no bytes"}`,
        where: path,
        rule: "both statements sign the digests of SHA256SUMS and of the patch",
        remedy:
          "take the bundle again from its signer; the file was changed after signing or belongs to another grading",
      });
    }
  }
  return problems;
}

/**
 * Verifies statements, documents, receipt and inclusion against each other. It runs in Node and in the browser; what
 * only an archive can show (its form, files that nobody lists) is added by node/verify-bundle.
 */
export async function verifyEvidence(evidence: Evidence): Promise<EvidenceReport> {
  const checks: Check[] = [];
  const badKeys = await checkPublishedKeys(evidence.keys);
  if (badKeys) {
    checks.push(checkOf("keys", "The list of keys is sound", "", [badKeys]));
    return { checks, contents: null };
  }
  const parsed = parseEnvelopes(evidence.envelopes);
  checks.push(
    checkOf(
      "envelopes",
      "Two signed statements, spelled canonically",
      "both lines equal their own re-serialization",
      "problem" in parsed ? [parsed.problem] : [],
    ),
  );
  if ("problem" in parsed) return { checks, contents: null };

  const statements = await openStatements(parsed.envelopes, evidence.keys);
  const label = "Both statements are signed by a known key";
  if ("problem" in statements) {
    checks.push(checkOf("signature", label, "", [statements.problem]));
    return { checks, contents: null };
  }
  const { key, runResult, testResult } = statements;
  checks.push(checkOf("signature", label, `Ed25519 by ${key.role} key ${key.keyid} of ${key.owner}`, []));

  const receipt = evidence.receipt ? await openReceipt(evidence.receipt, evidence.keys) : null;
  const receivedAt =
    evidence.receivedAt ??
    (receipt && !("problem" in receipt) ? new Date(receipt.statement.predicate.receivedAt) : new Date());
  const timeSource = evidence.receivedAt
    ? "the given time of receipt"
    : receipt && !("problem" in receipt)
      ? "the receipt's time"
      : "now, for want of a receipt";
  const late = keyProblemAt(key, receivedAt);
  checks.push(
    checkOf("key-window", "The key was in force", `at ${receivedAt.toISOString()} (${timeSource})`, late ? [late] : []),
  );
  checks.push(
    checkOf(
      "subjects",
      "The signed digests of SHA256SUMS and of the patch are those of the files",
      `SHA256SUMS ${evidence.sumsSha256}`,
      subjectProblems(statements, evidence),
    ),
  );

  const documents = readDocuments(evidence.documents);
  checks.push(
    checkOf(
      "documents",
      "The documents fit their schemas",
      "result, manifest, replay inputs, host",
      documents.problems,
    ),
  );
  const { value } = documents;
  if (value) checks.push(...documentChecks(value, statements, evidence));
  if (evidence.expect)
    checks.push(
      checkOf(
        "expected",
        "The bundle is the one that was asked for",
        `compared: ${Object.entries(evidence.expect)
          .flatMap(([name, value]) => (value === undefined ? [] : [name]))
          .join(", ")}`,
        expectationProblems(evidence.expect, runResult, key.keyid),
      ),
    );
  if (receipt) checks.push(...(await receiptChecks(receipt, runResult, evidence)));
  return {
    checks,
    contents: value
      ? {
          ...value,
          runResult,
          testResult,
          receipt: receipt && !("problem" in receipt) ? receipt.statement : null,
          key,
        }
      : null,
  };
}

function documentChecks(value: Documents, statements: SignedStatements, evidence: Evidence): Check[] {
  const { result, manifest, runLock, host } = value;
  const digest = (path: string) => evidence.digests.get(path) ?? "";
  const { predicate } = statements.runResult;
  const facts = {
    sumsSha256: evidence.sumsSha256,
    patchSha256: digest(bundlePaths.patch),
    manifestSha256: digest(bundlePaths.manifest),
    runLockSha256: digest(bundlePaths.runLock),
    ...value,
  };
  const { patchSha256: _patch, ...candidate } = predicate.candidate;
  const stated = {
    attemptId: predicate.grading.attemptId,
    lease: predicate.grading.lease,
    candidate,
    keyid: statements.key.keyid,
  };
  const vendorLease: Problem[] =
    statements.key.role === "vendor" && predicate.grading.lease !== null
      ? [
          {
            code: "bundle.lease-role",
            message: "a vendor's key signed a leased grading",
            where: `${bundlePaths.envelopes}#run-result.predicate.grading.lease`,
            rule: "leases are given to hosts; what a vendor signs has neither lease nor nonce",
            remedy: "upload self-made bundles without a lease",
          },
        ]
      : [];
  const found = checkResult(result, manifest);
  const arithmetic = found.filter(({ code }) => code === "result.arithmetic");
  const { requiredPassed, requiredTotal, resolved } = result.summary;
  return [
    checkOf(
      "completeness",
      "The result covers the manifest: every test, every rank, merged by the rules",
      `${manifest.tests.length} tests, ${result.launches.length} launches; ${host.gpus.length} GPUs`,
      [
        ...found.filter(({ code }) => code !== "result.arithmetic"),
        ...checkRunLock(runLock, manifest, facts.patchSha256),
      ],
    ),
    checkOf(
      "arithmetic",
      "The summary is what the tests add up to",
      `${requiredPassed} of ${requiredTotal} required tests passed, ${resolved ? "resolved" : "not resolved"} (${result.status})`,
      arithmetic,
    ),
    checkOf(
      "statements",
      "Both statements say exactly what the payload yields",
      `grading ${result.gradingId}, ${manifest.suite.slug} ${manifest.suite.version}, ${manifest.task.slug}`,
      [
        ...compareStatement(buildTestResultStatement(facts), statements.testResult),
        ...compareStatement(buildRunResultStatement(facts, stated), statements.runResult),
        ...vendorLease,
      ],
    ),
  ];
}

async function receiptChecks(
  receipt: OpenedReceipt | { problem: Problem },
  runResult: RunResultStatement,
  evidence: Evidence,
): Promise<Check[]> {
  const label = "The server's signed receipt is for this bundle";
  if ("problem" in receipt) return [checkOf("receipt", label, "", [receipt.problem])];
  const { predicate } = receipt.statement;
  const checks = [
    checkOf(
      "receipt",
      label,
      `received ${predicate.receivedAt}, ${predicate.verdict}, log index ${predicate.log.index}`,
      receiptProblems(receipt, {
        bundleSha256: evidence.bundleSha256,
        sumsSha256: evidence.sumsSha256,
        gradingId: runResult.predicate.grading.id,
      }),
    ),
  ];
  if (evidence.log) {
    const { problems, size } = await inclusionProblems(evidence.log, predicate, evidence.keys);
    checks.push(
      checkOf(
        "inclusion",
        "The log includes this bundle under a signed checkpoint",
        `record ${evidence.log.index} of ${size}`,
        problems,
      ),
    );
  }
  return checks;
}
