import {
  type Board,
  type BoardRanking,
  type BoardRow,
  listedPairsMax,
  type Share,
  type TaskCell,
} from "@/lib/contract/api";
import type { BoardFacts, BoardRowFacts, ReportedShare, TaskFacts } from "@/lib/contract/board-facts";
import { categories, tiers } from "@/lib/contract/vocabulary";
import { wilsonInterval } from "@/lib/stats/intervals";
import { mcnemarBounds, mcnemarExact, signFlipTest, winsNeeded } from "@/lib/stats/paired-tests";
import { seededRandom } from "@/lib/stats/random";
import { decidePairs, type PairEvidence, rankSets } from "@/lib/stats/rank-sets";

/** Seed of every drawn statistic of a board, so that two readings of the same data agree to the last digit. */
export const boardSeed = 2610_36589;

type CategoryCounts = Board["suite"]["categoryCounts"];

/** Counts as a share of `total`, with the Wilson interval. */
function countedShare(resolved: number, total: number): Share {
  const interval = total > 0 ? wilsonInterval(resolved, total) : null;
  return {
    resolved,
    total,
    pct: total > 0 ? (100 * resolved) / total : 0,
    interval: interval ? [100 * interval[0], 100 * interval[1]] : null,
  };
}

/** A sum of fractions that is off a whole number by less than this is that number. */
const roundingError = 1e-9;

/**
 * Sum of scores over tasks as a share of `total`. The interval is of counts of yes and no, so it is given only where
 * every score is 0 or 1: means over attempts may sum to a whole number too.
 */
export function scoredShare(scores: readonly number[], total: number): Share {
  const score = sum(scores, (one) => one);
  const whole = Math.round(score);
  if (isBinary(scores)) return countedShare(whole, total);
  const isWhole = Math.abs(score - whole) < roundingError;
  return {
    resolved: isWhole ? whole : null,
    total,
    pct: total > 0 ? (100 * (isWhole ? whole : score)) / total : 0,
    interval: null,
  };
}

function reportedShare(share: ReportedShare): Share {
  return share.resolved === null
    ? { resolved: null, total: share.total, pct: share.pct, interval: null }
    : countedShare(share.resolved, share.total);
}

const sum = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((total, item) => total + of(item), 0);

const isBinary = (scores: readonly number[]) => scores.every((score) => score === 0 || score === 1);

function missingTask(task: string): TaskFacts {
  return {
    task,
    verdict: "missing",
    score: 0,
    officialScore: 0,
    passedShare: 0,
    officialResolvedAttempts: 0,
    probeRejectedAttempts: 0,
    requiredPassed: null,
    requiredTotal: null,
    status: null,
  };
}

/** The row's tasks in the suite's order, a missing one for each that has no grading. */
function tasksInOrder(facts: BoardFacts, tasks: readonly TaskFacts[]): TaskFacts[] {
  const byTask = new Map(tasks.map((task) => [task.task, task]));
  return facts.suite.tasks.map((task) => byTask.get(task.slug) ?? missingTask(task.slug));
}

function gradedNumbers(facts: BoardFacts, given: readonly TaskFacts[]) {
  const tasks = tasksInOrder(facts, given);
  const categoryOf = new Map(facts.suite.tasks.map((task) => [task.slug, task.category]));
  const total = facts.suite.taskCount;
  const cells: TaskCell[] = tasks.map((task, index) => ({
    task: task.task,
    category: facts.suite.tasks[index]?.category ?? "training",
    verdict: task.verdict,
    score: task.score,
    officialScore: task.officialScore,
    requiredPassed: task.requiredPassed,
    requiredTotal: task.requiredTotal,
    status: task.status,
  }));
  const anyGraded = tasks.some((task) => task.verdict !== "missing");
  const byCategory = (score: (task: TaskFacts) => number) =>
    facts.suite.categoryCounts.map(({ category, count }) => ({
      category,
      share: scoredShare(tasks.filter((task) => categoryOf.get(task.task) === category).map(score), count),
    }));
  return {
    resolved: scoredShare(
      tasks.map((task) => task.score),
      total,
    ),
    officialResolved: scoredShare(
      tasks.map((task) => task.officialScore),
      total,
    ),
    probeRejected: {
      rejected: sum(tasks, (task) => task.probeRejectedAttempts),
      officialResolved: sum(tasks, (task) => task.officialResolvedAttempts),
    },
    passedPct: anyGraded && total > 0 ? (100 * sum(tasks, (task) => task.passedShare)) / total : null,
    byCategory: byCategory((task) => task.score),
    officialByCategory: byCategory((task) => task.officialScore),
    tasks: cells,
    missing: tasks.filter((task) => task.verdict === "missing").length,
    provisional: tasks.some((task) => task.status === "infra"),
  };
}

