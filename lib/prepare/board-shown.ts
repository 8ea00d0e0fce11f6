import type { Board, BoardRow } from "@/lib/contract/api";
import { filterRows } from "./board-filters";
import { type BoardView, sortRows } from "./board-view";

/** Rows of a board that one page shows; a longer board has several pages. */
export const rowsPerPage = 100;

/**
 * The board as official tests alone rank it: their shares and rank sets in the place of those by all required tests.
 * Rows that do not state them are left out.
 */
function officialBoard(board: Board): Board {
  const byOfficial = (row: BoardRow): BoardRow[] =>
    row.officialResolved
      ? [
          {
            ...row,
            resolved: row.officialResolved,
            byCategory: row.officialByCategory ?? [],
            rankSet: row.officialRankSet,
          },
        ]
      : [];
  const none = { pairs: [], pairCounts: { all: 0, separated: 0, cannotTell: 0, notSeparated: 0 } };
  return {
    ...board,
    rows: board.rows
      .flatMap(byOfficial)
      .sort((a, b) => Number(a.provisional) - Number(b.provisional) || b.resolved.pct - a.resolved.pct),
    references: board.references.flatMap(byOfficial).sort((a, b) => b.resolved.pct - a.resolved.pct),
    ...(board.official ?? { ...none, power: { ...board.power, pairs: 0, winsNeeded: null } }),
  };
}

/** A board in one of its views, before its rows are cut into pages. */
export interface ShownBoard {
  /** Ranked by the view's tests. */
  board: Board;
  /** The rows that the view's filters let through, in its order. */
  rows: BoardRow[];
  /** Rows that they hide. */
  hidden: number;
  /** Rows that are left out since they do not state what the view ranks by. */
  unstated: BoardRow[];
}

/** Ranks, filters and orders a board's rows as a view asks. Rank sets stay those of the whole board. */
export function prepareShown(board: Board, view: BoardView): ShownBoard {
  const ranked = view.tests === "official" ? officialBoard(board) : board;
  const rows = sortRows(filterRows(ranked.rows, view.filters, board.suite), view);
  return {
    board: ranked,
    rows,
    hidden: ranked.rows.length - rows.length,
    unstated: view.tests === "official" ? board.rows.filter((row) => !row.officialResolved) : [],
  };
}

/** One page out of a list: its items, how many pages there are, and the number of its first item, from 1. */
export interface PageOf<T> {
  items: readonly T[];
  page: number;
  pages: number;
  first: number;
  total: number;
}

/** Page `page` of `items`, from 1; null where there is no such page. An empty list has one page. */
export function pageOf<T>(items: readonly T[], page: number, perPage: number): PageOf<T> | null {
  const pages = Math.max(1, Math.ceil(items.length / perPage));
  if (page > pages) return null;
  const start = (page - 1) * perPage;
  return { items: items.slice(start, start + perPage), page, pages, first: start + 1, total: items.length };
}
