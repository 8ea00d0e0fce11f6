import { bundlePaths } from "../contract/bundle";
import type { Problem } from "../contract/errors";
import type { Guard, RankOutcome, Result, RunLock, TestOutcome } from "../contract/result";
import { summarize } from "../contract/result";
import type { Manifest, ManifestTest } from "../contract/task";
import type { OutcomeStatus } from "../contract/vocabulary";
import { differences } from "./statements";

const problem = (code: string, where: string, message: string, rule: string): Problem => ({
  code,
  message,
  where: `${bundlePaths.result}#${where}`,
  rule,
  remedy: "grade again with a current runner; a result that breaks this rule is not evidence",
});

/** Ranks whose outcome decides a test, of a launch of `nproc`; null means that any one of them is enough. */
function requiredRanks(ranks: ManifestTest["ranks"], nproc: number): number[] | null {
  if (ranks === "any") return null;
  return ranks === "all" ? Array.from({ length: nproc }, (_, rank) => rank) : ranks;
}

/** Statuses that a test may have when merged over its ranks: `passed` alone where it passed, else what its ranks report. */
function mergedStatuses(test: ManifestTest, nproc: number, outcomes: readonly RankOutcome[]): Set<OutcomeStatus> {
  const statusOf = new Map(outcomes.map(({ rank, status }) => [rank, status]));
  const required = requiredRanks(test.ranks, nproc);
  const decisive: OutcomeStatus[] = required
    ? required.map((rank) => statusOf.get(rank) ?? "not-run")
    : outcomes.map(({ status }) => status);
  const passed = required ? decisive.every((status) => status === "passed") : decisive.includes("passed");
  if (passed) return new Set(["passed"]);
  const others = decisive.filter((status) => status !== "passed");
  return new Set(others.length > 0 ? others : ["not-run"]);
}

const isFailure = (status: OutcomeStatus) => !["passed", "skipped", "not-run"].includes(status);

/** The root rank is a required rank that failed, and gives a test that did not pass its status. */
function checkRootRank(expected: ManifestTest, actual: TestOutcome, nproc: number): Problem[] {
  const refuse = (message: string) => [
    problem(
      "result.root-rank",
      `tests[${actual.id}].rootRank`,
      message,
      "a test that did not pass has the status of its root rank, the required rank that failed first",
    ),
  ];
  const required = requiredRanks(expected.ranks, nproc);
  const failed = actual.ranks.filter(
    ({ rank, status }) => isFailure(status) && (required === null || required.includes(rank)),
  );
  if (actual.status === "passed") return actual.rootRank === null ? [] : refuse("a test that passed has no root rank");
  if (actual.rootRank === null)
    return failed.length === 0 ? [] : refuse(`rank ${failed[0]?.rank} failed and no root rank is named`);
  const root = failed.find(({ rank }) => rank === actual.rootRank);
  if (!root) return refuse(`rank ${actual.rootRank} is no required rank that failed`);
  return root.status === actual.status
    ? []
    : refuse(`rank ${root.rank} is '${root.status}', the test is called '${actual.status}'`);
}

/**
 * A test that passed misses nothing that was measured outside of its process, and was measured there where its limit
 * says so. `complete`: the result shows every measure that there is.
 */
function checkMeasures(expected: ManifestTest, actual: TestOutcome, complete: boolean): Problem[] {
  if (actual.status !== "passed") return [];
  const where = `tests[${actual.id}].resources`;
  const outside = actual.resources.filter(({ meter }) => meter !== undefined && meter !== "test");
  const problems = outside
    .filter(({ met }) => !met)
    .map(({ name, value, unit, limit }) =>
      problem(
        "result.resource",
        `${where}[${name}]`,
        `is ${value} ${unit} against a limit of ${limit}, and the test is called 'passed'`,
        "a test whose limit the grader measures passes only where it is met",
      ),
    );
  const { limit } = expected;
  if (limit?.meter === undefined || !complete) return problems;
  const measured = outside.some(({ name, limit: against }) => name === limit.resource && against === limit.value);
  if (!measured)
    problems.push(
      problem(
        "result.resource",
        where,
        `has no measure of ${limit.resource} against ${limit.value} from outside, and the test is called 'passed'`,
        "a test whose limit the grader measures passes only where it was measured",
      ),
    );
  return problems;
}

