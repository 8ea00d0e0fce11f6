import { z } from "zod";
import { dsseEnvelopeSchema } from "./bundle";
import { base64Schema, sha256Schema, uuidSchema } from "./scalars";
import { tiers } from "./vocabulary";

/**
 * Self-made bundles (`runner grade`, vendors) under /api/v1/uploads: no lease stands behind them, so they reach tier
 * `signed` only. POST announces, PATCH `/api/v1/uploads/<id>` with `Upload-Offset` appends, POST
 * `/api/v1/uploads/<id>/finish` verifies and records. Each step may be repeated.
 */
export const uploadAnnounceSchema = z.object({
  sha256: sha256Schema,
  bytes: z.int().positive(),
  /** A registered vendor key. */
  keyid: sha256Schema,
  /** Ed25519 by that key over the UTF-8 text of `uploadAnnouncementText`. */
  signature: base64Schema,
});
export type UploadAnnounce = z.infer<typeof uploadAnnounceSchema>;

/** What the announcing key signs: `infradev-upload/1 <bundle sha256> <bytes>`. */
export function uploadAnnouncementText(announcement: { sha256: string; bytes: number }): string {
  return `infradev-upload/1 ${announcement.sha256} ${announcement.bytes}`;
}

export const uploadAnnounceResponseSchema = z.object({ id: uuidSchema, offset: z.int(), complete: z.boolean() });

export const uploadFinishResponseSchema = z.object({
  verdict: z.literal("accepted"),
  gradingId: uuidSchema,
  submissionId: uuidSchema,
  tier: z.enum(tiers),
  receipt: dsseEnvelopeSchema,
});
export type UploadFinishResponse = z.infer<typeof uploadFinishResponseSchema>;
