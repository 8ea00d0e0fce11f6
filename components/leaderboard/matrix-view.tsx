import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Board, BoardRow, TaskCell } from "@/lib/contract/api";
import type { Category } from "@/lib/contract/vocabulary";
import { countWord, formatNumber, formatPct, formatRankSet, plural } from "@/lib/format/numbers";
import type { Matrix, MatrixRow } from "@/lib/prepare/board-matrix";
import type { PageOf } from "@/lib/prepare/board-shown";
import { type BoardView, changedHref } from "@/lib/prepare/board-view";
import { categoryLabels, verdictLabels } from "@/lib/prepare/labels";
import { taskHref } from "@/lib/prepare/task-list-view";
import { VerdictLegend } from "./board-notes";
import { Choice } from "./choice";
import { PageLinks } from "./page-links";

/** A cell in words: its verdict, and how many of the required tests pass. */
function cellText({ verdict, requiredPassed, requiredTotal }: TaskCell): string {
  const counts = requiredTotal ? `, ${requiredPassed ?? 0} of ${requiredTotal} required tests` : "";
  return `${verdictLabels[verdict]}${verdict === "resolved" ? "" : counts}`;
}

function Cells({ row, cells }: MatrixRow) {
  return cells.map((cell) => {
    const text = cellText(cell);
    const square = <span className={`square square-${cell.verdict}`} />;
    return (
      <td key={cell.task} className="matrix-cell">
        {cell.verdict === "missing" ? (
          <span role="img" aria-label={text}>
            {square}
          </span>
        ) : (
          <a href={`/submissions/${row.submissionId}/${cell.task}`} aria-label={text}>
            {square}
          </a>
        )}
      </td>
    );
  });
}

function Line({ line, category, rank }: { line: MatrixRow; category: Category | null; rank: boolean }) {
  const { row } = line;
  const share = category ? row.byCategory.find((one) => one.category === category)?.share : row.resolved;
  return (
    <tr>
      <th scope="row" className="matrix-entry" data-name={row.entry.model}>
        <a href={`/entries/${row.entry.slug}`}>
          <bdi>{row.entry.model}</bdi>
        </a>
        <small>
          {formatPct(share?.pct)} %{rank ? `, rank ${formatRankSet(row.rankSet)}` : ""}
        </small>
      </th>
      <Cells {...line} />
    </tr>
  );
}

function MatrixTable(props: { board: Board; view: BoardView; matrix: Matrix; rows: readonly MatrixRow[] }) {
  const { board, view, matrix, rows } = props;
  const { tasks, references, entries } = matrix;
  const judges = entries > 0 ? entries : references.length;
  const noun = entries > 0 ? plural(entries, "entry", "entries") : plural(judges, "reference set");
  return (
    <ScrollRegion label="Entries by tasks">
      <table className="matrix">
        <caption className="sr-only">
          {entries > 0 ? "Entries" : "Reference patch sets"} by tasks, the most often resolved task first
        </caption>
        <thead>
          <tr>
            <th scope="col" className="matrix-entry" data-name="">
              <span className="sr-only">Entry</span>
            </th>
            {tasks.map((task) => (
              <th key={task.slug} scope="col" className="matrix-task" data-name={task.title}>
                <a href={taskHref(board.suite, task.slug)} aria-label={task.title} title={task.title}>
                  <span>{task.slug}</span>
                </a>
              </th>
            ))}
          </tr>
          <tr className="matrix-solved">
            <th scope="row" className="matrix-entry" data-name="Resolved by">
              Resolved by, of {judges} {noun}
            </th>
            {tasks.map((task) => (
              <td key={task.slug}>{formatNumber(task.resolvedBy, Number.isInteger(task.resolvedBy) ? 0 : 1)}</td>
            ))}
          </tr>
        </thead>
        {rows.length > 0 ? (
          <tbody>
            {rows.map((line) => (
              <Line key={line.row.submissionId} line={line} category={view.category} rank />
            ))}
          </tbody>
        ) : null}
        {references.length > 0 ? (
          <tbody className="matrix-references">
            <tr>
              <th scope="rowgroup" colSpan={tasks.length + 1}>
                Reference patch sets, unranked
              </th>
            </tr>
            {references.map((line) => (
              <Line key={line.row.submissionId} line={line} category={view.category} rank={false} />
            ))}
          </tbody>
        ) : null}
      </table>
    </ScrollRegion>
  );
}

function undrawnText(undrawn: readonly BoardRow[]): string {
  const count = undrawn.length;
  return `${count === 1 ? "One row states" : `${formatNumber(count)} rows state`} counts only: which tasks ${plural(count, "it resolves", "they resolve")} was not published, so ${plural(count, "it is", "they are")} not drawn.`;
}

/** Entries by tasks: which verdict each got on each, every cell a link to its attempt. */
export function MatrixView(props: { board: Board; view: BoardView; matrix: Matrix; page: PageOf<MatrixRow> }) {
  const { board, view, matrix, page } = props;
  const { undrawn, hiddenTasks, tasks } = matrix;
  const isEmpty = page.total + matrix.references.length === 0;
  return (
    <section id="ranking" aria-label="Entries by tasks">
      <nav className="axis-choice" aria-label="Tasks shown">
        <span aria-hidden="true">Tasks shown</span>
        <ul>
          <Choice href={changedHref(view, { matrix: "all" })} current={view.matrix === "all"}>
            {view.category ? `All ${categoryLabels[view.category]} tasks` : "All"}
          </Choice>
          <Choice href={changedHref(view, { matrix: "discriminating" })} current={view.matrix === "discriminating"}>
            Discriminating
          </Choice>
        </ul>
      </nav>
      {isEmpty || tasks.length === 0 ? (
        <p className="empty">
          {isEmpty
            ? "No row of this view has per-task data, so there is nothing to set against the tasks."
            : "No task is resolved by some of the entries and not by others."}{" "}
          <a href={changedHref(view, { matrix: isEmpty ? null : "all" })}>
            {isEmpty ? "Show the table" : "Show all tasks"}
          </a>
        </p>
      ) : (
        <div className="matrix-grid">
          <p className="matrix-reading">Each square leads to its attempt; the arrow keys step from square to square.</p>
          <MatrixTable board={board} view={view} matrix={matrix} rows={page.items} />
          <script src="/matrix.js" async />
        </div>
      )}
      <PageLinks view={view} page={page} />
      {isEmpty || tasks.length === 0 ? null : <VerdictLegend />}
      <div className="notes">
        {undrawn.length > 0 ? <p>{undrawnText(undrawn)}</p> : null}
        {hiddenTasks > 0 && tasks.length > 0 ? (
          <p>
            {hiddenTasks === 1 ? "One task is" : `${formatNumber(hiddenTasks)} tasks are`} not shown: all of the{" "}
            {matrix.entries > 0 ? "entries" : "reference sets"} resolve {plural(hiddenTasks, "it", "each of them")}, or
            none does.
          </p>
        ) : null}
        {matrix.entries === 0 && matrix.references.length > 0 ? (
          <p>No entry is ranked here by per-task data: the order of the tasks is that of the reference sets.</p>
        ) : null}
        {matrix.entries > 1 && tasks.length > 0 ? (
          <p>
            Tasks by how many of the {countWord(matrix.entries)} ranked entries{" "}
            {view.tests === "official" ? "pass their official tests" : "resolve them"}
            {", whatever is filtered."}
          </p>
        ) : null}
      </div>
    </section>
  );
}
