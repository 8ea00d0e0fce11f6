import type { EvidenceSpan, FailureDetail, RuleLabel } from "@/lib/contract/result";
import type { Confidence, GradingStatus, OutcomeStatus, Property } from "@/lib/contract/vocabulary";
import { failureTypes, type KnownType, rulesVersion, typeOfProperty } from "./failure-types";
import { toldFrom } from "./told";
import { type FailureFacts, lastName, type UnwrappedFailure, unwrapFailure } from "./unwrap";
import * as words from "./words";

/** What the rules see of a required test that did not pass: the outcome on its root rank. */
export type Classified = {
  status: OutcomeStatus;
  failure: FailureFacts | null;
  /** The property that the manifest declares for the test. */
  property: Property;
  /** `completed` where left out. */
  gradingStatus?: GradingStatus;
};

type Seen = Omit<Classified, "failure"> & { failure: UnwrappedFailure | null };
type Span = EvidenceSpan | null;
type Decision = { type: KnownType | "unclassified"; tags?: string[]; evidence: Span; confidence?: Confidence };

type Rule = {
  id: string;
  confidence: Confidence;
  /** What this rule decides, or null where it does not apply. */
  apply(seen: Seen): Decision | null;
};

/** Frames that are the project's, the tests' or the probes' own; libraries below them raise on their behalf. */
const ownFrames = ({ frames }: Pick<FailureDetail, "frames">) => frames.filter((frame) => frame.origin !== "other");

/** How a test file is called; in a carried traceback nothing else says whose a file is. */
const testFile = /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/;

/**
 * Whether a failure is a test's assertion: an AssertionError, or pytest's own `fail`, whose innermost frame that is no
 * library's is test or probe code. One that product code raises is an exception like any other.
 */
export function isAssertion(
  failure: Pick<FailureDetail, "mro" | "frames"> & { exceptionType?: string | null; carriedAt?: number | null },
): boolean {
  const names = [failure.exceptionType ?? "", ...failure.mro].map(lastName);
  const asserted = names.includes("AssertionError") || (names.includes("Failed") && names.includes("OutcomeException"));
  const innermost = ownFrames(failure).at(-1);
  if (!asserted || innermost?.origin === "project") return false;
  if ((failure.carriedAt ?? null) === null || failure.frames.length === 0) return true;
  return innermost !== undefined && (innermost.origin === "probe" || testFile.test(innermost.file));
}

/** Raised while a module of tests was imported: no test ran, so none of its properties was checked. */
const duringImport = (failure: UnwrappedFailure): boolean =>
  failure.carriedAt === null && ownFrames(failure)[0]?.function === "<module>";

/** What the runner keeps of an exception whose own text could not be made. */
const withoutWords = /^\s*(?:<message could not be made[^>\n]*>)?\s*$/;

/** A record that holds nothing, or whose exception is none of its own classes. */
function contradicts(failure: UnwrappedFailure | null): boolean {
  if (failure === null) return true;
  const { exceptionType, mro, message, frames } = failure;
  if (exceptionType === null) return frames.length === 0 && withoutWords.test(message);
  return mro.length > 0 && !mro.some((name) => lastName(name) === lastName(exceptionType));
}

/** Whether a failure is what a rank sees when another one is lost: a collective's, a store's or a connection's error. */
export function isCommunicationFailure(failure: Pick<FailureDetail, "mro" | "message">): boolean {
  if (failure.mro.some((name) => words.communicationClass.test(lastName(name)))) return true;
  return failure.mro.some((name) => lastName(name) === "RuntimeError") && words.communication.test(failure.message);
}

const whole = (field: "status" | "property" | "activeCheck" | "exceptionType", text: string): EvidenceSpan => ({
  field,
  index: null,
  from: 0,
  to: text.length,
});

/** Longer messages are read in this length only: what names the failure stands at their beginning. */
const readLength = 8000;

