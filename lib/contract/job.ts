import { z } from "zod";
import { candidateSchema, dsseEnvelopeSchema } from "./bundle";
import { hostFactsSchema } from "./result";
import { base64Schema, displayNameSchema, instantSchema, sha256Schema, slugSchema, uuidSchema } from "./scalars";
import { gradingStatuses, jobStates } from "./vocabulary";

/**
 * The runner's protocol under /api/runner/v1. Every request but `register` carries `Authorization: Bearer <credential>`.
 * register -> claim (long poll) -> renew at once, then every ~30 s -> logs -> bundle (resumable by offset) -> finish.
 */
export const protocol = {
  leaseSeconds: 120,
  /** A lease that expired is lost this long after its expiry. */
  graceSeconds: 300,
  renewSeconds: 30,
  claimWaitSeconds: 25,
  logChunkBytes: 1024 * 1024,
  uploadChunkBytes: 4 * 1024 * 1024,
  infraRetries: 2,
  infraRetryDelaysSeconds: [60, 300],
} as const;

export const registerRequestSchema = z.object({
  /** One-time token, valid for one hour. */
  token: z.string().min(20).max(200),
  name: displayNameSchema,
  spki: base64Schema,
  /** Ed25519 signature over the token's UTF-8 bytes by the key being registered: proof of possession. */
  proof: base64Schema,
  runnerVersion: z.string(),
  host: hostFactsSchema,
});
export type RegisterRequest = z.infer<typeof registerRequestSchema>;
export const registerResponseSchema = z.object({
  hostId: uuidSchema,
  keyid: sha256Schema,
  credential: z.string(),
  server: z.object({ name: z.string(), keyid: sha256Schema, spki: base64Schema }),
});
export type RegisterResponse = z.infer<typeof registerResponseSchema>;

export const claimRequestSchema = z.object({
  waitSeconds: z.int().min(0).max(30),
  runnerVersion: z.string(),
  freeGpuUuids: z.array(z.string()),
  /** Ranks that this host can serve without GPUs. */
  cpuRanks: z.int().min(0),
  sandboxed: z.boolean(),
  /** Grading digests of the tasks that this host has; a job is offered only for one of these. */
  gradingDigests: z.array(sha256Schema).max(5000),
});
export type ClaimRequest = z.infer<typeof claimRequestSchema>;

/** Signed by the server as a DSSE envelope (payloadType `application/vnd.infradev.job+json`), so that a runner executes nothing that its server did not ask for. */
export const jobSpecSchema = z.object({
  format: z.literal("infradev-job/1"),
  jobId: uuidSchema,
  gradingId: uuidSchema,
  attemptId: uuidSchema,
  submissionId: uuidSchema,
  lease: z.object({ id: uuidSchema, nonce: z.string(), expiresAt: instantSchema }),
  suite: z.object({ slug: slugSchema, version: z.string() }),
  task: z.object({ slug: slugSchema, gradingDigest: sha256Schema, gpus: z.int(), ranks: z.int() }),
  patch: z.object({ sha256: sha256Schema, bytes: z.int() }),
  candidate: candidateSchema,
});
export type JobSpec = z.infer<typeof jobSpecSchema>;
export const jobPayloadType = "application/vnd.infradev.job+json";
export const claimResponseSchema = z.object({
  job: dsseEnvelopeSchema.extend({ payloadType: z.literal(jobPayloadType) }),
});

export const renewRequestSchema = z.object({ state: z.enum(jobStates), progress: z.string().max(300).nullable() });
export const renewResponseSchema = z.object({
  leaseExpiresAt: instantSchema,
  cancel: z.boolean(),
  logIntervalSeconds: z.number(),
});
export type RenewResponse = z.infer<typeof renewResponseSchema>;

/** POST .../logs?offset=N, body gzip; idempotent: bytes before the server's offset are ignored. */
export const logsResponseSchema = z.object({ offset: z.int(), cancel: z.boolean(), logIntervalSeconds: z.number() });

/** POST .../bundle announces; PATCH .../bundle with `Upload-Offset` appends; both answer with the offset reached. */
export const bundleAnnounceSchema = z.object({ sha256: sha256Schema, bytes: z.int().positive() });
export const bundleOffsetResponseSchema = z.object({ offset: z.int(), complete: z.boolean() });

export const finishRequestSchema = z.object({
  status: z.enum(gradingStatuses),
  /** Null only where no bundle could be made (infra or cancel before anything ran). */
  bundleSha256: sha256Schema.nullable(),
  /** Ed25519 by the runner's key over the UTF-8 text `<lease id> <status> <bundle sha256 or ->`. */
  signature: base64Schema,
  reason: z.string().max(2000).nullable(),
});
export type FinishRequest = z.infer<typeof finishRequestSchema>;
export const finishResponseSchema = z.object({
  verdict: z.enum(["accepted", "late", "requeued", "recorded"]),
  gradingId: uuidSchema,
  receipt: dsseEnvelopeSchema.nullable(),
});
export type FinishResponse = z.infer<typeof finishResponseSchema>;
