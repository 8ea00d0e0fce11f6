import { ChartDownload } from "@/components/ui/chart-download";
import type { Board } from "@/lib/contract/api";
import { boardTwinHref } from "@/lib/prepare/board-twins";
import type { BoardView } from "@/lib/prepare/board-view";
import { paretoAxisWords } from "@/lib/prepare/pareto";

/** The board in other forms, as plain links. */
export function ExportMenu({ board, view }: { board: Board; view: BoardView }) {
  const row = board.rows[0];
  return (
    <details className="export">
      <summary>Export</summary>
      <ul>
        <li>
          <a href={boardTwinHref(board, view, ".csv")} download={`${board.suite.slug}-${board.suite.version}.csv`}>
            CSV
          </a>
        </li>
        <li>
          <a href={boardTwinHref(board, view, "")}>JSON</a>
        </li>
        <li>
          <a href={boardTwinHref(board, view, ".md")}>Markdown</a>
        </li>
        <li>
          <a href={boardTwinHref(board, view, ".svg")}>Ranking as SVG</a>
        </li>
        {view.pareto ? (
          <ChartDownload
            place="pareto-plot"
            title={`${board.suite.title} ${board.suite.version}: resolved against ${paretoAxisWords[view.pareto].noun}`}
            name={`${board.suite.slug}-${board.suite.version}-${view.pareto}`}
          />
        ) : null}
        {board.suite.citation ? (
          <li>
            <a href={boardTwinHref(board, view, ".bib")}>BibTeX</a>
          </li>
        ) : null}
        {row ? (
          <li>
            <a href={`/badge/${row.entry.slug}.svg`}>Badge of the first row</a>
          </li>
        ) : null}
        <li>
          <a href="/feed.xml">Feed of changes</a>
        </li>
        <li>
          <a href="/docs/api">API</a>
        </li>
      </ul>
    </details>
  );
}
