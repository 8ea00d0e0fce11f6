import "server-only";
import { type DsseEnvelope, dsseEnvelopeSchema } from "@/lib/contract/bundle";

/** A receipt as the database keeps it. */
export function receiptOf(text: string | null): DsseEnvelope | null {
  return text === null ? null : dsseEnvelopeSchema.parse(JSON.parse(text));
}
