import type { Board, BoardRow } from "@/lib/contract/api";
import { type Matrix, type MatrixRow, matrixChoice, matrixRowsPerPage, prepareMatrix } from "./board-matrix";
import { type PageOf, pageOf, prepareShown, rowsPerPage, type ShownBoard } from "./board-shown";
import type { BoardView } from "./board-view";
import { type Finding, prepareFinding, prepareOfficialFinding } from "./finding";

/** Everything that one page of the leaderboard draws. */
export interface BoardPageModel {
  finding: Finding;
  shown: ShownBoard;
  /** Rows of the table; every row where the view is no table. */
  page: PageOf<BoardRow>;
  matrix: { matrix: Matrix; page: PageOf<MatrixRow> } | null;
}

/** Prepares a page of a board in a view; null where the view has no such page. */
export function prepareBoardPage(board: Board, view: BoardView): BoardPageModel | null {
  const shown = prepareShown(board, view);
  const finding = view.tests === "official" ? prepareOfficialFinding(board, shown.board) : prepareFinding(shown.board);
  if (view.matrix) {
    const matrix = prepareMatrix(shown.board, shown.rows, matrixChoice(view, view.matrix));
    const page = pageOf(matrix.rows, view.page, matrixRowsPerPage(matrix.tasks.length));
    const whole = pageOf(shown.rows, 1, Math.max(1, shown.rows.length));
    return page && whole && { finding, shown, page: whole, matrix: { matrix, page } };
  }
  const page = pageOf(shown.rows, view.page, view.pareto ? Math.max(1, shown.rows.length) : rowsPerPage);
  return page && { finding, shown, page, matrix: null };
}