/** Where the message says it, in the message as it is kept. */
function said(failure: UnwrappedFailure | null, pattern: RegExp): EvidenceSpan | null {
  if (failure === null) return null;
  const told = toldFrom(failure.message);
  const match = pattern.exec(failure.message.slice(told, told + readLength));
  if (!match) return null;
  const from = (failure.carriedAt ?? 0) + told + match.index;
  return { field: "message", index: null, from, to: from + match[0].length };
}

const firstLine = ({ message }: UnwrappedFailure): string => {
  const told = toldFrom(message);
  return message.slice(told, told + readLength).split("\n", 1)[0] ?? "";
};

/** Which of the exception's classes has such a name. Classes of a carried exception are found where its type stands. */
function hasClass(failure: UnwrappedFailure | null, pattern: RegExp): EvidenceSpan | null {
  if (failure === null) return null;
  const { exceptionType, mro, carriedAt } = failure;
  const index = mro.findIndex((name) => pattern.test(lastName(name)));
  const named = index >= 0 || (exceptionType !== null && pattern.test(lastName(exceptionType)));
  if (!named) return null;
  if (carriedAt !== null) {
    // "Name: message": the name ends two characters before the message.
    const length = exceptionType?.length ?? 0;
    return { field: "message", index: null, from: Math.max(0, carriedAt - 2 - length), to: Math.max(0, carriedAt - 2) };
  }
  const name = index < 0 ? (exceptionType ?? "") : (mro[index] ?? "");
  return index < 0
    ? whole("exceptionType", name)
    : { field: "mro", index, from: name.length - lastName(name).length, to: name.length };
}

/** Where a frame of the project says it, the innermost first. Frames of a carried traceback are not among the kept ones. */
function inFrame(
  failure: UnwrappedFailure | null,
  field: "function" | "code" | "file",
  pattern: RegExp,
  depth: "innermost" | "any",
): { evidence: Span } | null {
  const frames = failure?.frames ?? [];
  const indices = frames.flatMap((frame, index) => (frame.origin === "project" ? [index] : [])).reverse();
  for (const index of depth === "any" ? indices : indices.slice(0, 1)) {
    const match = pattern.exec(frames[index]?.[field] ?? "");
    if (match) {
      if (field === "file" || failure?.carriedAt !== null) return { evidence: null };
      return { evidence: { field, index, from: match.index, to: match.index + match[0].length } };
    }
  }
  return null;
}

/** Whether the project's own code raised it, and no library below. */
const raisedByProject = (failure: UnwrappedFailure | null): boolean => failure?.frames.at(-1)?.origin === "project";

/** A class that a pickle names and that is not where it was: an import that fails below an unpickler. */
function duringUnpickling(failure: UnwrappedFailure | null): EvidenceSpan | null {
  const below = failure?.frames.some(
    ({ file, function: name, origin }) =>
      origin === "other" && words.unpicklerFrame.test(file) && words.unpicklerFunction.test(name),
  );
  return below ? hasClass(failure, /^(?:ImportError|AttributeError)$/) : null;
}

const structural = (evidence: EvidenceSpan | null, type: KnownType, ...tags: string[]): Decision | null =>
  evidence && { type, tags, evidence };

