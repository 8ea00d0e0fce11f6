import type { FailureDetail } from "@/lib/contract/result";
import type { EvidenceKind, OutcomeStatus } from "@/lib/contract/vocabulary";
import { isCommunicationFailure } from "@/lib/taxonomy/classify";
import type { ControlEvent } from "../executors/executor";
import { excerptOf, readFlightRecording } from "./flight-recorder";

type EvidencePart = Extract<ControlEvent, { event: "evidence" }>;
type Evidence = NonNullable<FailureDetail["evidence"]>[number];

/** A file of the payload below `ranks/launch-<n>/rank-<n>/`, as text. */
export type EvidenceFile = { rank: number; kind: EvidenceKind; name: string; text: string; excerpt: string };

const maxExcerpt = 4000;
const maxFiles = 64;

/** Gathers what the launcher hands over of the ranks' private folders; what comes later replaces what came before. */
export class EvidenceParts {
  private readonly parts = new Map<string, { event: EvidencePart; chunks: Buffer[] }>();

  take(event: EvidencePart): void {
    const key = `${event.rank}/${event.name}`;
    const known = this.parts.get(key);
    if (event.part === 0 || known === undefined) {
      if (known === undefined && this.parts.size >= maxFiles * 4) return;
      this.parts.set(key, { event, chunks: [Buffer.from(event.data, "base64")] });
    } else {
      known.chunks.push(Buffer.from(event.data, "base64"));
    }
  }

  files(): EvidenceFile[] {
    return [...this.parts.values()].flatMap(({ event, chunks }) => {
      const content = Buffer.concat(chunks);
      const read = readers[event.name];
      return read === undefined ? [] : [{ rank: event.rank, ...read(content, event.bytes) }];
    });
  }
}

type ReadFile = Omit<EvidenceFile, "rank">;

const readers: Record<string, ((content: Buffer, bytes: number) => ReadFile) | undefined> = {
  "error.json": (content) => {
    const text = content.toString("utf8");
    return { kind: "torch-error-file", name: "error.json", text, excerpt: errorExcerpt(text) };
  },
  "nccl.log": (content) => {
    const text = content.toString("utf8");
    const warnings = text.split("\n").filter((line) => / WARN /.test(line));
    return { kind: "nccl-log", name: "nccl.log", text, excerpt: warnings.slice(-20).join("\n") };
  },
  "flight-recorder": (content, bytes) => {
    const name = "flight-recorder.json";
    try {
      const recording = readFlightRecording(content);
      const text = `${JSON.stringify(recording, null, 1)}\n`;
      return { kind: "flight-recorder", name, text, excerpt: excerptOf(recording) };
    } catch (error) {
      const why = error instanceof Error ? error.message : "unknown";
      const note = `a dump of ${bytes} bytes that was not read: ${content.length === 0 ? "too large" : why}`;
      return { kind: "flight-recorder", name, text: `${JSON.stringify({ unread: note })}\n`, excerpt: note };
    }
  },
};

/** Message and last frames of torch's error file (`{"message": {"message", "extraInfo": {"py_callstack"}}}`). */
function errorExcerpt(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") return message;
    const { message: short, extraInfo } = (message ?? {}) as {
      message?: unknown;
      extraInfo?: { py_callstack?: unknown };
    };
    const stack = typeof extraInfo?.py_callstack === "string" ? extraInfo.py_callstack.trimEnd().split("\n") : [];
    return [typeof short === "string" ? short : "", ...stack.slice(-12)].join("\n").trim();
  } catch {
    return text.slice(0, 400);
  }
}

/** One rank's outcome of a test, as far as evidence is given to it. */
export type Judged = { rank: number; status: OutcomeStatus; failure: FailureDetail | null; failedAt: number | null };

const lastName = (qualified: string | null): string => (qualified ?? "").split(".").at(-1) ?? "";
const waited = ({ status, failure }: Judged): boolean =>
  status === "hung" || status === "crashed" || (failure !== null && isCommunicationFailure(failure));

/**
 * Puts evidence beside the failures that it explains: an error file beside the failure with its exception, else the
 * rank's last; a recording and NCCL's warnings beside the last failure in which the rank waited or died; a dump of
 * stacks beside what hung or crashed. Changes the failures in place.
 */
export function attachEvidence(
  index: number,
  judged: readonly Judged[],
  files: readonly EvidenceFile[],
  stderrOf: (rank: number) => string,
): void {
  const failed = judged
    .filter(({ failure, status }) => failure !== null && status !== "skipped")
    .sort((a, b) => (a.failedAt ?? 0) - (b.failedAt ?? 0));
  const add = (target: Judged | undefined, kind: EvidenceKind, name: string, excerpt: string): void => {
    if (target?.failure == null) return;
    const evidence: Evidence = { kind, file: `ranks/launch-${index}/${name}`, excerpt: excerpt.slice(0, maxExcerpt) };
    target.failure.evidence = [...(target.failure.evidence ?? []), evidence];
  };
  for (const { rank, kind, name, excerpt } of files) {
    const own = failed.filter((entry) => entry.rank === rank);
    const path = `rank-${rank}/${name}`;
    if (kind === "torch-error-file") {
      const named = excerpt.split(":", 1)[0] ?? "";
      const same = own.filter(({ failure }) => lastName(failure?.exceptionType ?? null) === named);
      add(same.at(-1) ?? own.at(-1), kind, path, excerpt);
    } else if (kind === "flight-recorder" || excerpt !== "") {
      add(own.filter(waited).at(-1), kind, path, excerpt);
    }
  }
  for (const entry of failed) {
    if (entry.status !== "hung" && entry.status !== "crashed") continue;
    const stacks = stackDump(stderrOf(entry.rank));
    if (stacks !== "") add(entry, "stack-dump", `rank-${entry.rank}.stderr.log`, stacks);
  }
}

/** The last dump of all threads' stacks in what a rank printed. */
function stackDump(stderr: string): string {
  const lines = stderr.split("\n");
  const header = /^(?:Fatal Python error: |(?:Current thread|Thread) 0x[0-9a-f]+)/;
  const first = lines.findIndex((line) => header.test(line));
  return first < 0 ? "" : lines.slice(first).join("\n").trim();
}

/** What a C++ runtime printed when it ended the process: torch's watchdog says there which collective did not end. */
export function terminateMessage(stderr: string): string | null {
  const at = stderr.lastIndexOf("terminate called after throwing an instance of");
  const watchdog = stderr.lastIndexOf("Watchdog caught collective operation timeout");
  const from = at >= 0 ? at : watchdog >= 0 ? stderr.lastIndexOf("\n", watchdog) + 1 : -1;
  return from < 0
    ? null
    : stderr
        .slice(from, from + 600)
        .split("\n")
        .slice(0, 4)
        .join(" ")
        .trim();
}
