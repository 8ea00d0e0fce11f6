import { z } from "zod";
import { dsseEnvelopeSchema, publishedKeysSchema } from "./bundle";
import { summarySchema } from "./result";
import { base64Schema, relativePathSchema, sha256Schema, slugSchema, uuidSchema } from "./scalars";
import { testIdSchema } from "./task";
import { gradingStatuses, outcomeStatuses } from "./vocabulary";

/** The figures of one grading as a page displays them: what the Verify button compares with the evidence. */
const shownFiguresSchema = z.object({
  status: z.enum(gradingStatuses),
  summary: summarySchema,
  tests: z.array(z.object({ id: testIdSchema, status: z.enum(outcomeStatuses) })),
});
export type ShownFigures = z.infer<typeof shownFiguresSchema>;

/** Where a bundle stands in the log. `proof` leads from the leaf to the checkpoint's root (RFC 6962, 2.1.1). */
const logInclusionSchema = z.object({
  index: z.int().nonnegative(),
  /** The record's bytes as appended. */
  record: base64Schema,
  /** Sibling hashes, hex, from the leaf upwards. */
  proof: z.array(sha256Schema).max(64),
  /** C2SP checkpoint (signed note) whose tree the proof is for. */
  checkpoint: z.string().max(10_000),
});
export type LogInclusion = z.infer<typeof logInclusionSchema>;

/** `GET /api/v1/gradings/<id>/evidence`. */
export const evidenceResponseSchema = z.object({
  gradingId: uuidSchema,
  suite: z.object({ slug: slugSchema, version: z.string() }),
  task: slugSchema,
  bundle: z.object({ sha256: sha256Schema, bytes: z.int().positive(), url: z.string() }),
  /** `bundle.intoto.jsonl`, byte for byte. */
  envelopes: z.string(),
  /** `SHA256SUMS`, byte for byte. */
  sums: z.string(),
  /** Path in the bundle (`payload/result.json`) -> URL of its bytes, for each payload file that the server gives out. */
  files: z.record(relativePathSchema, z.string()),
  receipt: dsseEnvelopeSchema.nullable(),
  log: logInclusionSchema.nullable(),
  keys: publishedKeysSchema,
  shown: shownFiguresSchema,
});
export type EvidenceResponse = z.infer<typeof evidenceResponseSchema>;
