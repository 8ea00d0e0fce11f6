import { type Board, listedPairsMax } from "@/lib/contract/api";
import { taskVerdicts } from "@/lib/contract/vocabulary";
import { formatNumber, formatP, plural } from "@/lib/format/numbers";
import { columnsOf } from "@/lib/prepare/board-columns";
import { boardTwinHref } from "@/lib/prepare/board-twins";
import type { BoardView } from "@/lib/prepare/board-view";
import { verdictLabels } from "@/lib/prepare/labels";
import { noteMark } from "./board-table";
import { VerdictGlyph } from "./task-strip";

function VerdictTerms() {
  return taskVerdicts.map((verdict) => (
    <div key={verdict}>
      <dt>
        <VerdictGlyph verdict={verdict} />
      </dt>
      <dd>{verdictLabels[verdict]}</dd>
    </div>
  ));
}

/** What the squares of a matrix mean. */
export function VerdictLegend() {
  return (
    <dl className="legend" aria-label="Legend">
      <VerdictTerms />
    </dl>
  );
}

/** What the marks of bars and strips mean. */
export function Legend({ board }: { board: Board }) {
  const everyRow = [...board.rows, ...board.references];
  const graded = everyRow.some((row) => row.tasks);
  const counted = everyRow.some((row) => !row.tasks);
  return (
    <dl className="legend" aria-label="Legend">
      {graded ? <VerdictTerms /> : null}
      {counted ? (
        <div>
          <dt>
            <svg className="glyph" width="26" height="14" aria-hidden="true">
              <rect className="count-track" y="1" width="26" height="12" />
              <rect className="count-fill" y="1" width="15" height="12" />
            </svg>
          </dt>
          <dd>counts per category: which tasks they are was not published</dd>
        </div>
      ) : null}
      <div>
        <dt>
          <svg className="glyph" width="26" height="14" aria-hidden="true">
            <g className="whisker">
              <line x1="1" x2="25" y1="7" y2="7" />
              <line x1="1" x2="1" y1="3" y2="11" />
              <line x1="25" x2="25" y1="3" y2="11" />
            </g>
          </svg>
        </dt>
        <dd>Wilson 95 % interval</dd>
      </div>
      {everyRow.some((row) => row.officialResolved) ? (
        <div>
          <dt>
            <svg className="glyph" width="26" height="14" aria-hidden="true">
              <rect className="bar-official" x=".5" y="1.5" width="25" height="11" />
            </svg>
          </dt>
          <dd>passes every official test, not the probes</dd>
        </div>
      ) : null}
    </dl>
  );
}

/** Footnotes of the board's rows, by their marks. */
export function Footnotes({ board }: { board: Board }) {
  const notes = Object.entries(board.notes);
  return notes.length > 0 ? (
    <ul>
      {notes.map(([key, text], index) => (
        <li key={key} id={`note-${key}`}>
          <sup>{noteMark(index)}</sup> {text}
        </li>
      ))}
    </ul>
  ) : null;
}

/** Footnotes, and the columns that are left out since no row states them. */
export function Notes({ board }: { board: Board }) {
  const { empty } = columnsOf(board.rows);
  return (
    <div className="notes">
      <Footnotes board={board} />
      {board.rows.length > 0 && empty.length > 0 ? (
        <p>Stated by no row, so not shown: {empty.map((column) => column.name).join(", ")}.</p>
      ) : null}
    </div>
  );
}

/** Pairs listed on the page at most; the board as JSON has more. */
const pairLimit = 100;

/** Pairs that differ, or that the counts leave open, with their p-values, the smallest first. */
export function Pairs({ board, view }: { board: Board; view: BoardView }) {
  const names = new Map(board.rows.map((row) => [row.entry.slug, row.entry.model]));
  const listed = board.pairs
    .filter((pair) => pair.verdict !== "not-separated")
    .sort((a, b) => (a.pAdjusted ?? 1) - (b.pAdjusted ?? 1));
  const { all, separated, cannotTell } = board.pairCounts;
  const said = separated + cannotTell;
  if (said === 0) return null;
  return (
    <details className="pairs">
      <summary>
        {formatNumber(said)} of {formatNumber(all)} {plural(all, "pair")}: told apart, or left open by published counts
      </summary>
      <table className="plain">
        <caption className="sr-only">Pairs of entries that differ or that the published counts leave open</caption>
        <thead>
          <tr>
            <th scope="col">Entry</th>
            <th scope="col">Entry</th>
            <th scope="col">What can be said</th>
            <th scope="col">Test</th>
            <th scope="col" className="num">
              p
            </th>
            <th scope="col" className="num">
              p, Holm
            </th>
          </tr>
        </thead>
        <tbody>
          {listed.slice(0, pairLimit).map((pair) => (
            <tr key={`${pair.a} ${pair.b}`}>
              <td>
                <bdi>{names.get(pair.a) ?? pair.a}</bdi>
              </td>
              <td>
                <bdi>{names.get(pair.b) ?? pair.b}</bdi>
              </td>
              <td>{pair.verdict === "separated" ? "told apart" : "cannot be told from the published counts"}</td>
              <td>
                {{ mcnemar: "exact McNemar", "sign-flip": "sign flips", bounds: "bounds by counts" }[pair.method]}
              </td>
              <td className="num">{formatP(pair.p)}</td>
              <td className="num">{formatP(pair.pAdjusted)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {said > pairLimit ? (
        <p className="aside">
          The {pairLimit} of the smallest p are shown.{" "}
          {said > listedPairsMax ? `The first ${formatNumber(listedPairsMax)}` : "All of them"} stand in the{" "}
          <a href={boardTwinHref(board, view, "")}>board as JSON</a>.
        </p>
      ) : null}
    </details>
  );
}
