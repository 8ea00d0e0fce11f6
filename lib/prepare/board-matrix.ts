import type { Board, BoardRow, TaskCell } from "@/lib/contract/api";
import type { Category, TaskChoice } from "@/lib/contract/vocabulary";
import type { BoardView } from "./board-view";

/** A column of the matrix: a task, with how many of the entries resolve it. */
interface MatrixTask {
  slug: string;
  title: string;
  category: Category;
  /** Sum over the entries of their share of attempts that resolve it: a whole number where each tried once. */
  resolvedBy: number;
}

/** A row of the matrix: its cells stand in the order of the tasks. */
export interface MatrixRow {
  row: BoardRow;
  cells: TaskCell[];
}

/** Entries by tasks: what each made of each. */
export interface Matrix {
  /** The most often resolved first; equal ones in the suite's order. */
  tasks: MatrixTask[];
  rows: MatrixRow[];
  references: MatrixRow[];
  /** Entries that solve rates are over: every ranked entry with per-task data, whatever is filtered. */
  entries: number;
  /** Rows without per-task data. */
  undrawn: BoardRow[];
  /** Tasks that the choice leaves out. */
  hiddenTasks: number;
}

/** Cells on one page of the matrix, references included, at most about: each is a link. */
const cellsPerPage = 4000;

/** Rows of one page of a matrix of so many tasks. */
export function matrixRowsPerPage(tasks: number): number {
  return Math.min(100, Math.max(10, Math.floor(cellsPerPage / Math.max(1, tasks))));
}

/** Whether some of the entries resolve a task and others do not: only such a task says who is ahead. */
const isDiscriminating = (resolvedBy: number, entries: number): boolean => resolvedBy > 0 && resolvedBy < entries;

interface MatrixChoice {
  category: Category | null;
  tasks: TaskChoice;
  /** By official tests alone. */
  official: boolean;
}

/** What a view asks of the matrix. */
export function matrixChoice(view: Pick<BoardView, "category" | "tests">, tasks: TaskChoice): MatrixChoice {
  return { category: view.category, tasks, official: view.tests === "official" };
}

/**
 * Sets `rows` and the board's reference sets against the suite's tasks. Where no entry has per-task data, the references
 * order the tasks; they never count as entries.
 */
export function prepareMatrix(board: Board, rows: readonly BoardRow[], choice: MatrixChoice): Matrix {
  const position = new Map(board.suite.tasks.map(({ slug }, index) => [slug, index]));
  const scoreOf = (row: BoardRow, index: number) =>
    (choice.official ? row.tasks?.[index]?.officialScore : row.tasks?.[index]?.score) ?? 0;
  const ranked = board.rows.filter((row) => row.tasks && row.rankSet);
  const judges = ranked.length > 0 ? ranked : board.references.filter((row) => row.tasks);
  const solved = new Map(
    board.suite.tasks.map(({ slug }, index) => [slug, judges.reduce((sum, row) => sum + scoreOf(row, index), 0)]),
  );
  const every = board.suite.tasks.filter(({ category }) => !choice.category || category === choice.category);
  const chosen = every.filter(
    ({ slug }) => choice.tasks === "all" || isDiscriminating(solved.get(slug) ?? 0, judges.length),
  );
  const tasks = chosen
    .map(({ slug, title, category }): MatrixTask => ({ slug, title, category, resolvedBy: solved.get(slug) ?? 0 }))
    .sort((a, b) => b.resolvedBy - a.resolvedBy || (position.get(a.slug) ?? 0) - (position.get(b.slug) ?? 0));
  const drawn = (row: BoardRow): MatrixRow[] => {
    const { tasks: all } = row;
    return all ? [{ row, cells: tasks.flatMap(({ slug }) => all[position.get(slug) ?? -1] ?? []) }] : [];
  };
  return {
    tasks,
    rows: rows.flatMap(drawn),
    references: board.references.flatMap(drawn),
    entries: ranked.length,
    undrawn: rows.filter((row) => !row.tasks),
    hiddenTasks: every.length - tasks.length,
  };
}
