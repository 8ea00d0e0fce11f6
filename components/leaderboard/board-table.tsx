import type { ReactNode } from "react";
import { CustomBadge } from "@/components/entries/custom-badge";
import { TierBadge } from "@/components/results/tier-badge";
import type { Board, BoardRow } from "@/lib/contract/api";
import type { BoardColumnKey, SortKey } from "@/lib/contract/vocabulary";
import { formatNumber, formatPct, formatRankSet, missingValue } from "@/lib/format/numbers";
import { formatDay } from "@/lib/format/times";
import {
  categoryColumns,
  columnsOf,
  figureColumns,
  resolvedColumn,
  type ShareColumn,
} from "@/lib/prepare/board-columns";
import { type BoardView, changedHref, firstDirection } from "@/lib/prepare/board-view";
import { customReasons } from "@/lib/prepare/entry-custom";
import { categoryLabels } from "@/lib/prepare/labels";
import { ShareBar } from "./share-bar";
import { TaskStrip } from "./task-strip";

/**
 * On a phone the table is laid out as blocks, and browsers then forget what its elements are unless their roles are
 * written out.
 */
const role = {
  table: { role: "table" },
  rowgroup: { role: "rowgroup" },
  row: { role: "row" },
  rowheader: { role: "rowheader" },
  columnheader: { role: "columnheader" },
  cell: { role: "cell" },
} as const;

/** A header that is a link which sorts, with what the column means shown on hover and on focus; plain without a view. */
function SortHeader(props: {
  view: BoardView | null;
  sort: SortKey;
  label: string;
  unit?: string | null;
  meaning: string;
  className?: string;
}) {
  const { view, sort, label, unit, meaning, className } = props;
  if (!view) {
    return (
      <th {...role.columnheader} scope="col" className={className} title={meaning}>
        {label}
        {unit ? <span className="unit"> {unit}</span> : null}
      </th>
    );
  }
  const active = view.sort === sort;
  const direction = active ? (view.direction === "asc" ? "desc" : "asc") : firstDirection[sort];
  const id = `about-${sort}`;
  return (
    <th
      {...role.columnheader}
      scope="col"
      className={className}
      aria-sort={active ? (view.direction === "asc" ? "ascending" : "descending") : undefined}
    >
      <a href={`${changedHref(view, { sort, direction })}#ranking`} rel="nofollow" aria-describedby={id}>
        {label}
        {unit ? <span className="unit"> {unit}</span> : null}
        <span className="sort-mark" aria-hidden="true" />
      </a>
      <span role="tooltip" id={id} className="tip">
        {meaning}
      </span>
    </th>
  );
}

function Cell({ label, className, children }: { label: string; className: string; children: ReactNode }) {
  return (
    <td {...role.cell} className={className} data-label={label}>
      {children}
    </td>
  );
}

/** Links from a row to its footnotes. */
export function NoteMarks({ board, row }: { board: Board; row: BoardRow }) {
  const keys = Object.keys(board.notes);
  return row.footnotes.map((key) => (
    <sup key={key}>
      <a href={`#note-${key}`} aria-label={`Note ${noteMark(keys.indexOf(key))}`}>
        {noteMark(keys.indexOf(key))}
      </a>
    </sup>
  ));
}

/** `a`, `b` ... for the notes of a board, in their order. */
export const noteMark = (index: number) => String.fromCharCode(97 + Math.max(0, index));

/** What drives the model: agent, its version and reasoning effort, as far as the row states them. */
export function entryLine(row: Pick<BoardRow, "entry">): string {
  const agent = row.entry.agent
    ? [row.entry.agent, row.entry.agentVersion].filter(Boolean).join(" ")
    : row.entry.kind === "reference"
      ? "reference patches"
      : "agent not stated";
  return row.entry.reasoningEffort ? `${agent}, effort ${row.entry.reasoningEffort}` : agent;
}

/** A share in per cent, with its counts where they are known. */
function ShareCell({ column, row }: { column: ShareColumn; row: BoardRow }) {
  const share = column.share(row);
  return (
    <>
      {formatPct(share?.pct)}
      {share?.resolved != null ? (
        <small>
          {share.resolved}/{share.total}
        </small>
      ) : null}
    </>
  );
}