function checkTest(
  expected: ManifestTest,
  actual: TestOutcome,
  nproc: number,
  { launches, status }: Pick<Result, "launches" | "status">,
  hidden: boolean,
): Problem[] {
  // Of hidden probes a result shows no measures.
  const measurable = status === "completed" && !hidden;
  const where = `tests[${actual.id}]`;
  const facts = (test: ManifestTest | TestOutcome) => ({
    kind: test.kind,
    expectation: test.expectation,
    group: test.group,
    required: test.required,
  });
  const problems = differences(facts(expected), facts(actual)).map((difference) =>
    problem(
      "result.manifest-mismatch",
      `${where}.${difference.path}`,
      `says ${difference.actual}, the manifest says ${difference.expected}`,
      "a test's kind, expectation, group and requirement are the manifest's",
    ),
  );
  const seen = new Set<number>();
  for (const outcome of actual.ranks) {
    if (seen.has(outcome.rank) || outcome.rank >= nproc)
      problems.push(
        problem(
          "result.rank",
          `${where}.ranks`,
          `rank ${outcome.rank} is ${seen.has(outcome.rank) ? "listed twice" : `outside of the launch of ${nproc}`}`,
          "each rank of the group's launch reports at most once for a test",
        ),
      );
    seen.add(outcome.rank);
    if (outcome.launch !== null && outcome.launch >= launches.length)
      problems.push(
        problem(
          "result.launch",
          `${where}.ranks`,
          `names launch ${outcome.launch} of ${launches.length}`,
          "a rank outcome names a launch of this result",
        ),
      );
  }
  const allowed = mergedStatuses(expected, nproc, actual.ranks);
  if (!allowed.has(actual.status))
    problems.push(
      problem(
        "result.merge",
        `${where}.status`,
        `says '${actual.status}', its ranks yield ${[...allowed].map((status) => `'${status}'`).join(" or ")}`,
        "a test passes only if every required rank passed it; else its status is that of a rank that did not pass",
      ),
    );
  problems.push(...checkRootRank(expected, actual, nproc));
  problems.push(...checkMeasures(expected, actual, measurable));
  for (const resource of actual.resources)
    if (resource.met !== resource.value <= resource.limit)
      problems.push(
        problem(
          "result.resource",
          `${where}.resources[${resource.name}]`,
          `says ${resource.met ? "met" : "missed"} for ${resource.value} ${resource.unit} against a limit of ${resource.limit}`,
          "a limit is met where the value is at most the limit",
        ),
      );
  return problems;
}

/**
 * Checks a result against the manifest that it was graded by: every test of the manifest once and no other, merged
 * statuses recomputed from ranks, the summary recomputed. Returns what differs, all of it.
 */
