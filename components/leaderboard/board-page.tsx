import { StructuredData } from "@/components/ui/structured-data";
import type { Board, BoardRow } from "@/lib/contract/api";
import { countWord, plural } from "@/lib/format/numbers";
import { formatDate } from "@/lib/format/times";
import type { BoardPageModel } from "@/lib/prepare/board-page";
import type { ShownBoard } from "@/lib/prepare/board-shown";
import { boardDataset } from "@/lib/prepare/board-twins";
import { type BoardView, changedHref } from "@/lib/prepare/board-view";
import { categoryLabels } from "@/lib/prepare/labels";
import { Meaning } from "./board-meaning";
import { Footnotes, Legend, Notes, Pairs } from "./board-notes";
import { BoardTable } from "./board-table";
import { FilterNote, UnstatedNote } from "./board-tools";
import { MatrixView } from "./matrix-view";
import { PageLinks } from "./page-links";
import { ParetoView } from "./pareto-view";
import { StripCells } from "./strip-cells";
import type { SuiteChoice } from "./suite-choice";
import { StripPatterns, stripTasks } from "./task-strip";
import { ViewControls } from "./view-controls";

const bySlug = (rows: readonly BoardRow[]) => new Map(rows.map((row) => [row.entry.slug, row]));

/** The ranking as a table, with its legend, notes, told-apart pairs, and the reference sets apart. */
function Ranking({ board, view, model }: { board: Board; view: BoardView; model: BoardPageModel }) {
  const { shown, page } = model;
  const official = view.tests === "official";
  const { suite } = board;
  const by = official ? ", by official tests alone" : "";
  const count = `${countWord(page.total)} ${plural(page.total, "entry", "entries")}`;
  return (
    <StripCells groups={stripTasks(suite)}>
      <section id="ranking" aria-label="Ranking">
        {page.total > 0 ? (
          <BoardTable
            board={shown.board}
            view={view}
            rows={page.items}
            caption={`Ranking of ${count} on ${suite.title} ${suite.version}${by}`}
            sortable
            both={official ? bySlug(board.rows) : undefined}
            part={page.pages > 1 ? page : undefined}
          />
        ) : (
          <p className="empty">{emptyText(board, shown)}</p>
        )}
        <PageLinks view={view} page={page} />
        {view.category ? (
          <p className="aside">
            Shown: {categoryLabels[view.category]} tasks. Rank sets stay those of the whole board.{" "}
            <a href={changedHref(view, { category: null })}>All tasks</a>
          </p>
        ) : null}
        <UnstatedNote shown={shown} view={view} />
        <Legend board={shown.board} />
        <Notes board={shown.board} />
        <Pairs board={shown.board} view={view} />
      </section>
      {shown.board.references.length > 0 ? (
        <section className="references" aria-labelledby="references">
          <h2 id="references">Reference patch sets</h2>
          <p className="aside">
            Unranked. Gold is the change as it was merged, nop is no change at all, mutants are wrong changes that every
            official test lets pass: they show that the grading tells right from wrong.
          </p>
          <BoardTable
            board={shown.board}
            view={{ ...view, category: null }}
            rows={shown.board.references}
            caption="Reference patch sets"
            sortable={false}
            both={official ? bySlug(board.references) : undefined}
          />
        </section>
      ) : null}
    </StripCells>
  );
}

function emptyText(board: Board, shown: ShownBoard): string {
  if (shown.hidden > 0) return "No row of this board has what the filters ask for.";
  if (shown.unstated.length > 0) return "No row of this board states what it resolves by official tests alone.";
  return `No model has been graded on this board. ${
    board.references.length > 0 ? "Graded patch sets appear below; a" : "A"
  } submission’s row appears with its first grading.`;
}

/** The leaderboard of one suite version under one condition, complete in HTML. */
export function BoardPage(props: {
  board: Board;
  view: BoardView;
  suites: readonly SuiteChoice[];
  model: BoardPageModel;
}) {
  const { board, view, suites, model } = props;
  const { finding, shown, matrix } = model;
  const { citation } = board.suite;
  return (
    <>
      <StructuredData data={boardDataset(board, view, finding.lead)} />
      <StripPatterns />
      <section className="finding">
        <h1>{finding.headline}</h1>
        <p className="lead">{finding.lead}</p>
      </section>
      <ViewControls board={board} view={view} suites={suites} />
      <FilterNote view={view} shown={shown} />
      {view.pareto ? (
        <ParetoView
          board={{ ...shown.board, rows: shown.rows }}
          view={view}
          axis={view.pareto}
          footnotes={<Footnotes board={board} />}
        />
      ) : matrix ? (
        <MatrixView board={shown.board} view={view} {...matrix} />
      ) : (
        <Ranking board={board} view={view} model={model} />
      )}
      <Meaning board={shown.board} />
      {citation ? (
        <p className="source">
          Source of reported rows: <a href={citation.url}>{citation.title}</a>, {formatDate(citation.published)}.{" "}
          {citation.extent}
        </p>
      ) : null}
    </>
  );
}
