import type { TaskCell } from "@/lib/contract/api";
import type {
  CompareAnswer,
  ComparedCell,
  ComparedSide,
  ComparedTask,
  Comparison,
  DeltaMetric,
} from "@/lib/contract/compare-api";
import { deltaMetrics } from "@/lib/contract/compare-api";
import type { ComparisonFacts, RunFigures } from "@/lib/contract/compare-facts";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";
import { suggestPairs } from "./compare-pairs";
import { groupOf, type PlacedBoard, type PlacedRow, placeBoard, testOfficialRows, testRows } from "./compare-rows";

const rowsOf = (board: PlacedBoard) => [...board.ranked, ...board.provisional, ...board.references];

function strataOf(a: PlacedRow, b: PlacedRow): Comparison["strata"] {
  if (a.scores && b.scores) return null;
  return a.row.byCategory.flatMap(({ category, share }) => {
    const other = b.row.byCategory.find((one) => one.category === category)?.share;
    if (share.resolved === null || other?.resolved == null || share.total !== other.total) return [];
    return [
      {
        category,
        total: share.total,
        a: share.resolved,
        b: other.resolved,
        bothLeast: Math.max(0, share.resolved + other.resolved - share.total),
        bothMost: Math.min(share.resolved, other.resolved),
      },
    ];
  });
}

function cellOf(cell: TaskCell, run: RunFigures | undefined): ComparedCell {
  return {
    verdict: cell.verdict,
    score: cell.score,
    officialScore: cell.officialScore,
    requiredPassed: cell.requiredPassed,
    requiredTotal: cell.requiredTotal,
    attempted: run !== undefined,
    timeMin: run?.timeMin ?? null,
    costUsd: run?.costUsd ?? null,
    tokensM: run?.tokensM ?? null,
    steps: run?.steps ?? null,
  };
}

function tasksOf(a: PlacedRow, b: PlacedRow, { runs }: ComparisonFacts): ComparedTask[] | null {
  const [left, right] = [a.row.tasks, b.row.tasks];
  if (!left || !right) return null;
  return a.board.facts.suite.tasks.flatMap(({ slug, title, category, type }, index): ComparedTask[] => {
    const [cellA, cellB] = [left[index], right[index]];
    if (!cellA || !cellB) return [];
    return [
      {
        task: slug,
        title,
        category,
        type,
        group: groupOf(cellA.score, cellB.score),
        a: cellOf(cellA, runs.get(a.row.submissionId)?.get(slug)),
        b: cellOf(cellB, runs.get(b.row.submissionId)?.get(slug)),
      },
    ];
  });
}

const figure: Record<DeltaMetric, keyof RunFigures> = {
  time: "timeMin",
  cost: "costUsd",
  tokens: "tokensM",
  steps: "steps",
};

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function deltasOf(a: PlacedRow, b: PlacedRow, tasks: readonly ComparedTask[] | null): Comparison["deltas"] {
  return deltaMetrics.flatMap((metric): Comparison["deltas"] => {
    const key = figure[metric];
    const pairs = (tasks ?? []).flatMap((task) => {
      const [left, right] = [task.a[key], task.b[key]];
      return left === null || right === null ? [] : [{ left, right }];
    });
    if (pairs.length > 0) {
      const differences = pairs.map(({ left, right }) => left - right);
      return [
        {
          metric,
          tasks: pairs.length,
          a: mean(pairs.map(({ left }) => left)),
          b: mean(pairs.map(({ right }) => right)),
          difference: mean(differences),
          interval: pairs.length > 1 ? bootstrapInterval(differences, mean, seededRandom(boardSeed)) : null,
        },
      ];
    }
    const [left, right] = [a.row[key], b.row[key]];
    return left === null || right === null
      ? []
      : [{ metric, tasks: 0, a: left, b: right, difference: left - right, interval: null }];
  });
}

function failuresOf(a: PlacedRow, b: PlacedRow, { failures }: ComparisonFacts): Comparison["failures"] {
  if (!a.scores || !b.scores) return null;
  const kinds = new Map(failures.map((one) => [`${one.class} ${one.type}`, one]));
  const count = (row: PlacedRow, kind: { class: string; type: string }) =>
    failures.find(
      (one) => one.submissionId === row.row.submissionId && one.class === kind.class && one.type === kind.type,
    )?.attempts ?? 0;
  return [...kinds.values()].map((kind) => ({
    class: kind.class,
    type: kind.type,
    title: kind.title,
    a: count(a, kind),
    b: count(b, kind),
  }));
}

function sideOf({ row: { tasks: _tasks, ...row }, entry, board }: PlacedRow): ComparedSide {
  return {
    row: {
      ...row,
      rankSet: board.ranking.rankSetOf.get(entry.slug) ?? null,
      officialRankSet: board.official.rankSetOf.get(entry.slug) ?? null,
    },
    promptCondition: entry.promptCondition,
    skill: entry.skill,
  };
}

function compare(a: PlacedRow, b: PlacedRow, facts: ComparisonFacts): Comparison {
  const tasks = tasksOf(a, b, facts);
  return {
    a: sideOf(a),
    b: sideOf(b),
    test: testRows(a, b),
    officialTest: testOfficialRows(a, b),
    strata: strataOf(a, b),
    tasks,
    deltas: deltasOf(a, b, tasks),
    failures: failuresOf(a, b, facts),
  };
}

/**
 * Two entries of one suite version against each other, or, until both are chosen, pairs worth a look. `chosen` are slugs
 * of entries that have a row there. Pure and deterministic: what is drawn is drawn with the board's seed.
 */
export function prepareCompare(
  facts: ComparisonFacts,
  chosen: { a: string | null; b: string | null },
): Omit<CompareAnswer, "ran"> {
  const boards = facts.boards.map(placeBoard);
  const [first] = facts.boards;
  if (!first) throw new RangeError("prepareCompare: a suite version has at least one board");
  const { tasks: _tasks, ...suite } = first.suite;
  const rows = boards.flatMap(rowsOf);
  const find = (slug: string | null) => rows.find(({ entry }) => entry.slug === slug) ?? null;
  const [a, b] = [find(chosen.a), find(chosen.b)];
  const compared = a && b && a !== b ? compare(a, b, facts) : null;
  return {
    state: compared ? "compared" : a && a === b ? "same" : "pairs",
    suite,
    a: a?.entry ?? null,
    b: b?.entry ?? null,
    entries: rows.map(({ entry, row }) => ({
      ...entry,
      provisional: row.provisional,
      resolvedPct: row.resolved.pct,
    })),
    pairs: compared ? [] : suggestPairs(boards, a ?? b),
    comparison: compared,
  };
}
