import { StructuredData } from "@/components/ui/structured-data";
import { type Board, listedPairsMax } from "@/lib/contract/api";
import { countWord, formatNumber, formatP, plural } from "@/lib/format/numbers";
import { formatDate } from "@/lib/format/times";
import { columnsOf } from "@/lib/prepare/board-columns";
import { boardDataset, boardTwinHref } from "@/lib/prepare/board-twins";
import { type BoardView, viewHref } from "@/lib/prepare/board-view";
import { prepareFinding } from "@/lib/prepare/finding";
import { categoryLabels, conditionLabels, verdictLabels } from "@/lib/prepare/labels";
import { winsNeededText } from "@/lib/prepare/power";
import { BoardTable, noteMark } from "./board-table";
import { ParetoView } from "./pareto-view";
import type { SuiteChoice } from "./suite-choice";
import { StripPatterns, VerdictGlyph } from "./task-strip";
import { ViewControls } from "./view-controls";

function Legend({ board }: { board: Board }) {
  const everyRow = [...board.rows, ...board.references];
  const graded = everyRow.some((row) => row.tasks);
  const counted = everyRow.some((row) => !row.tasks);
  return (
    <dl className="legend" aria-label="Legend">
      {graded
        ? (["resolved", "probe-rejected", "failed", "missing"] as const).map((verdict) => (
            <div key={verdict}>
              <dt>
                <VerdictGlyph verdict={verdict} />
              </dt>
              <dd>{verdictLabels[verdict]}</dd>
            </div>
          ))
        : null}
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
function Footnotes({ board }: { board: Board }) {
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

function Notes({ board }: { board: Board }) {
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
function Pairs({ board, view }: { board: Board; view: BoardView }) {
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

function Meaning({ board }: { board: Board }) {
  const repositories = board.suite.categoryCounts
    .map(({ category, count }) => `${count} ${categoryLabels[category]}`)
    .join(", ");
  return (
    <section className="meaning" aria-labelledby="meaning">
      <h2 id="meaning">What the numbers mean</h2>
      <div className="columns">
        <div>
          <h3>They say</h3>
          <p>
            A task is one real change to reimplement. It is <em>resolved</em> when every required test passes on every
            required rank: the official tests of the change, and probes that enforce what those leave unchecked. A task
            without a grading counts as not resolved.
          </p>
          <p>
            A <em>rank set</em> holds every position that the data leave open: one plus the entries that are
            significantly better, to the number of entries less those significantly worse (exact paired tests,
            Holm-adjusted over all pairs, 5 %). Sorting and categories never change it.
          </p>
          <p>{winsNeededText(board)}</p>
        </div>
        <div>
          <h3>They do not establish</h3>
          <p>
            Readiness for production, or ability on other code bases: {board.suite.taskCount}{" "}
            {plural(board.suite.taskCount, "task")} ({repositories}), one prompt condition (
            {conditionLabels[board.promptCondition]}), and for each row the model, agent and budget that it names.
            Overlapping intervals are no test, and a higher number alone is no lead.
          </p>
          <p>
            <a href="/docs/methodology">Methodology</a>: every definition and constant.{" "}
            <a href="/docs/verify">Verify</a>: check any graded number yourself.
          </p>
        </div>
      </div>
    </section>
  );
}

/** The ranking as a table, with its legend, notes, told-apart pairs, and the reference sets apart. */
function Ranking({ board, view }: { board: Board; view: BoardView }) {
  return (
    <>
      <section id="ranking" aria-label="Ranking">
        {board.rows.length > 0 ? (
          <BoardTable
            board={board}
            view={view}
            rows={board.rows}
            caption={`Ranking of ${countWord(board.rows.length)} ${plural(board.rows.length, "entry", "entries")} on ${board.suite.title} ${board.suite.version}`}
          />
        ) : (
          <p className="empty">
            No model has been graded on this board. Graded patch sets appear below; a submission’s row appears with its
            first grading.
          </p>
        )}
        {view.category ? (
          <p className="aside">
            Shown: {categoryLabels[view.category]} tasks. Rank sets stay those of the whole board.{" "}
            <a href={viewHref({ ...view, category: null })}>All tasks</a>
          </p>
        ) : null}
        <Legend board={board} />
        <Notes board={board} />
        <Pairs board={board} view={view} />
      </section>
      {board.references.length > 0 ? (
        <section className="references" aria-labelledby="references">
          <h2 id="references">Reference patch sets</h2>
          <p className="aside">
            Unranked. Gold is the change as it was merged, nop is no change at all, mutants are wrong changes that every
            official test lets pass: they show that the grading tells right from wrong.
          </p>
          <BoardTable board={board} view={null} rows={board.references} caption="Reference patch sets" />
        </section>
      ) : null}
    </>
  );
}

/** The leaderboard of one suite version under one condition, complete in HTML. */
export function BoardPage({ board, view, suites }: { board: Board; view: BoardView; suites: readonly SuiteChoice[] }) {
  const finding = prepareFinding(board);
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
      {view.pareto ? (
        <ParetoView board={board} view={view} axis={view.pareto} footnotes={<Footnotes board={board} />} />
      ) : (
        <Ranking board={board} view={view} />
      )}
      <Meaning board={board} />
      {citation ? (
        <p className="source">
          Source of reported rows: <a href={citation.url}>{citation.title}</a>, {formatDate(citation.published)}.{" "}
          {citation.extent}
        </p>
      ) : null}
    </>
  );
}
