import type { FailureDetail } from "../contract/result";
import type { OutcomeStatus } from "../contract/vocabulary";

const messageLength = 400;

/** A message without what differs from run to run: numbers, addresses, digests, paths, white space. First line only. */
export function foldMessage(message: string): string {
  const [line = ""] = message.trim().split("\n", 1);
  return line
    .slice(0, messageLength)
    .replaceAll(/\b0x[0-9a-f]+\b/gi, "0x#")
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>")
    .replaceAll(/\b[0-9a-f]{16,}\b/gi, "<hex>")
    .replaceAll(/(?:\/[\w.@+-]+){2,}/g, "<path>")
    .replaceAll(/[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi, "#")
    .replaceAll(/\s+/g, " ");
}

/**
 * What failures of one cluster have in common: status, exception, folded message, and the project's own frames by file
 * and function. Line numbers are left out, so that an edit elsewhere in a file does not split a cluster. Its sha256 is
 * the signature that is stored.
 */
export function signatureText(
  status: OutcomeStatus,
  failure: Pick<FailureDetail, "exceptionType" | "message" | "frames"> | null,
): string {
  const frames = (failure?.frames ?? []).filter((frame) => frame.origin === "project");
  return JSON.stringify([
    status,
    failure?.exceptionType ?? null,
    foldMessage(failure?.message ?? ""),
    frames.map((frame) => `${frame.file}:${frame.function}`),
  ]);
}