/** In this order; the first rule that applies decides. */
const rules: readonly Rule[] = [
  {
    id: "no-outcome",
    confidence: "certain",
    apply: ({ status }) =>
      status === "skipped" || status === "not-run"
        ? structural(whole("status", status), "execution-api", status)
        : null,
  },
  {
    id: "crash",
    confidence: "certain",
    apply: ({ status, failure }) =>
      status === "crashed"
        ? structural(
            whole("status", status),
            "execution-api",
            "crash",
            ...(said(failure, words.outOfMemory) ? ["oom"] : []),
          )
        : null,
  },
  {
    id: "hang",
    confidence: "certain",
    apply: ({ status }) => (status === "hung" ? structural(whole("status", status), "execution-api", "hang") : null),
  },
  {
    id: "no-record",
    confidence: "none",
    apply: ({ failure }) => (contradicts(failure) ? { type: "unclassified", evidence: null } : null),
  },
  {
    id: "assertion-on-import",
    confidence: "likely",
    // A program that is a test asserts while its own module runs, and then has failed.
    apply: ({ status, failure }) =>
      status === "error" && failure !== null && isAssertion(failure) && duringImport(failure)
        ? { type: "execution-api", tags: ["interface"], evidence: whole("exceptionType", failure.exceptionType ?? "") }
        : null,
  },
  {
    id: "assertion-active-check",
    confidence: "certain",
    apply: ({ failure }) =>
      failure?.activeCheck && isAssertion(failure)
        ? { ...typeOfProperty[failure.activeCheck], evidence: whole("activeCheck", failure.activeCheck) }
        : null,
  },
  {
    id: "assertion-declared-property",
    confidence: "likely",
    apply: ({ status, failure, property }) => {
      // A check that the grader makes from outside, such as a limit, fails a test without an exception.
      const unraised = status === "failed" && failure?.exceptionType === null;
      const decides = unraised || (failure !== null && isAssertion(failure));
      const checked = failure?.activeCheck ?? property;
      return decides ? { ...typeOfProperty[checked], evidence: whole("property", property) } : null;
    },
  },
  {
    id: "exception-out-of-memory",
    confidence: "likely",
    apply: ({ failure }) =>
      structural(hasClass(failure, words.outOfMemoryClass) ?? said(failure, words.outOfMemory), "execution-api", "oom"),
  },
  {
    id: "exception-uninitialized-group",
    confidence: "likely",
    apply: ({ failure }) => structural(said(failure, words.uninitialized), "state-lifecycle"),
  },
  {
    id: "exception-unpickling",
    confidence: "likely",
    apply: ({ failure }) => structural(said(failure, words.unpickling) ?? duringUnpickling(failure), "state-lifecycle"),
  },
  {
    id: "exception-timeout",
    confidence: "likely",
    apply: ({ failure }) => structural(hasClass(failure, /^TimeoutExpired$/), "execution-api", "timeout"),
  },
  {
    id: "exception-child",
    confidence: "likely",
    apply: ({ failure }) => structural(hasClass(failure, words.childClass), "execution-api", "child"),
  },
  {
    id: "exception-communication",
    confidence: "likely",
    apply: ({ failure }) =>
      failure !== null &&
      isCommunicationFailure(failure) &&
      (hasClass(failure, words.communicationClass) !== null || !words.shape.test(firstLine(failure)))
        ? structural(
            hasClass(failure, words.communicationClass) ?? said(failure, words.communication),
            "execution-api",
            "communication",
          )
        : null,
  },
  {
    id: "exception-import",
    confidence: "likely",
    apply: ({ failure }) => structural(hasClass(failure, words.interfaceClass), "execution-api", "interface"),
  },
  {
    id: "exception-signature",
    confidence: "likely",
    apply: ({ failure }) => structural(said(failure, words.signature), "execution-api", "interface"),
  },
  {
    id: "exception-device",
    confidence: "likely",
    apply: ({ failure }) => structural(said(failure, words.device), "execution-api", "device"),
  },
  {
    id: "exception-state-dict",
    confidence: "likely",
    apply: ({ failure }) =>
      said(failure, words.sizeMismatch) || (said(failure, words.shape) && !said(failure, words.keys))
        ? null
        : structural(said(failure, words.stateDict), "state-lifecycle"),
  },
  {
    id: "exception-shape",
    confidence: "likely",
    apply: ({ failure }) =>
      structural(hasClass(failure, words.shapeClass) ?? said(failure, words.shape), "shape-layout-dtype"),
  },
  {
    id: "exception-state-class",
    confidence: "likely",
    apply: ({ failure }) => structural(hasClass(failure, words.stateClass), "state-lifecycle"),
  },
  {
    id: "exception-not-implemented",
    confidence: "likely",
    apply: ({ failure }) => structural(hasClass(failure, /^NotImplementedError$/), "execution-api", "interface"),
  },
  {
    id: "exception-state",
    confidence: "weak",
    apply: ({ failure }) => structural(said(failure, words.state) ?? said(failure, words.lifecycle), "state-lifecycle"),
  },
  {
    id: "exception-shape-words",
    confidence: "weak",
    apply: ({ failure }) => structural(said(failure, words.shapeWords), "shape-layout-dtype"),
  },
  {
    id: "exception-state-words",
    confidence: "weak",
    apply: ({ failure }) => structural(said(failure, words.stateWords), "state-lifecycle"),
  },
  {
    id: "exception-state-frame",
    confidence: "weak",
    apply: ({ failure }) => {
      const within = hasClass(failure, words.lostInState)
        ? (inFrame(failure, "function", words.stateFunction, "any") ??
          (inFrame(failure, "file", words.stateFile, "innermost") && inFrame(failure, "function", /./, "innermost")))
        : hasClass(failure, words.brokenBytes) || (hasClass(failure, words.failedInState) && raisedByProject(failure))
          ? inFrame(failure, "function", words.stateFunction, "innermost")
          : null;
      return within && { type: "state-lifecycle", evidence: within.evidence };
    },
  },
  {
    id: "exception-state-table",
    confidence: "weak",
    apply: ({ failure }) => {
      const within = hasClass(failure, /^KeyError$/) && inFrame(failure, "code", words.stateTable, "innermost");
      return within ? { type: "state-lifecycle", evidence: within.evidence } : null;
    },
  },
  {
    id: "exception-asserted-shape",
    confidence: "weak",
    apply: ({ failure }) => {
      const within =
        hasClass(failure, /^(?:AssertionError|ValueError|RuntimeError)$/) &&
        raisedByProject(failure) &&
        ((hasClass(failure, /^AssertionError$/) || said(failure, /values to unpack/)
          ? inFrame(failure, "code", words.shapeCode, "innermost")
          : null) ??
          inFrame(failure, "function", words.shapeFunction, "innermost"));
      return within ? { type: "shape-layout-dtype", evidence: within.evidence } : null;
    },
  },
  {
    id: "exception-asserted-state",
    confidence: "weak",
    apply: ({ failure }) => {
      const within = hasClass(failure, /^AssertionError$/) && inFrame(failure, "code", words.stateCode, "innermost");
      return within ? { type: "state-lifecycle", evidence: within.evidence } : null;
    },
  },
  {
    id: "exception",
    confidence: "weak",
    apply: ({ status, failure }) => ({
      type: "execution-api",
      evidence: failure?.exceptionType ? whole("exceptionType", failure.exceptionType) : whole("status", status),
    }),
  },
];

