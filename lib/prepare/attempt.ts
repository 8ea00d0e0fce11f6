import type { AttemptDetail } from "@/lib/contract/api";
import type { Frame, RankOutcome, Resource, TestOutcome, Usage } from "@/lib/contract/result";
import type { ManifestTest } from "@/lib/contract/task";
import type { TaskVerdict, TestKind } from "@/lib/contract/vocabulary";
import { countWord, plural } from "@/lib/format/numbers";
import { gradingStatusLabels } from "./labels";

type Grading = NonNullable<AttemptDetail["grading"]>;

/** The four-way verdict of a grading that counts. */
export function verdictOf(grading: Grading | null): TaskVerdict {
  if (!grading?.counts || grading.status === "infra" || grading.status === "canceled") return "missing";
  if (grading.summary.resolved) return "resolved";
  return grading.summary.officialResolved ? "probe-rejected" : "failed";
}

/** The verdict as a sentence with its counts. */
export function verdictSentence(grading: Grading | null): string {
  if (!grading) return "Not graded yet.";
  const { requiredTotal, requiredPassed, officialTotal, officialPassed } = grading.summary;
  const probes = requiredTotal - officialTotal;
  const probesPassed = requiredPassed - officialPassed;
  if (grading.status !== "completed") {
    return `${gradingStatusLabels[grading.status].replace(/^./, (letter) => letter.toUpperCase())}: no outcome counts.`;
  }
  switch (verdictOf(grading)) {
    case "resolved":
      return `All ${countWord(requiredTotal)} required ${plural(requiredTotal, "test")} pass, on every required rank.`;
    case "probe-rejected":
      return `All ${countWord(officialTotal)} official ${plural(officialTotal, "test")} pass; ${countWord(probes - probesPassed)} of ${countWord(probes)} ${plural(probes, "probe")} ${plural(probes - probesPassed, "does", "do")} not.`;
    case "failed":
      return `${officialPassed} of ${officialTotal} official ${plural(officialTotal, "test")} and ${probesPassed} of ${probes} ${plural(probes, "probe")} pass.`;
    case "missing":
      return grading.late
        ? "Arrived after its lease was lost: kept as evidence, never scored."
        : "This grading does not count.";
  }
}

/** A test with its manifest entry. */
export interface ShownTest {
  outcome: TestOutcome;
  manifest: ManifestTest | null;
}

/** Tests of one kind: required ones first, those that did not pass first among them, else the manifest's order. */
export function testsOf(detail: AttemptDetail, kind: TestKind): ShownTest[] {
  const manifest = new Map(detail.manifestTests.map((test) => [test.id, test]));
  const weight = (test: TestOutcome) => (test.required ? 0 : 2) + (test.status === "passed" ? 1 : 0);
  return detail.tests
    .filter((test) => test.kind === kind)
    .map((outcome, index) => ({ outcome, index, manifest: manifest.get(outcome.id) ?? null }))
    .sort((a, b) => weight(a.outcome) - weight(b.outcome) || a.index - b.index)
    .map(({ outcome, manifest: entry }) => ({ outcome, manifest: entry }));
}

/** Why a test did not pass: seen from its root rank, the ranks that only followed listed after it. */
export interface ShownFailure extends ShownTest {
  root: RankOutcome | null;
  /** Ranks whose failure the root's explains. */
  secondary: number[];
  /** Ranks that failed on their own, besides the root. */
  others: RankOutcome[];
}

const rankFailed = (rank: RankOutcome) => rank.status !== "passed" && rank.status !== "skipped";

/** Required tests that did not pass, official ones first. */
export function failuresOf(detail: AttemptDetail): ShownFailure[] {
  return [...testsOf(detail, "official"), ...testsOf(detail, "probe")]
    .filter(({ outcome }) => outcome.required && outcome.status !== "passed")
    .map((test) => {
      const failed = test.outcome.ranks.filter(rankFailed);
      const root = failed.find((rank) => rank.rank === test.outcome.rootRank) ?? failed[0] ?? null;
      const follows = (rank: RankOutcome) => rank.failure?.secondaryOf != null;
      return {
        ...test,
        root,
        secondary: failed.filter((rank) => rank !== root && follows(rank)).map((rank) => rank.rank),
        others: failed.filter((rank) => rank !== root && !follows(rank)),
      };
    });
}

/** Evidence beside a test's failures, the root rank's first. */
export const evidenceOf = ({ outcome, root }: ShownFailure) =>
  [...(root === null ? [] : [root]), ...outcome.ranks.filter((rank) => rank.rank !== root?.rank)].flatMap((rank) =>
    (rank.failure?.evidence ?? []).map((evidence) => ({ rank: rank.rank, evidence })),
  );

/** Frames for reading: the project's own, innermost first; then the test's; the rest apart. */
export function framesOf(frames: readonly Frame[]): { near: Frame[]; rest: Frame[] } {
  const innermostFirst = [...frames].reverse();
  const near = [
    ...innermostFirst.filter((frame) => frame.origin === "project"),
    ...innermostFirst.filter((frame) => frame.origin === "test" || frame.origin === "probe"),
  ];
  return { near, rest: innermostFirst.filter((frame) => frame.origin === "other") };
}

/** A measured resource with its bar: value and limit as per cent of a scale that holds both. */
export interface ShownResource extends Resource {
  testId: string;
  valuePct: number;
  limitPct: number;
  /** Least and greatest of the repeats, where they differ. */
  spreadPct: { min: number; max: number } | null;
}

/** Tests with what was measured of them. */
export type MeasuredTests = { tests: readonly Pick<TestOutcome, "id" | "resources" | "usage">[] };

/** Every measured resource, the worst rank of a test first. */
export function resourcesOf(detail: MeasuredTests): ShownResource[] {
  return detail.tests.flatMap((test) =>
    test.resources.map((resource) => {
      const { value, limit, spread } = resource;
      const scale = 1.15 * Math.max(value, limit, spread?.max ?? 0, Number.MIN_VALUE);
      const pctOf = (amount: number) => Math.max(0, (100 * amount) / scale);
      const spreads = spread !== undefined && spread.min < spread.max;
      return {
        ...resource,
        testId: test.id,
        valuePct: pctOf(value),
        limitPct: pctOf(limit),
        spreadPct: spreads ? { min: pctOf(spread.min), max: pctOf(spread.max) } : null,
      };
    }),
  );
}

/** Tests with what each took in the launch that decided it; those of which nothing was measured are left out. */
export function usedOf(detail: MeasuredTests): { testId: string; usage: Usage }[] {
  return detail.tests.flatMap(({ id, usage }) =>
    usage !== undefined && Object.values(usage).some((value) => value !== null) ? [{ testId: id, usage }] : [],
  );
}

/** An anchor for a test's failure: its place among the attempt's tests. */
export function failureAnchor(detail: AttemptDetail, testId: string): string {
  return `failure-${detail.tests.findIndex((test) => test.id === testId) + 1}`;
}

/** `tests/training/test_x.py::TestA::test_b[2]` as its file and its name. */
export function splitTestId(id: string): { file: string; name: string } {
  const at = id.indexOf("::");
  return at < 0 ? { file: "", name: id } : { file: id.slice(0, at), name: id.slice(at + 2) };
}
