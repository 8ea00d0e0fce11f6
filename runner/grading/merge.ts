import type { RankOutcome, Resource, TestOutcome } from "@/lib/contract/result";
import type { ManifestTest } from "@/lib/contract/task";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import { classify, isCommunicationFailure } from "@/lib/taxonomy/classify";
import { namesOpenCollective } from "./flight-recorder";
import type { TimedOutcome } from "./launch-record";

/** A rank that died is known to be dead a little later than its peers see the connection close. */
const exitNoticeS = 1;

const isFailure = (status: OutcomeStatus): boolean =>
  status !== "passed" && status !== "skipped" && status !== "not-run";
/** What torch's watchdog ends a process with, when a collective that a peer never joined runs into its time-out. */
const watchdogMessage = /Watchdog caught collective operation timeout|c10::Dist(?:Backend|Network|Store)Error/;
const isSymptom = ({ outcome: { status, failure } }: TimedOutcome): boolean => {
  if (failure === null || status === "hung") return false;
  return status === "crashed" ? watchdogMessage.test(failure.message) : isCommunicationFailure(failure);
};

/** Whether a rank was ended where it waited for others, by its stack or by the recording of a collective under way. */
function waitsForOthers({ outcome: { failure } }: TimedOutcome): boolean {
  const innermost = failure?.frames.at(-1);
  const named = innermost !== undefined && innermost.origin !== "other" && /^_?wait(?:$|_)/.test(innermost.function);
  return (
    named ||
    /^torch\/(?:distributed|cuda)\//.test(innermost?.file ?? "") ||
    (failure?.evidence?.some(({ kind, excerpt }) => kind === "flight-recorder" && namesOpenCollective(excerpt)) ??
      false)
  );
}

/**
 * Whether a rank was ended in the candidate's or a test's own code, and by no sign waited there for others. A wait that
 * is no function of Python (`work.wait()` of gloo, which records nothing) leaves no sign.
 */
const isSilent = (entry: TimedOutcome): boolean => {
  const innermost = entry.outcome.failure?.frames.at(-1);
  return innermost !== undefined && innermost.origin !== "other" && !waitsForOthers(entry);
};

/**
 * The rank whose failure explains the others': the earliest by wall clock. A rank that hung failed when it was ended,
 * unless nothing but lost connections preceded that: then its silence is what the others ran into. Of ranks that were
 * all ended, it is the first that was silent (`isSilent`), if there is one.
 */
function findRoot(failures: readonly TimedOutcome[]): TimedOutcome | null {
  const cause = (entry: TimedOutcome) => !isSymptom(entry) && entry.outcome.status !== "hung";
  const hasCause = failures.some(cause);
  const timeOf = (entry: TimedOutcome): number => {
    const at = entry.failedAt ?? Infinity;
    if (entry.outcome.status === "crashed" && !isSymptom(entry)) return at - exitNoticeS;
    if (entry.outcome.status === "hung" && !hasCause) return -Infinity;
    return at;
  };
  const order = (a: TimedOutcome, b: TimedOutcome): number => {
    const [first, second] = [timeOf(a), timeOf(b)];
    if (first !== second) return first - second;
    return Number(isSilent(b)) - Number(isSilent(a)) || a.outcome.rank - b.outcome.rank;
  };
  return [...failures].sort(order)[0] ?? null;
}

/** Failures that follow from the root's: lost connections, and waiting for what will not come. */
function markSecondary(failures: readonly TimedOutcome[], root: TimedOutcome): void {
  for (const entry of failures) {
    const { failure, status } = entry.outcome;
    if (entry === root || failure === null) continue;
    const missed = root.outcome.status !== "hung" || (waitsForOthers(entry) && isSilent(root));
    const follows = isSymptom(entry) || (status === "hung" && missed);
    if (follows) failure.secondaryOf = root.outcome.rank;
  }
}

function mergedStatus(test: ManifestTest, required: readonly RankOutcome[], root: TimedOutcome | null): OutcomeStatus {
  const passed = (outcome: RankOutcome) => outcome.status === "passed";
  const enough = test.ranks === "any" ? required.some(passed) : required.length > 0 && required.every(passed);
  if (enough) return "passed";
  if (root !== null) return root.outcome.status;
  return required.some(({ status }) => status === "not-run") || required.length === 0 ? "not-run" : "skipped";
}

/**
 * Merges what a test did on its ranks. It passed only where every required rank passed it (`any`: one of them); else
 * it has the status of its root rank. `ranks` is empty where nothing was launched.
 * @param label whether to label the failure: only those of a completed grading are
 */
export function mergeTest(
  test: ManifestTest,
  ranks: readonly TimedOutcome[],
  resources: readonly Resource[],
  label: boolean,
): TestOutcome {
  const { ranks: wanted } = test;
  const isRequired = (rank: number): boolean => (Array.isArray(wanted) ? wanted.includes(rank) : true);
  const required = ranks.filter(({ outcome }) => isRequired(outcome.rank));
  const failures = required.filter(({ outcome }) => isFailure(outcome.status));
  const root = findRoot(failures);
  if (root !== null) markSecondary(failures, root);
  const outcomes = required.map(({ outcome }) => outcome);
  const status = mergedStatus(test, outcomes, root);
  const unpassed = root?.outcome ?? outcomes.find((outcome) => outcome.status === status) ?? null;
  const durations = ranks.flatMap(({ outcome }) => outcome.durationMs ?? []);
  return {
    id: test.id,
    kind: test.kind,
    expectation: test.expectation,
    group: test.group,
    required: test.required,
    status,
    durationMs: durations.length === 0 ? null : Math.max(...durations),
    ranks: ranks.map(({ outcome }) => outcome),
    rootRank: status === "passed" ? null : (root?.outcome.rank ?? null),
    resources: [...resources],
    label:
      label && status !== "passed"
        ? classify({ status, failure: unpassed?.failure ?? null, property: test.property })
        : null,
  };
}