/** A span of the exception's type where the record writes it with `builtins.` before it. */
function inRecord(evidence: Span, failure: FailureFacts | null): Span {
  if (evidence?.field !== "exceptionType") return evidence;
  const to = failure?.exceptionType?.length ?? evidence.to;
  return { ...evidence, from: Math.max(0, to - evidence.to), to };
}

/** Gradings that judge the candidate: faults of the host and tampering are no failures of this table. */
const judges = (status: GradingStatus): boolean => status === "completed" || status === "candidate-timeout";

/**
 * Labels one failure by rule, always alike for the same facts; null for a test that passed and for gradings that do not
 * judge the candidate. What no rule decides is `unclassified` and waits for a person.
 */
export function classify(input: Classified): RuleLabel | null {
  if (!judges(input.gradingStatus ?? "completed") || input.status === "passed") return null;
  const seen: Seen = { ...input, failure: input.failure && unwrapFailure(input.failure) };
  for (const rule of rules) {
    const decision = rule.apply(seen);
    if (decision === null) continue;
    const { type, tags = [] } = decision;
    const evidence = inRecord(decision.evidence, input.failure);
    const known = failureTypes.find((entry) => entry.type === type);
    return {
      class: known?.class ?? "unclassified",
      type,
      rule: rule.id,
      rulesVersion,
      tags: [...tags],
      confidence: rule.confidence,
      evidence,
    };
  }
  throw new Error("the last rule applies to everything");
}