export function checkResult(result: Result, manifest: Manifest): Problem[] {
  const problems: Problem[] = differences(
    { suite: { slug: manifest.suite.slug, version: manifest.suite.version }, task: manifest.task.slug },
    { suite: result.suite, task: result.task },
  ).map((difference) =>
    problem(
      "bundle.task-mismatch",
      difference.path,
      `says ${difference.actual}, the manifest says ${difference.expected}`,
      "a result and its manifest are of one task",
    ),
  );
  const nprocOf = new Map(manifest.groups.map(({ id, nproc }) => [id, nproc]));
  const outcomeOf = new Map<string, TestOutcome>();
  for (const test of result.tests) {
    if (outcomeOf.has(test.id))
      problems.push(
        problem(
          "result.duplicate-test",
          `tests[${test.id}]`,
          "the test is listed twice",
          "each test of the manifest stands in the result once",
        ),
      );
    outcomeOf.set(test.id, test);
  }
  const listed = new Map(manifest.tests.map((test) => [test.id, test]));
  for (const test of manifest.tests) {
    const outcome = outcomeOf.get(test.id);
    const nproc = nprocOf.get(test.group);
    if (!outcome)
      problems.push(
        problem(
          "result.missing-test",
          `tests[${test.id}]`,
          "the manifest lists this test and the result does not",
          "a test that nothing reported is listed as not-run",
        ),
      );
    else if (nproc === undefined)
      problems.push(
        problem(
          "result.group",
          `tests[${test.id}].group`,
          `the manifest has no group '${test.group}'`,
          "a test belongs to a group of its manifest",
        ),
      );
    else
      problems.push(
        ...checkTest(test, outcome, nproc, result, manifest.suite.probes === "hidden" && test.kind === "probe"),
      );
  }
  for (const test of result.tests)
    if (!listed.has(test.id))
      problems.push(
        problem(
          "result.unlisted-test",
          `tests[${test.id}]`,
          "the manifest does not list this test",
          "tests that a patch adds stand under extraTests and never count",
        ),
      );
  for (const { id } of result.extraTests)
    if (listed.has(id))
      problems.push(
        problem(
          "result.extra-test",
          `extraTests[${id}]`,
          "the manifest lists this test",
          "extraTests holds only what the manifest does not list",
        ),
      );
  for (const difference of differences(summarize(result.tests, result.status === "completed"), result.summary))
    problems.push(
      problem(
        "result.arithmetic",
        `summary.${difference.path}`,
        `says ${difference.actual}, the tests add up to ${difference.expected}`,
        "the summary is what contract's summarize() yields from the tests",
      ),
    );
  if (result.status !== "completed" && result.reason === null)
    problems.push(
      problem(
        "result.reason",
        "reason",
        `status '${result.status}' comes without a reason`,
        "any status but completed states its reason and evidence",
      ),
    );
  if (result.executor === "process" && result.sandboxed)
    problems.push(
      problem(
        "result.sandbox",
        "sandboxed",
        "says that the executor 'process' ran in a sandbox",
        "the executor 'process' isolates nothing: its results are not sandboxed",
      ),
    );
  if (Date.parse(result.finishedAt) < Date.parse(result.startedAt))
    problems.push(
      problem("result.times", "finishedAt", "the grading ends before it starts", "finishedAt is not before startedAt"),
    );
  return problems;
}

/**
 * Checks that a completed grading has no guard item and no negative control that reported as only a grading tampered
 * with lets it report.
 */
export function checkGuard(guard: Guard, result: Result): Problem[] {
  if (result.status !== "completed") return [];
  const controls = (guard.controls ?? [])
    .filter(({ observed }) => observed === "passed")
    .map(({ test }) => ({
      code: "result.guard",
      message: `'${test}' passed as a negative control too, and the grading is called completed`,
      where: `${bundlePaths.guard}#controls`,
      rule: "where a test passes that was changed so that no honest run passes it, the grading was tampered with",
      remedy: "grade again with a current runner; a result that breaks this rule is not evidence",
    }));
  const canaries = guard.canaries
    .filter(
      ({ expected, observed }) =>
        observed === "skipped" || (observed !== expected && (observed === "passed" || observed === "failed")),
    )
    .map(({ launch, rank, expected, observed }) => ({
      code: "result.guard",
      message: `launch ${launch}, rank ${rank}: a guard item that must have ${expected} is ${observed}, and the grading is called completed`,
      where: `${bundlePaths.guard}#canaries`,
      rule: "where a guard item reports the wrong outcome, the grading was tampered with",
      remedy: "grade again with a current runner; a result that breaks this rule is not evidence",
    }));
  return [...canaries, ...controls];
}

/** Checks the replay inputs against manifest and patch. */
export function checkRunLock(runLock: RunLock, manifest: Manifest, patchSha256: string): Problem[] {
  const stated = {
    suite: runLock.suite,
    task: runLock.task,
    patchSha256: runLock.patchSha256,
  };
  const expected = {
    suite: { slug: manifest.suite.slug, version: manifest.suite.version },
    task: {
      slug: manifest.task.slug,
      gradingDigest: manifest.digests.grading,
      baseTree: manifest.task.baseTree,
    },
    patchSha256,
  };
  return differences(expected, stated).map((difference) => ({
    code: difference.path === "patchSha256" ? "bundle.patch-mismatch" : "bundle.task-mismatch",
    message: `says ${difference.actual}, manifest and patch say ${difference.expected}`,
    where: `${bundlePaths.runLock}#${difference.path}`,
    rule: "the replay inputs are those of this task and this patch",
    remedy: "grade again; run.lock.json belongs to another grading",
  }));
}
