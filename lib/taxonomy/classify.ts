import type { FailureDetail, RuleLabel } from "@/lib/contract/result";
import type { OutcomeStatus, Property } from "@/lib/contract/vocabulary";
import { failureTypes, taxonomyVersion, typeOfProperty } from "./failure-types";

/** What the rules see of a required test that did not pass: the outcome on its root rank. */
export type Classified = {
  status: OutcomeStatus;
  failure: Pick<FailureDetail, "exceptionType" | "mro" | "message" | "frames" | "activeCheck"> | null;
  /** The property that the manifest declares for the test. */
  property: Property;
};

type Rule = {
  id: string;
  /** The type and tags that this rule gives, or null where it does not apply. */
  apply(input: Classified): { type: string; tags: string[] } | null;
};

const lastName = (qualified: string): string => qualified.slice(qualified.lastIndexOf(".") + 1);
const hasClass = (failure: Classified["failure"], names: RegExp): boolean =>
  failure?.mro.some((name) => names.test(lastName(name))) ?? false;

/** Frames that are the project's, the tests' or the probes' own; libraries below them raise on their behalf. */
const ownFrames = (failure: Pick<FailureDetail, "frames">) =>
  failure.frames.filter((frame) => frame.origin !== "other");

/**
 * Whether a failure is a test's assertion: an AssertionError, or pytest's own `fail`, raised by test code. One that
 * product code raises is an exception like any other.
 */
export function isAssertion(failure: Pick<FailureDetail, "mro" | "frames">): boolean {
  const asserted =
    failure.mro.includes("AssertionError") ||
    (failure.mro[0] === "Failed" && failure.mro.includes("_pytest.outcomes.OutcomeException"));
  return asserted && ownFrames(failure).at(-1)?.origin !== "project";
}

const communicationClass =
  /^(?:CommError|PeerLost|CollectiveTimeout|DistError|DistBackendError|DistNetworkError|DistStoreError|ConnectionError|TimeoutError|BrokenBarrierError)$/;
const communicationMessage =
  /\bNCCL\b|connection (?:reset|refused|closed|aborted)|broken pipe|timed? ?out|peer (?:lost|closed|died)|store (?:get|wait)|rendezvous/i;

/** Whether a failure is what a rank sees when another one is lost: a collective's, a store's or a connection's error. */
export function isCommunicationFailure(failure: Pick<FailureDetail, "mro" | "message">): boolean {
  if (failure.mro.some((name) => communicationClass.test(lastName(name)))) return true;
  return failure.mro.includes("RuntimeError") && communicationMessage.test(failure.message);
}

const outOfMemoryClass = /^(?:MemoryError|OutOfMemoryError)$/;
const outOfMemoryMessage = /\bout of memory\b/i;

const shapeMessage =
  /size mismatch|shape mismatch|shapes? .{0,80}(?:cannot be multiplied|not aligned|incompatible|(?:do|does)(?: not|n't) match|invalid)|(?:must|expected to) (?:match|have) .{0,60}\b(?:size|shape|dimension|dtype)|sizes? of tensor|could not be broadcast|not broadcastable|expected (?:scalar type|dtype|shape|\d+-?d)|dtypes? (?:mismatch|differ|must)|invalid for input of size|dimension out of range|\bstrides?\b|is not contiguous|wrong (?:shape|dtype|itemsize)|unknown dtype/i;

const stateMessage =
  /(?:missing|unexpected) key\(s\) in state_dict|state.?dict|not (?:been )?initiali[sz]ed|already (?:freed|closed|released|initiali[sz]ed|shut ?down)|double[- ]free|use[- ]after[- ](?:free|close)|stale (?:version|state|handle)|(?:no|missing|corrupt\w*) checkpoint|checkpoint .{0,60}(?:missing|corrupt|incompatible)/i;
const stateFunction =
  /(?:^|\.)_*(?:load|save|restore|resume|init|reset|free|release|close)_?(?:state|state_dict|checkpoint|sharded|optimizer|buffers?|blocks?|cache)\w*$/i;

const isLostInState = (failure: NonNullable<Classified["failure"]>): boolean =>
  stateMessage.test(failure.message) ||
  (hasClass(failure, /^(?:KeyError|FileNotFoundError|EOFError)$/) &&
    ownFrames(failure)
      .filter((frame) => frame.origin === "project")
      .some((frame) => stateFunction.test(frame.function)));

/** In this order; the first rule that applies decides. */
const rules: readonly Rule[] = [
  {
    id: "no-outcome",
    apply: ({ status }) =>
      status === "skipped" || status === "not-run" ? { type: "execution-api", tags: [status] } : null,
  },
  {
    id: "crash",
    apply: ({ status, failure }) =>
      status === "crashed"
        ? {
            type: "execution-api",
            tags: failure && outOfMemoryMessage.test(failure.message) ? ["crash", "oom"] : ["crash"],
          }
        : null,
  },
  { id: "hang", apply: ({ status }) => (status === "hung" ? { type: "execution-api", tags: ["hang"] } : null) },
  {
    id: "assertion-active-check",
    apply: ({ failure }) =>
      failure?.activeCheck && isAssertion(failure) ? { ...typeOfProperty[failure.activeCheck] } : null,
  },
  {
    id: "assertion-declared-property",
    apply: ({ status, failure, property }) =>
      (failure === null ? status === "failed" : isAssertion(failure)) ? { ...typeOfProperty[property] } : null,
  },
  {
    id: "exception-out-of-memory",
    apply: ({ failure }) =>
      hasClass(failure, outOfMemoryClass) || outOfMemoryMessage.test(failure?.message ?? "")
        ? { type: "execution-api", tags: ["oom"] }
        : null,
  },
  {
    id: "exception-communication",
    apply: ({ failure }) =>
      failure !== null && isCommunicationFailure(failure) ? { type: "execution-api", tags: ["communication"] } : null,
  },
  {
    id: "exception-import",
    apply: ({ failure }) =>
      hasClass(failure, /^(?:ImportError|SyntaxError|AttributeError|NameError)$/)
        ? { type: "execution-api", tags: ["interface"] }
        : null,
  },
  {
    id: "exception-shape",
    apply: ({ failure }) =>
      failure !== null && shapeMessage.test(failure.message) ? { type: "shape-layout-dtype", tags: [] } : null,
  },
  {
    id: "exception-state",
    apply: ({ failure }) => (failure !== null && isLostInState(failure) ? { type: "state-lifecycle", tags: [] } : null),
  },
  { id: "exception", apply: () => ({ type: "execution-api", tags: [] }) },
];

/**
 * Labels one failure by rule; null for a test that passed. Infra faults and tampering are no failures of this table:
 * callers label completed gradings only.
 */
export function classify(input: Classified): RuleLabel | null {
  if (input.status === "passed") return null;
  for (const rule of rules) {
    const decision = rule.apply(input);
    if (decision === null) continue;
    const known = failureTypes.find((entry) => entry.type === decision.type);
    if (known === undefined) throw new Error(`rule '${rule.id}' names the unknown type '${decision.type}'`);
    return {
      class: known.class,
      type: known.type,
      rule: rule.id,
      rulesVersion: taxonomyVersion,
      tags: [...decision.tags],
    };
  }
  return null;
}
