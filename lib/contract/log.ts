import { z } from "zod";
import { instantSchema, sha256Schema, uuidSchema } from "./scalars";

/** A record is at most this long: entry tiles carry its length in 16 bits. */
export const logRecordMaxBytes = 65_535;

/**
 * Records of the append-only log. A leaf is SHA-256(0x00 || the record's bytes), the bytes being the JSON text that
 * was appended; nobody re-serializes a record. What is private or embargoed is named by salted digests only.
 */
export const logRecordSchema = z.discriminatedUnion("type", [
  z.object({
    format: z.literal("infradev-log/1"),
    type: z.literal("bundle"),
    at: instantSchema,
    gradingId: uuidSchema,
    bundleSha256: sha256Schema,
    verdict: z.enum(["accepted", "late"]),
  }),
  z.object({
    format: z.literal("infradev-log/1"),
    type: z.enum(["regrade", "invalidation", "withdrawal", "publication"]),
    at: instantSchema,
    /** What the event is about: a grading's or submission's id, or a salted digest of it. */
    subject: z.string().max(200),
    reason: z.string().max(2000),
  }),
  z.object({
    format: z.literal("infradev-log/1"),
    type: z.enum(["key-registered", "key-trusted", "key-rotated", "key-revoked"]),
    at: instantSchema,
    keyid: sha256Schema,
    reason: z.string().max(2000).nullable(),
    compromisedSince: instantSchema.nullable(),
  }),
]);
export type LogRecord = z.infer<typeof logRecordSchema>;