/** What a row resolves and where it stands once the probes count too, beside what official tests alone say. */
function WithProbes({ row, both }: { row: BoardRow; both: BoardRow | undefined }) {
  const shift = both ? both.resolved.pct - row.resolved.pct : null;
  return (
    <>
      <Cell label="With probes, %" className="num figure">
        {formatPct(both?.resolved.pct)}
        {both?.rankSet ? <small>rank {formatRankSet(both.rankSet)}</small> : null}
      </Cell>
      <Cell label="Shift, points" className="num figure">
        {formatPct(shift)}
      </Cell>
    </>
  );
}

function Row(props: { table: Props; shown: ShownColumns; row: BoardRow; rowIndex: number | undefined }) {
  const { table, shown, row, rowIndex } = props;
  const { board, view, both } = table;
  const { categoryShares, figures, has } = shown;
  const { taskCount } = board.suite;
  const share = view.category
    ? (row.byCategory.find(({ category }) => category === view.category)?.share ?? null)
    : row.resolved;
  const behind = view.category || both ? null : row.officialResolved;
  const submission = `/submissions/${row.submissionId}`;
  return (
    <tr {...role.row} className={row.provisional ? "provisional" : undefined} aria-rowindex={rowIndex}>
      <Cell label="Rank set" className="rank">
        {formatRankSet(row.rankSet)}
      </Cell>
      <th {...role.rowheader} scope="row" className="entry">
        <a href={`/entries/${row.entry.slug}`}>
          <bdi>{row.entry.model}</bdi>
        </a>
        <NoteMarks board={board} row={row} />
        <small>
          <bdi>{entryLine(row)}</bdi> <CustomBadge reasons={customReasons(row.entry, board.suite.standard)} />
          {row.provisional ? <span className="flag">provisional: a host’s fault awaits its rerun</span> : null}
          {row.missing > 0 && !row.provisional ? (
            <span className="flag">
              {row.missing} of {taskCount} tasks not graded
            </span>
          ) : null}
        </small>
      </th>
      <Cell label="Resolved" className="hero">
        <b>{formatPct(share?.pct)}</b>
        {share?.resolved != null ? (
          <small>
            {share.resolved}/{share.total}
          </small>
        ) : null}
      </Cell>
      {has("interval") || has("tasks") ? (
        <Cell label="95 % interval" className="bar">
          {has("interval") && share ? <ShareBar share={share} official={behind} /> : null}
          {has("interval") && !share ? missingValue : null}
          {has("tasks") ? (
            <div className={row.tasks ? "tasks" : "tasks counted"}>
              <TaskStrip row={row} href={submission} />
            </div>
          ) : null}
        </Cell>
      ) : null}
      {both ? <WithProbes row={row} both={both.get(row.entry.slug)} /> : null}
      {categoryShares.map((column) => (
        <Cell key={column.key} label={column.label} className="num category">
          <ShareCell column={column} row={row} />
        </Cell>
      ))}
      {figures.map((column) => (
        <Cell
          key={column.key}
          label={column.unit ? `${column.label}, ${column.unit}` : column.label}
          className="num figure"
        >
          {formatNumber(column.value(row), column.decimals)}
        </Cell>
      ))}
      {has("evidence") ? (
        <Cell label="Evidence" className="evidence">
          <a href={submission} aria-label={`${row.tier}: submission of ${row.entry.model}`}>
            <TierBadge tier={row.tier} />
          </a>
          {has("date") ? null : <small>{formatDay(row.date)}</small>}
        </Cell>
      ) : null}
      {has("date") ? (
        <Cell label="Date" className="num figure">
          {formatDay(row.date)}
        </Cell>
      ) : null}
    </tr>
  );
}

interface Props {
  board: Board;
  /** Whose category, tests and columns the table shows; its sort where headers are links. */
  view: BoardView;
  /** In their order: those of one page. */
  rows: readonly BoardRow[];
  caption: string;
  /** Whether headers are links that sort. */
  sortable: boolean;
  /** The rows as all required tests rank them, by entry, where `rows` are by official tests alone. */
  both?: ReadonlyMap<string, BoardRow> | undefined;
  /** Of a page of a longer table: the number of its first row, and how many there are in all. */
  part?: { first: number; total: number } | undefined;
}

