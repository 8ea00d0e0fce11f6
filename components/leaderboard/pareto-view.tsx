import type { ReactNode } from "react";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Board } from "@/lib/contract/api";
import { type ParetoAxis, paretoAxes } from "@/lib/contract/vocabulary";
import { capitalize, formatInterval, formatPct, formatPctUnit, missingValue } from "@/lib/format/numbers";
import { type BoardView, changedHref } from "@/lib/prepare/board-view";
import { categoryLabels } from "@/lib/prepare/labels";
import { type Pareto, type ParetoPoint, paretoAxisWords, preparePareto, withoutFigureText } from "@/lib/prepare/pareto";
import { entryLine, NoteMarks } from "./board-table";
import { Choice } from "./choice";
import { ParetoChart } from "./pareto-chart";

interface Props {
  board: Board;
  view: BoardView;
  axis: ParetoAxis;
  footnotes: ReactNode;
}

function AxisChoice({ view, axis }: { view: BoardView; axis: ParetoAxis }) {
  return (
    <nav className="axis-choice" aria-label="Resolved against">
      <span aria-hidden="true">Resolved against</span>
      <ul>
        {paretoAxes.map((one) => (
          <Choice key={one} href={changedHref(view, { pareto: one })} current={one === axis}>
            {paretoAxisWords[one].label}
          </Choice>
        ))}
      </ul>
    </nav>
  );
}

/** A point in words, as the chart reads it out. */
function pointText({ row, x, y, interval, dominatedBy }: ParetoPoint, axis: ParetoAxis): string {
  const range = interval ? `, 95\u202f% interval ${formatInterval(interval)}` : "";
  const standing = dominatedBy
    ? `\u2068${dominatedBy.entry.model}\u2069 resolves as much or more and ${paretoAxisWords[axis].noMore}`
    : "on the frontier";
  return `\u2068${row.entry.model}\u2069: ${formatPctUnit(y)}${range}, at ${paretoAxisWords[axis].amount(x)}; ${standing}.`;
}

function FigureTable({ board, view, pareto }: { board: Board; view: BoardView; pareto: Pareto }) {
  const words = paretoAxisWords[pareto.axis];
  const resolved = view.category ? `Resolved, ${categoryLabels[view.category]}` : "Resolved";
  return (
    <ScrollRegion label="Figures of the chart">
      <table className="plain pareto-table">
        <caption className="sr-only">
          {resolved} against {words.noun}, the lowest {words.noun} first
        </caption>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" className="num" aria-sort="ascending">
              {words.label}
              <span className="unit"> {words.unit}</span>
              <span className="sort-mark" aria-hidden="true" />
            </th>
            <th scope="col" className="num">
              {resolved}
              <span className="unit"> %</span>
            </th>
            <th scope="col" className="num">
              95 % interval
            </th>
            <th scope="col">Frontier</th>
          </tr>
        </thead>
        <tbody>
          {pareto.points.map((point) => (
            <tr key={point.row.submissionId} className={point.frontier ? "on-frontier" : undefined}>
              <th scope="row">
                <a href={`/submissions/${point.row.submissionId}`}>
                  <bdi>{point.row.entry.model}</bdi>
                </a>
                <NoteMarks board={board} row={point.row} />
                <small>
                  <bdi>{entryLine(point.row)}</bdi>
                </small>
              </th>
              <td className="num">{words.figure(point.x)}</td>
              <td className="num">{formatPct(point.y)}</td>
              <td className="num">{point.interval ? formatInterval(point.interval) : missingValue}</td>
              <td>
                {point.dominatedBy ? (
                  <span className="muted">
                    behind <bdi>{point.dominatedBy.entry.model}</bdi>
                  </span>
                ) : (
                  "on it"
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** % resolved against cost, time or tokens: a sentence and a table in HTML, and a chart of the same points in the browser. */
export function ParetoView({ board, view, axis, footnotes }: Props) {
  const pareto = preparePareto(board, axis, view.category);
  const words = paretoAxisWords[axis];
  const without = withoutFigureText(pareto);
  if (pareto.points.length === 0) {
    return (
      <section id="ranking" aria-label={`Resolved against ${words.noun}`}>
        <AxisChoice view={view} axis={axis} />
        <p className="empty">
          {board.rows.some((row) => row.rankSet)
            ? `No ranked row of this board states its ${words.noun}, so nothing can be set against it.`
            : `No model is ranked on this board yet, and reference patch sets have no ${words.noun}.`}{" "}
          <a href={changedHref(view, { pareto: null })}>Show the table</a>
        </p>
      </section>
    );
  }
  return (
    <section id="ranking" aria-label={`Resolved against ${words.noun}`}>
      <AxisChoice view={view} axis={axis} />
      <figure className="pareto" aria-labelledby="pareto-summary">
        <figcaption id="pareto-summary">{pareto.summary}</figcaption>
        <ParetoChart
          points={pareto.points.map((point) => ({
            href: `/submissions/${point.row.submissionId}`,
            label: point.row.entry.model,
            text: pointText(point, axis),
            x: point.x,
            y: point.y,
            interval: point.interval,
            frontier: point.frontier,
          }))}
          x={pareto.x}
          y={pareto.y}
          xTitle={`${words.label} per task, ${words.unit}${pareto.x.kind === "log" ? " (logarithmic)" : ""}`}
          yTitle={`${view.category ? `${categoryLabels[view.category]} tasks resolved` : "Resolved"}, %`}
        />
      </figure>
      <FigureTable board={board} view={view} pareto={pareto} />
      <div className="notes">
        <p>
          The frontier follows the figures as they stand; the lines through the marks are Wilson 95 % intervals, and
          what they leave open is in the rank sets. {capitalize(words.noun)}: mean per task
          {view.category ? " over the whole suite, not of this category" : ""}.{without ? ` ${without}` : ""}
        </p>
        {footnotes}
      </div>
    </section>
  );
}
