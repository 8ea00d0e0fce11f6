import type { FailureDetail } from "../contract/result";
import type { OutcomeStatus } from "../contract/vocabulary";
import { type FailureFacts, tellingLine, unwrapFailure } from "./unwrap";

/** In this order: each takes away something that differs from run to run. */
const folds: readonly [RegExp, string][] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b0x[0-9a-f]+\b/gi, "<address>"],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\[(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\](?::\d+)?/gi, "<host>"],
  [/\b(?=[a-f\d]*\d)(?=[a-f\d]*[a-f])[0-9a-f]{8,64}\b/gi, "<hex>"],
  [/(?:\/[\w.@+-]+){2,}\/?|(?:[\w.@+-]{1,80}\/){1,20}[\w.@+-]{1,80}\.\w{1,8}\b/g, "<path>"],
  [/\b\d+:\d\d:\d\d(?:\.\d+)?\b/g, "<duration>"],
  [
    /[-+]?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?\s?(?:ns|us|µs|ms|s|sec(?:onds?)?|min(?:utes?)?|milliseconds?|hours?)\b/gi,
    "<duration>",
  ],
  [/\brank[ _-]?\d+\b/gi, "rank #"],
  [/[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?/gi, "#"],
  // Lists of ranks, of sizes and of values, whatever their length.
  [/#(?:\.?,? #\.?)+/g, "#"],
  [/\s+/g, " "],
];

/**
 * A message without what differs from run to run: numbers and lists of them, ranks, durations, addresses, hosts, digests,
 * uuids, paths, white space. Its first line that says something only.
 */
export function foldMessage(message: string): string {
  return folds.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), tellingLine(message)).trim();
}

/**
 * What failures of one cluster have in common: status, exception, folded message, and the project's own frames by file
 * and function; where no frame is the project's, the place in the tests that asserted. What only carried the failure
 * is taken away first. Line numbers are left out, so that an edit elsewhere in a file does not split a cluster. Its
 * sha256 is the signature that is stored.
 */
export function signatureText(
  status: OutcomeStatus,
  failure: (Pick<FailureDetail, "exceptionType" | "message" | "frames"> & Partial<FailureFacts>) | null,
): string {
  const inner = failure && unwrapFailure({ mro: [], activeCheck: null, ...failure });
  const frames = inner?.frames ?? [];
  const project = frames.filter((frame) => frame.origin === "project");
  const asserted = frames.filter((frame) => frame.origin === "test" || frame.origin === "probe").slice(-1);
  const places = project.length > 0 ? project : asserted;
  return JSON.stringify([
    status,
    inner?.exceptionType ?? null,
    foldMessage(inner?.message ?? ""),
    places.map((frame) => `${frame.file}:${frame.function}`),
  ]);
}
