import type { Board } from "@/lib/contract/api";
import type { BoardView } from "@/lib/prepare/board-view";
import { readBoardView } from "@/lib/server/board-request";
import { found } from "@/lib/server/http";
import { findBoard } from "./find-board";

/** The board that a request of the API names, by the reader of its page. Throws `board.query` or `board.unknown`. */
export async function readBoard(request: Request): Promise<{ board: Board; view: BoardView }> {
  const view = readBoardView(request);
  const asked = `${view.suite ?? "the first suite"} ${view.version ?? ""}`.trim();
  const { board } = found(await findBoard(view), "board.unknown", asked);
  return { board, view };
}