function reportedNumbers(counts: CategoryCounts, evidence: Extract<BoardRowFacts["evidence"], { kind: "reported" }>) {
  const { resolved, officialResolved } = evidence;
  return {
    resolved: reportedShare(resolved),
    officialResolved: officialResolved ? reportedShare(officialResolved) : null,
    probeRejected:
      officialResolved?.resolved != null && resolved.resolved != null
        ? {
            rejected: officialResolved.resolved - resolved.resolved,
            officialResolved: officialResolved.resolved,
          }
        : null,
    passedPct: evidence.passedPct,
    byCategory: counts.flatMap(({ category }) => {
      const share = evidence.byCategory.find((one) => one.category === category);
      return share ? [{ category, share: reportedShare(share) }] : [];
    }),
    officialByCategory: null,
    tasks: null,
    missing: 0,
    provisional: false,
  };
}

function prepareRow(facts: BoardFacts, row: BoardRowFacts): BoardRow {
  const numbers =
    row.evidence.kind === "graded"
      ? gradedNumbers(facts, row.evidence.tasks)
      : reportedNumbers(facts.suite.categoryCounts, row.evidence);
  return {
    entry: row.entry,
    submissionId: row.submissionId,
    organization: row.organization,
    tier: row.tier,
    rankSet: null,
    officialRankSet: null,
    ...numbers,
    provisional: numbers.provisional || row.provisional === true,
    timeMin: row.timeMin,
    costUsd: row.costUsd,
    tokensM: row.tokensM,
    steps: row.steps,
    footnotes: row.footnotes,
    date: row.date,
  };
}

function byResolved(a: BoardRow, b: BoardRow): number {
  return (
    b.resolved.pct - a.resolved.pct ||
    tiers.indexOf(b.tier) - tiers.indexOf(a.tier) ||
    (b.passedPct ?? -1) - (a.passedPct ?? -1) ||
    (a.entry.slug < b.entry.slug ? -1 : 1)
  );
}

/** A row with its tasks' scores, 0 to 1, in the suite's order; null where there is no per-task data. */
export interface ScoredRow {
  row: BoardRow;
  scores: number[] | null;
}

type PairMethod = Board["pairs"][number]["method"];

const bitsOfScores = new WeakMap<readonly number[], Uint32Array | null>();

/** Scores of 0 and 1 as bits, null where one is neither. Kept by the scores: a row is compared with every other. */
function yesBitsOf(scores: readonly number[]): Uint32Array | null {
  const known = bitsOfScores.get(scores);
  if (known !== undefined) return known;
  const bits = isBinary(scores) ? new Uint32Array(Math.ceil(scores.length / 32)) : null;
  if (bits)
    for (const [index, score] of scores.entries())
      if (score === 1) bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31));
  bitsOfScores.set(scores, bits);
  return bits;
}

/** How many bits stand in `some` alone. */
function countOnly(some: Uint32Array, other: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < some.length; word += 1) {
    for (let rest = (some[word] ?? 0) & ~(other[word] ?? 0); rest !== 0; rest &= rest - 1) count += 1;
  }
  return count;
}

