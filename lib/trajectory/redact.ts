import { closeReader, type ReadEnd, type ReadStep } from "./read-trajectory";

/** Each takes time in proportion to the text, whatever stands in it: texts are long, and strangers'. */
const tokenPatterns = [
  /\bgh[pousr]_[A-Za-z0-9]{30,}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}\b/g,
  /\bglpat-[A-Za-z0-9_-]{20,}\b/g,
  /\bsk-[A-Za-z0-9_-]{20,}\b/g,
  /\bhf_[A-Za-z0-9]{30,}\b/g,
  /\bnpm_[A-Za-z0-9]{36}\b/g,
  /\bpypi-[A-Za-z0-9_-]{30,}\b/g,
  /\birt_[A-Za-z0-9_-]{20,}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}\b/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}\b/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\b/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----))*?-----END [A-Z ]*PRIVATE KEY-----/g,
];

/** What stands where secrets stand, whatever its form: the part before it stays. */
const placedPatterns = [
  /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token)\s{1,4})[^\s"'\\]{8,}/gi,
  /(\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{20,}/gi,
  /(:\/\/[^\s:@/"']{1,100}:)[^\s:@/"'$]{3,200}(?=@)/g,
  /((?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)=["']?)(?![\w.]{1,40}[([]|\$)[A-Za-z0-9+/=_.:@!%~-]{8,}/g,
];

/** A text without what looks like a token, a password or a private key, by its form or by where it stands. */
export function redactTokens(text: string): string {
  let result = text;
  for (const pattern of tokenPatterns) result = result.replace(pattern, "[redacted: token]");
  for (const pattern of placedPatterns)
    result = result.replace(pattern, (whole, before: string) =>
      whole.startsWith("[redacted", before.length) ? whole : `${before}[redacted: token]`,
    );
  return result;
}

/** Values of the format that name a thing or choose among words; everything else may be text. */
const plainKeys = new Set(["schema_version", "source", "type", "timestamp", "tool_call_id", "source_call_id"]);
/** What agents and tools put in by keys of their own. */
const foreignKeys = new Set(["arguments", "extra"]);

/** A document's copy whose texts went through `redact`, at any depth. Keys stay. */
export function redactDocument(document: unknown, redact: (text: string) => string): unknown {
  const copy = (value: unknown, key: string, foreign: boolean): unknown => {
    if (typeof value === "string") return plainKeys.has(key) && !foreign ? value : redact(value);
    if (Array.isArray(value)) return value.map((entry) => copy(entry, key, foreign));
    if (typeof value !== "object" || value === null) return value;
    const within = foreign || foreignKeys.has(key);
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, copy(entry, name, within)]));
  };
  return copy(document, "", false);
}

/** A trajectory's text again, one step a line, with every text redacted. Returns what the trajectory says of its run. */
export async function* redactedTrajectory(
  steps: AsyncGenerator<ReadStep, ReadEnd>,
  redact: (text: string) => string,
): AsyncGenerator<string, ReadEnd> {
  let separator = '{"steps":[\n';
  try {
    for (;;) {
      const next = await steps.next();
      if (next.done) {
        const root = JSON.stringify(redactDocument(next.value.root, redact));
        yield `\n],\n${root.slice(1)}\n`;
        return next.value;
      }
      yield `${separator}${JSON.stringify(redactDocument(next.value.raw, redact))}`;
      separator = ",\n";
    }
  } finally {
    await closeReader(steps);
  }
}