function shownColumns({ board, view, rows, both }: Props) {
  const has = (key: BoardColumnKey) => view.columns.includes(key);
  return {
    has,
    categoryShares: categoryColumns(board.suite).filter(({ key }) => view.columns.some((column) => column === key)),
    // the official share stands in the first column where it ranks
    figures: columnsOf(rows, view.columns).shown.filter(({ key }) => !both || key !== "official"),
  };
}

type ShownColumns = ReturnType<typeof shownColumns>;

function Head({ table, shown }: { table: Props; shown: ShownColumns }) {
  const { view, both } = table;
  const { categoryShares, figures, has } = shown;
  const sorted = table.sortable ? view : null;
  const hero = both ? "Official" : resolvedColumn.label;
  return (
    <thead {...role.rowgroup}>
      <tr {...role.row}>
        <th {...role.columnheader} scope="col" className="rank">
          Rank
          <br />
          set
        </th>
        <SortHeader
          view={sorted}
          sort="model"
          label="Model"
          className="entry"
          meaning="The model; below it the agent that drives it, its version and reasoning effort."
        />
        <SortHeader
          view={sorted}
          sort="resolved"
          label={view.category ? `${hero}, ${categoryLabels[view.category]}` : hero}
          unit="%"
          className="hero"
          meaning={both ? officialMeaning : resolvedColumn.meaning}
        />
        {has("interval") || has("tasks") ? (
          <th {...role.columnheader} scope="col" className="bar">
            {has("interval") ? (
              <>
                <span className="axis" aria-hidden="true">
                  <span>0</span>
                  <span>50</span>
                  <span>100</span>
                </span>
                <span className="sr-only">
                  Resolved as a bar, with 95 % interval{has("tasks") ? "; below it the tasks by category" : ""}
                </span>
              </>
            ) : (
              "Tasks by category"
            )}
          </th>
        ) : null}
        {both ? (
          <>
            <th {...role.columnheader} scope="col" className="num figure">
              With probes<span className="unit"> %</span>
            </th>
            <th {...role.columnheader} scope="col" className="num figure">
              Shift<span className="unit"> points</span>
            </th>
          </>
        ) : null}
        {categoryShares.map((column) => (
          <SortHeader
            key={column.key}
            view={sorted}
            sort={column.key}
            label={column.label}
            unit={column.unit}
            className="num category"
            meaning={column.meaning}
          />
        ))}
        {figures.map((column) => (
          <SortHeader
            key={column.key}
            view={sorted}
            sort={column.key}
            label={column.label}
            unit={column.unit}
            className="num figure"
            meaning={column.meaning}
          />
        ))}
        {has("evidence") ? (
          <SortHeader
            view={sorted}
            sort="evidence"
            label="Evidence"
            className="evidence"
            meaning="What the row rests on, weakest to strongest: reported, signed, verified, reproduced."
          />
        ) : null}
        {has("date") ? (
          <SortHeader
            view={sorted}
            sort="date"
            label="Date"
            className="num figure"
            meaning="When the row was published, in UTC."
          />
        ) : null}
      </tr>
    </thead>
  );
}

const officialMeaning = figureColumns.find(({ key }) => key === "official")?.meaning ?? resolvedColumn.meaning;

/** The ranking, or the reference sets, readable without JavaScript; its headers sort where they are links. */
export function BoardTable(props: Props) {
  const { rows, caption, part } = props;
  const shown = shownColumns(props);
  return (
    <div className="board-frame">
      <table {...role.table} className="board ranking" aria-rowcount={(part?.total ?? rows.length) + 1}>
        <caption className="sr-only">{caption}</caption>
        <Head table={props} shown={shown} />
        <tbody {...role.rowgroup}>
          {rows.map((row, index) => (
            <Row
              key={row.submissionId}
              table={props}
              shown={shown}
              row={row}
              rowIndex={part ? part.first + index + 1 : undefined}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