/** The p-values that the data of two rows allow, and the test that gave them. */
export function compareRows(a: ScoredRow, b: ScoredRow): { method: PairMethod; smallest: number; largest: number } {
  if (a.scores && b.scores) {
    const [won, lost] = [yesBitsOf(a.scores), yesBitsOf(b.scores)];
    if (won && lost) {
      const p = mcnemarExact(countOnly(won, lost), countOnly(lost, won));
      return { method: "mcnemar", smallest: p, largest: p };
    }
    const differences = a.scores.map((score, index) => score - (b.scores?.[index] ?? 0));
    const p = signFlipTest(differences, seededRandom(boardSeed));
    return { method: "sign-flip", smallest: p, largest: p };
  }
  // the bounds are of counts of yes and no
  if ([a, b].some(({ scores }) => scores && !isBinary(scores))) return { method: "bounds", smallest: 0, largest: 1 };
  const strata = categories.flatMap((category) => {
    const shareA = a.row.byCategory.find((one) => one.category === category)?.share;
    const shareB = b.row.byCategory.find((one) => one.category === category)?.share;
    return shareA?.resolved != null && shareB?.resolved != null && shareA.total === shareB.total
      ? [{ a: shareA.resolved, b: shareB.resolved, total: shareA.total }]
      : [];
  });
  const whole = a.row.resolved;
  const other = b.row.resolved;
  if (sum(strata, (stratum) => stratum.total) === whole.total && whole.total > 0) {
    return { method: "bounds", ...mcnemarBounds(strata) };
  }
  if (whole.resolved !== null && other.resolved !== null) {
    return {
      method: "bounds",
      ...mcnemarBounds([{ a: whole.resolved, b: other.resolved, total: whole.total }]),
    };
  }
  return { method: "bounds", smallest: 0, largest: 1 };
}

/** A board's rows with their scores: ranked models, provisional ones and reference sets, each by % resolved. */
export function scoredRows(facts: BoardFacts): Record<"ranked" | "provisional" | "references", ScoredRow[]> {
  const prepared = facts.rows.map((given): ScoredRow => {
    const row = prepareRow(facts, given);
    return { row, scores: row.tasks?.map((task) => task.score) ?? null };
  });
  const order = (a: ScoredRow, b: ScoredRow) => byResolved(a.row, b.row);
  const models = prepared.filter(({ row }) => row.entry.kind === "model");
  return {
    ranked: models.filter(({ row }) => !row.provisional).sort(order),
    provisional: models.filter(({ row }) => row.provisional).sort(order),
    references: prepared.filter(({ row }) => row.entry.kind === "reference").sort(order),
  };
}

/** A pair of ranked rows, by index: the ends of its p-value, raw and adjusted over all pairs, and what they decide. */
export type DecidedPair = PairEvidence & ReturnType<typeof decidePairs>[number] & { method: PairMethod };

/** Tests every pair of ranked rows and adjusts over all of them. */
export function decideRows(ranked: readonly ScoredRow[]): DecidedPair[] {
  const evidence = ranked.flatMap((a, i) =>
    ranked.slice(i + 1).map((b, offset) => ({
      a: i,
      b: i + 1 + offset,
      difference: a.row.resolved.pct - b.row.resolved.pct,
      ...compareRows(a, b),
    })),
  );
  const decisions = decidePairs(evidence);
  return evidence.flatMap((pair, index) => {
    const decision = decisions[index];
    return decision ? [Object.assign(pair, decision)] : [];
  });
}

/** The same rows by official tests alone, those that state them, the most resolved first. */
export function officialRows(rows: readonly ScoredRow[]): ScoredRow[] {
  return rows
    .flatMap(({ row }): ScoredRow[] => {
      if (!row.officialResolved) return [];
      const shares = { resolved: row.officialResolved, byCategory: row.officialByCategory ?? [] };
      return [{ row: { ...row, ...shares }, scores: row.tasks?.map((task) => task.officialScore) ?? null }];
    })
    .sort((a, b) => byResolved(a.row, b.row));
}

