import { createHash } from "node:crypto";
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
 * Digest (hex sha256) by which failures cluster: status, exception, folded message, and the project's own frames by file
 * and function. Line numbers are left out, so that an edit elsewhere in a file does not split a cluster.
 */
export function failureSignature(
  status: OutcomeStatus,
  failure: Pick<FailureDetail, "exceptionType" | "message" | "frames"> | null,
): string {
  const frames = (failure?.frames ?? []).filter((frame) => frame.origin === "project");
  const parts = [
    status,
    failure?.exceptionType ?? null,
    foldMessage(failure?.message ?? ""),
    frames.map((frame) => `${frame.file}:${frame.function}`),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
