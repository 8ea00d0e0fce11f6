import type { Board } from "@/lib/contract/api";
import { countWord, formatP } from "@/lib/format/numbers";

/** What a difference needs on this board, as a sentence. */
export function winsNeededText(board: Board): string {
  const { pairs, winsNeeded, winsNeededSinglePair } = board.power;
  const single = `one pair looked at alone, ${countWord(winsNeededSinglePair)} won and none lost (p = ${formatP(2 ** (1 - winsNeededSinglePair))}; ${winsNeededSinglePair - 1} to 0 is ${(2 ** (2 - winsNeededSinglePair)).toFixed(4)})`;
  if (pairs === 0) return `A difference between two entries needs, for ${single}.`;
  if (winsNeeded === null) {
    return `With ${countWord(board.suite.taskCount)} tasks and ${pairs} ${pairs === 1 ? "pair" : "pairs"} no difference on this board can be significant; for ${single}.`;
  }
  return `To tell two entries apart on this board (${pairs} ${pairs === 1 ? "pair" : "pairs"}) one must win at least ${countWord(winsNeeded)} tasks that the other does not, and lose none; for ${single}.`;
}
