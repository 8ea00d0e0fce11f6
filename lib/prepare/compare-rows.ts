import type { BoardFacts } from "@/lib/contract/board-facts";
import type { ComparedEntry, PairedTest, TaskGroup } from "@/lib/contract/compare-api";
import { decidePairs, rankSets } from "@/lib/stats/rank-sets";
import { compareRows, type DecidedPair, decideRows, officialRows, type ScoredRow, scoredRows } from "./board";

/** Rows that were tested against each other: every decided pair, and each row's place and rank set by its entry. */
interface Ranking {
  pairs: DecidedPair[];
  placeOf: ReadonlyMap<string, number>;
  rankSetOf: ReadonlyMap<string, [number, number]>;
}

/** A row where it stands. */
export interface PlacedRow extends ScoredRow {
  board: PlacedBoard;
  entry: ComparedEntry;
}

/** A board with its rows: ranked best first, provisional ones, reference sets; ranked by all tests and by official ones. */
export interface PlacedBoard {
  facts: BoardFacts;
  ranked: PlacedRow[];
  provisional: PlacedRow[];
  references: PlacedRow[];
  ranking: Ranking;
  official: Ranking;
}

function rank(rows: readonly ScoredRow[]): Ranking {
  const pairs = decideRows(rows);
  const separations = pairs
    .filter(({ verdict }) => verdict === "separated")
    .map(({ a, b, difference }) => (difference > 0 ? { better: a, worse: b } : { better: b, worse: a }));
  const sets = rankSets(rows.length, separations);
  return {
    pairs,
    placeOf: new Map(rows.map(({ row }, place) => [row.entry.slug, place])),
    rankSetOf: new Map(rows.flatMap(({ row }, place) => (sets[place] ? [[row.entry.slug, sets[place]] as const] : []))),
  };
}

/** Places a board's rows and decides its pairs. */
export function placeBoard(facts: BoardFacts): PlacedBoard {
  const rows = scoredRows(facts);
  const board: PlacedBoard = {
    facts,
    ranked: [],
    provisional: [],
    references: [],
    ranking: rank(rows.ranked),
    official: rank(officialRows(rows.ranked)),
  };
  const placed = (scored: ScoredRow): PlacedRow => ({
    ...scored,
    board,
    entry: { ...scored.row.entry, promptCondition: facts.promptCondition, skill: facts.skill },
  });
  board.ranked = rows.ranked.map(placed);
  board.provisional = rows.provisional.map(placed);
  board.references = rows.references.map(placed);
  return board;
}

/** More often on one side, or as often on both: of one attempt each, who resolves the task. */
export function groupOf(a: number, b: number): TaskGroup {
  if (a !== b) return a > b ? "only-a" : "only-b";
  return a > 0 ? "both" : "neither";
}

function countGroups(a: readonly number[], b: readonly number[]): NonNullable<PairedTest["counts"]> {
  const groups = a.map((score, index) => groupOf(score, b[index] ?? 0));
  const count = (group: TaskGroup) => groups.filter((one) => one === group).length;
  return { both: count("both"), onlyA: count("only-a"), onlyB: count("only-b"), neither: count("neither") };
}

/** The test of a pair by what the rows' scores or counts say; adjusted where `ranking` holds both. */
function testPair(a: ScoredRow, b: ScoredRow, ranking: Ranking | null): PairedTest {
  const { method, smallest, largest } = compareRows(a, b);
  const tested = {
    method,
    counts: a.scores && b.scores ? countGroups(a.scores, b.scores) : null,
    p: [smallest, largest] as [number, number],
  };
  const places = [a, b].flatMap(({ row }) => ranking?.placeOf.get(row.entry.slug) ?? []).sort((x, y) => x - y);
  const decided = ranking?.pairs.find((pair) => pair.a === places[0] && pair.b === places[1]);
  if (ranking && decided)
    return {
      ...tested,
      adjusted: { p: [decided.adjustedSmallest, decided.adjustedLargest], pairs: ranking.pairs.length },
      verdict: decided.verdict,
    };
  const difference = a.row.resolved.pct - b.row.resolved.pct;
  const [alone] = decidePairs([{ a: 0, b: 1, difference, smallest, largest }]);
  return { ...tested, adjusted: null, verdict: alone?.verdict ?? "not-separated" };
}

/** The paired test of two rows by all required tests. */
export function testRows(a: PlacedRow, b: PlacedRow): PairedTest {
  return testPair(a, b, a.board === b.board ? a.board.ranking : null);
}

/** The same by official tests alone; null without per-task data on both sides. */
export function testOfficialRows(a: PlacedRow, b: PlacedRow): PairedTest | null {
  const [one, other] = [officialRows([a])[0], officialRows([b])[0]];
  return one?.scores && other?.scores ? testPair(one, other, a.board === b.board ? a.board.official : null) : null;
}
