import type { PairReason, SuggestedPair } from "@/lib/contract/compare-api";
import { type PlacedBoard, type PlacedRow, testRows } from "./compare-rows";

/** Pairs of one reason at most. */
const mostOfReason = 6;
const mostOfChosen = 12;

type Pair = readonly [PlacedRow | undefined, PlacedRow | undefined];

/** Pairs of a board in the order of its ranking, those decided in one way by their p-values. */
function boardPairs(board: PlacedBoard): [PairReason, Pair[]][] {
  const { ranked, references } = board;
  const decided = (verdict: string, end: "adjustedSmallest" | "adjustedLargest"): Pair[] =>
    board.ranking.pairs
      .filter((pair) => pair.verdict === verdict)
      .sort((x, y) => x[end] - y[end])
      .slice(0, mostOfReason)
      .map((pair) => [ranked[pair.a], ranked[pair.b]]);
  return [
    ["neighbours", ranked.slice(1, 1 + mostOfReason).map((row, index): Pair => [ranked[index], row])],
    ["ends", ranked.length > 2 ? [[ranked[0], ranked.at(-1)]] : []],
    ["separated", decided("separated", "adjustedLargest")],
    ["open", decided("cannot-tell", "adjustedSmallest")],
    ["reference", references.slice(1, 1 + mostOfReason).map((row): Pair => [references[0], row])],
  ];
}

/** Rows of two boards that differ in nothing but what the boards differ in. */
function twinPairs(boards: readonly PlacedBoard[], reason: "skill" | "condition"): Pair[] {
  const settled = (board: PlacedBoard) =>
    reason === "skill" ? board.facts.promptCondition : (board.facts.skill ?? "");
  const varied = (board: PlacedBoard) => (reason === "skill" ? (board.facts.skill ?? "") : board.facts.promptCondition);
  const configuration = ({ entry }: PlacedRow) =>
    JSON.stringify([entry.model, entry.agent, entry.agentVersion, entry.reasoningEffort, entry.networkPolicy]);
  return boards.flatMap((one, index) =>
    boards
      .slice(index + 1)
      .filter((other) => settled(one) === settled(other) && varied(one) !== varied(other))
      .flatMap((other) =>
        one.ranked.flatMap((row): Pair[] => {
          const twin = other.ranked.find((candidate) => configuration(candidate) === configuration(row));
          return twin ? [[row, twin]] : [];
        }),
      ),
  );
}

function chosenPairs(boards: readonly PlacedBoard[], chosen: PlacedRow): Pair[] {
  const peers = boards
    .flatMap((board) => (board === chosen.board ? [board.ranked, board.provisional, board.references] : []))
    .find((rows) => rows.includes(chosen));
  return (peers ?? []).flatMap((row): Pair[] => (row === chosen ? [] : [[chosen, row]])).slice(0, mostOfChosen);
}

/** Pairs worth a look, each once and with the first reason that names it; with an entry chosen, those that hold it. */
export function suggestPairs(boards: readonly PlacedBoard[], chosen: PlacedRow | null): SuggestedPair[] {
  const reasons: [PairReason, Pair[]][] = chosen
    ? [["chosen", chosenPairs(boards, chosen)]]
    : [
        ["skill", twinPairs(boards, "skill").slice(0, mostOfReason)],
        ["condition", twinPairs(boards, "condition").slice(0, mostOfReason)],
        ...boards.flatMap(boardPairs),
      ];
  const seen = new Set<string>();
  return reasons.flatMap(([reason, pairs]) =>
    pairs.flatMap(([a, b]) => {
      if (!a || !b) return [];
      const key = a.entry.slug < b.entry.slug ? `${a.entry.slug} ${b.entry.slug}` : `${b.entry.slug} ${a.entry.slug}`;
      if (seen.has(key)) return [];
      seen.add(key);
      return [{ a: a.entry, b: b.entry, reason, test: testRows(a, b) }];
    }),
  );
}