/** Pairs of which something can be said first, then the smallest p. */
const sayingMost = (a: DecidedPair, b: DecidedPair) =>
  Number(a.verdict === "not-separated") - Number(b.verdict === "not-separated") ||
  a.adjustedSmallest - b.adjustedSmallest ||
  a.smallest - b.smallest;

/** At most `listedPairsMax` pairs, those that say most; all in their order where there are no more. */
function pairsToList(decided: readonly DecidedPair[]): readonly DecidedPair[] {
  if (decided.length <= listedPairsMax) return decided;
  const said = decided.filter((pair) => pair.verdict !== "not-separated");
  const pool = said.length >= listedPairsMax ? said : decided;
  // only those up to the last that is listed are put in order: there may be a hundred thousand
  const last = Float64Array.from(pool, (pair) => pair.adjustedSmallest).sort()[listedPairsMax - 1] ?? 1;
  return pool
    .filter((pair) => pair.adjustedSmallest <= last)
    .sort(sayingMost)
    .slice(0, listedPairsMax);
}

/**
 * Tests every pair of ranked rows, and gives each row's rank set by its entry. In `pairs`, where counts bound the
 * test, `p` is the bound that decides: the largest for a separated pair, the smallest for one that is not, null where
 * neither decides.
 */
function rankRows(ranked: readonly ScoredRow[], taskCount: number) {
  const decided = decideRows(ranked);
  const separations = decided.flatMap((pair) =>
    pair.verdict === "separated"
      ? [pair.difference > 0 ? { better: pair.a, worse: pair.b } : { better: pair.b, worse: pair.a }]
      : [],
  );
  const sets = rankSets(ranked.length, separations);
  const count = (verdict: DecidedPair["verdict"]) => decided.filter((pair) => pair.verdict === verdict).length;
  const needed = decided.length > 0 ? winsNeeded(decided.length) : null;
  const ranking: BoardRanking = {
    pairs: pairsToList(decided).map((pair) => {
      const { method, verdict } = pair;
      const unknown = verdict === "cannot-tell" && pair.smallest !== pair.largest;
      return {
        a: ranked[pair.a]?.row.entry.slug ?? "",
        b: ranked[pair.b]?.row.entry.slug ?? "",
        method,
        verdict,
        p: unknown ? null : verdict === "separated" ? pair.largest : pair.smallest,
        pAdjusted: unknown ? null : verdict === "separated" ? pair.adjustedLargest : pair.adjustedSmallest,
      };
    }),
    pairCounts: {
      all: decided.length,
      separated: separations.length,
      cannotTell: count("cannot-tell"),
      notSeparated: count("not-separated"),
    },
    power: {
      pairs: decided.length,
      winsNeeded: needed !== null && needed <= taskCount ? needed : null,
      winsNeededSinglePair: winsNeeded(1),
    },
  };
  return { ranking, setOf: new Map(ranked.map(({ row }, index) => [row.entry.slug, sets[index] ?? null])) };
}

/**
 * Computes a board from its facts: shares with Wilson intervals, paired tests over every pair of ranked rows, Holm's
 * adjustment, rank sets and the power line, by all required tests and by the official ones alone. Pure and
 * deterministic. Ranked are models' rows that are not provisional; provisional rows follow them unranked, reference sets
 * stand apart.
 */
export function prepareBoard(facts: BoardFacts): Board {
  const { ranked, provisional, references } = scoredRows(facts);
  const { taskCount } = facts.suite;
  const all = rankRows(ranked, taskCount);
  const byOfficial = officialRows(ranked);
  const official = rankRows(byOfficial, taskCount);
  return {
    suite: facts.suite,
    promptCondition: facts.promptCondition,
    skill: facts.skill,
    rows: [
      ...ranked.map(({ row }) => ({
        ...row,
        rankSet: all.setOf.get(row.entry.slug) ?? null,
        officialRankSet: official.setOf.get(row.entry.slug) ?? null,
      })),
      ...provisional.map(({ row }) => row),
    ],
    references: references.map(({ row }) => row),
    notes: facts.notes,
    ...all.ranking,
    official: byOfficial.length > 0 ? official.ranking : null,
  };
}
