import type { Candidate, ReceiptStatement, RunResultStatement, TestResultStatement } from "../contract/bundle";
import { bundlePaths, predicateTypes } from "../contract/bundle";
import type { Problem } from "../contract/errors";
import type { HostFacts, Result, RunLock } from "../contract/result";
import type { Manifest } from "../contract/task";

const statementType = "https://in-toto.io/Statement/v1" as const;

/** The payload's documents and digests that both statements are built from, and checked against. */
export interface PayloadFacts {
  /** Hex sha256 of SHA256SUMS, which lists every file of the payload. */
  sumsSha256: string;
  patchSha256: string;
  manifestSha256: string;
  runLockSha256: string;
  result: Result;
  manifest: Manifest;
  runLock: RunLock;
  host: HostFacts;
}

/** What only the statement says: no file of the payload repeats it. */
export interface StatedFacts {
  attemptId: string | null;
  /** Present in leased gradings only. */
  lease: { id: string; nonce: string } | null;
  candidate: Candidate;
  /** Key that signs. */
  keyid: string;
}

const subjectsOf = (facts: PayloadFacts) => [
  { name: bundlePaths.sums, digest: { sha256: facts.sumsSha256 } },
  { name: bundlePaths.patch, digest: { sha256: facts.patchSha256 } },
];

/**
 * in-toto's test result. A test that passed is a passed one; a required test that did not (failed, error, crashed,
 * hung, skipped, not run) is a failed one; a test that is not required and did not pass is a warned one. PASSED where
 * the grading resolves its task, else FAILED.
 */
export function buildTestResultStatement(facts: PayloadFacts): TestResultStatement {
  const { tests, summary } = facts.result;
  const idsOf = (which: (test: Result["tests"][number]) => boolean) => tests.filter(which).map(({ id }) => id);
  return {
    _type: statementType,
    subject: subjectsOf(facts),
    predicateType: predicateTypes.testResult,
    predicate: {
      result: summary.resolved ? "PASSED" : "FAILED",
      configuration: [
        { name: bundlePaths.manifest, digest: { sha256: facts.manifestSha256 } },
        { name: bundlePaths.runLock, digest: { sha256: facts.runLockSha256 } },
      ],
      passedTests: idsOf((test) => test.status === "passed"),
      warnedTests: idsOf((test) => test.status !== "passed" && !test.required),
      failedTests: idsOf((test) => test.status !== "passed" && test.required),
    },
  };
}

/** Our statement of a run: which grading of which task and patch, where it ran, and what came out. */
export function buildRunResultStatement(facts: PayloadFacts, stated: StatedFacts): RunResultStatement {
  const { result, manifest, runLock, host } = facts;
  return {
    _type: statementType,
    subject: subjectsOf(facts),
    predicateType: predicateTypes.runResult,
    predicate: {
      grading: { id: result.gradingId, attemptId: stated.attemptId, lease: stated.lease },
      task: {
        suite: manifest.suite.slug,
        suiteVersion: manifest.suite.version,
        slug: manifest.task.slug,
        gradingDigest: manifest.digests.grading,
        repo: manifest.task.repo,
        baseCommit: manifest.task.baseCommit,
        baseTree: manifest.task.baseTree,
      },
      candidate: { ...stated.candidate, patchSha256: facts.patchSha256 },
      environment: {
        executor: result.executor,
        sandboxed: result.sandboxed,
        digests: runLock.environment.digests,
        gpus: host.gpus.map(({ model }) => model),
        driver: host.gpus[0]?.driver ?? null,
        cuda: host.cuda,
        networkPolicy: "none",
      },
      outcome: {
        status: result.status,
        requiredTotal: result.summary.requiredTotal,
        requiredPassed: result.summary.requiredPassed,
        resolved: result.summary.resolved,
        officialResolved: result.summary.officialResolved,
      },
      times: { startedAt: result.startedAt, finishedAt: result.finishedAt },
      runner: { version: runLock.runner.version, keyid: stated.keyid },
    },
  };
}

/** What the server states when it accepts a bundle. The second subject ties the receipt to the payload's digests. */
export function buildReceiptStatement(
  predicate: ReceiptStatement["predicate"] & { sumsSha256: string },
): ReceiptStatement {
  const { sumsSha256, ...rest } = predicate;
  return {
    _type: statementType,
    subject: [
      { name: `${predicate.gradingId}.infradev.tar.gz`, digest: { sha256: predicate.bundleSha256 } },
      { name: bundlePaths.sums, digest: { sha256: sumsSha256 } },
    ],
    predicateType: predicateTypes.receipt,
    predicate: rest,
  };
}

const show = (value: unknown): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 157)}...` : text;
};

/** Every place where two JSON values differ, by path, with both values. */
export function differences(
  expected: unknown,
  actual: unknown,
  path = "",
): { path: string; expected: string; actual: string }[] {
  if (Object.is(expected, actual)) return [];
  const bothLists = Array.isArray(expected) && Array.isArray(actual);
  const bothObjects =
    typeof expected === "object" &&
    typeof actual === "object" &&
    expected !== null &&
    actual !== null &&
    Array.isArray(expected) === Array.isArray(actual);
  if (!bothObjects || (bothLists && expected.length !== actual.length))
    return [{ path, expected: show(expected), actual: show(actual) }];
  const left = expected as Record<string, unknown>;
  const right = actual as Record<string, unknown>;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
    differences(left[key], right[key], path ? `${path}.${key}` : key),
  );
}

const codeOfDifference = (path: string): string => {
  if (path === "subject.0.digest.sha256") return "bundle.sums-mismatch";
  if (path === "subject.1.digest.sha256" || path === "predicate.candidate.patchSha256") return "bundle.patch-mismatch";
  if (path.startsWith("predicate.task")) return "bundle.task-mismatch";
  if (path.startsWith("predicate.runner.keyid")) return "bundle.key-mismatch";
  return "bundle.statement-mismatch";
};

/** Names each field in which a signed statement differs from what the payload yields. */
export function compareStatement(
  expected: TestResultStatement | RunResultStatement,
  actual: TestResultStatement | RunResultStatement,
): Problem[] {
  const name = expected.predicateType === predicateTypes.testResult ? "test-result" : "run-result";
  return differences(expected, actual).map((difference) => ({
    code: codeOfDifference(difference.path),
    message: `the ${name} statement says ${difference.actual}, the payload yields ${difference.expected}`,
    where: `${bundlePaths.envelopes}#${name}.${difference.path}`,
    rule: "each statement must say exactly what the payload's files yield",
    remedy: "take the bundle again from its signer; statements and payload belong to different gradings",
  }));
}
