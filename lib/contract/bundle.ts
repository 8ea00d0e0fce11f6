import { z } from "zod";
import {
  base64Schema,
  displayNameSchema,
  instantSchema,
  int32Max,
  printableSchema,
  sha256Schema,
  slugSchema,
  suiteVersionSchema,
  uuidSchema,
} from "./scalars";
import { executors, gradingStatuses, networkPolicies, promptConditions } from "./vocabulary";

/** Names inside `<grading-id>.infradev.tar.gz`. */
export const bundlePaths = {
  payload: "payload/",
  result: "payload/result.json",
  manifest: "payload/manifest.json",
  runLock: "payload/run.lock.json",
  patch: "payload/patch.diff",
  host: "payload/host.json",
  ctrf: "payload/tests.ctrf.json",
  guard: "payload/guard.json",
  trajectory: "payload/agent/trajectory.json",
  sums: "SHA256SUMS",
  envelopes: "bundle.intoto.jsonl",
  sealed: "sealed.tar.gz",
} as const;

/** Payload files that every bundle has. */
export const requiredPayloadPaths = [
  bundlePaths.result,
  bundlePaths.manifest,
  bundlePaths.runLock,
  bundlePaths.patch,
  bundlePaths.host,
  bundlePaths.ctrf,
  bundlePaths.guard,
] as const;

/** Refused beyond these while streaming. */
export const bundleLimits = {
  packedBytes: 512 * 1024 * 1024,
  unpackedBytes: 1024 * 1024 * 1024,
  entries: 10_000,
  pathBytes: 512,
  /** Unpacked to packed; gzip's own ceiling is about 1032. */
  ratio: 200,
  /** Documents that are parsed whole (result.json, manifest.json, ...). */
  documentBytes: 32 * 1024 * 1024,
} as const;

export const dssePayloadType = "application/vnd.in-toto+json";

export const dsseEnvelopeSchema = z.strictObject({
  payload: base64Schema,
  payloadType: z.literal(dssePayloadType),
  signatures: z
    .array(z.strictObject({ keyid: sha256Schema, sig: base64Schema }))
    .min(1)
    .max(4),
});
export type DsseEnvelope = z.infer<typeof dsseEnvelopeSchema>;

const subjectSchema = z.object({ name: z.string(), digest: z.object({ sha256: sha256Schema }) });

export const predicateTypes = {
  testResult: "https://in-toto.io/attestation/test-result/v0.1",
  runResult: "https://infradev.dev/attestation/run-result/v1",
  receipt: "https://infradev.dev/attestation/receipt/v1",
} as const;

const statementOf = <T extends string, P extends z.ZodType>(predicateType: T, predicate: P) =>
  z.object({
    _type: z.literal("https://in-toto.io/Statement/v1"),
    subject: z.array(subjectSchema).min(1),
    predicateType: z.literal(predicateType),
    predicate,
  });

export const testResultStatementSchema = statementOf(
  predicateTypes.testResult,
  z.object({
    result: z.enum(["PASSED", "WARNED", "FAILED"]),
    configuration: z
      .array(z.object({ name: z.string(), uri: z.string().optional(), digest: z.object({ sha256: sha256Schema }) }))
      .min(1),
    passedTests: z.array(z.string()),
    warnedTests: z.array(z.string()),
    failedTests: z.array(z.string()),
  }),
);
export type TestResultStatement = z.infer<typeof testResultStatementSchema>;

/** Who made the patch: what an entry is, as far as the runner was told. */
export const candidateSchema = z.object({
  /** `reference` for gold, nop and mutants. */
  kind: z.enum(["model", "reference"]),
  /** Display name of the model, or of the reference set. */
  model: displayNameSchema,
  agent: displayNameSchema.nullable(),
  agentVersion: printableSchema(80).nullable(),
  reasoningEffort: printableSchema(40).nullable(),
  promptCondition: z.enum(promptConditions),
  promptDigest: sha256Schema.nullable(),
  skill: z.object({ name: displayNameSchema, digest: sha256Schema }).nullable(),
  networkPolicy: z.enum(networkPolicies),
  budget: z.object({
    timeMin: z.number().nullable(),
    costUsd: z.number().nullable(),
    tokensM: z.number().nullable(),
    steps: z.int().nonnegative().max(int32Max).nullable(),
  }),
});
export type Candidate = z.infer<typeof candidateSchema>;

export const runResultPredicateSchema = z.object({
  grading: z.object({
    id: uuidSchema,
    attemptId: uuidSchema.nullable(),
    /** Present in leased gradings only. */
    lease: z.object({ id: uuidSchema, nonce: z.string().min(32).max(128) }).nullable(),
  }),
  task: z.object({
    suite: slugSchema,
    suiteVersion: suiteVersionSchema,
    slug: slugSchema,
    gradingDigest: sha256Schema,
    repo: z.string(),
    baseCommit: z.string().nullable(),
    baseTree: z.string(),
  }),
  candidate: candidateSchema.extend({ patchSha256: sha256Schema }),
  environment: z.object({
    executor: z.enum(executors),
    sandboxed: z.boolean(),
    digests: z.array(z.string()),
    gpus: z.array(z.string()),
    driver: z.string().nullable(),
    cuda: z.string().nullable(),
    networkPolicy: z.literal("none"),
  }),
  outcome: z.object({
    status: z.enum(gradingStatuses),
    requiredTotal: z.int(),
    requiredPassed: z.int(),
    resolved: z.boolean(),
    officialResolved: z.boolean(),
  }),
  times: z.object({ startedAt: instantSchema, finishedAt: instantSchema }),
  runner: z.object({ version: z.string(), keyid: sha256Schema }),
});
export const runResultStatementSchema = statementOf(predicateTypes.runResult, runResultPredicateSchema);
export type RunResultStatement = z.infer<typeof runResultStatementSchema>;

/** What the server states about a bundle that it accepted; signed by the server's key. */
export const receiptStatementSchema = statementOf(
  predicateTypes.receipt,
  z.object({
    gradingId: uuidSchema,
    bundleSha256: sha256Schema,
    receivedAt: instantSchema,
    policy: z.string(),
    verdict: z.enum(["accepted", "late"]),
    log: z.object({ origin: z.string(), index: z.int().nonnegative(), leafHash: sha256Schema }),
  }),
);
export type ReceiptStatement = z.infer<typeof receiptStatementSchema>;

/** `/.well-known/infradev-keys.json`: every public key, retired ones too. */
export const publishedKeySchema = z.object({
  keyid: sha256Schema,
  role: z.enum(["runner", "vendor", "server"]),
  owner: z.string(),
  /** SubjectPublicKeyInfo, DER, base64. */
  spki: base64Schema,
  validFrom: instantSchema,
  validUntil: instantSchema.nullable(),
  revokedAt: instantSchema.nullable(),
  /** Signatures received at or after this time do not count. */
  compromisedSince: instantSchema.nullable(),
});
export type PublishedKey = z.infer<typeof publishedKeySchema>;
export const publishedKeysSchema = z.object({
  format: z.literal("infradev-keys/1"),
  keys: z.array(publishedKeySchema),
});
