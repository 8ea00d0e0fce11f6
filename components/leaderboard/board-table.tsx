import type { ReactNode } from "react";
import { TierBadge } from "@/components/results/tier-badge";
import type { Board, BoardRow } from "@/lib/contract/api";
import type { SortKey } from "@/lib/contract/vocabulary";
import { formatNumber, formatPct, formatRankSet, missingValue } from "@/lib/format/numbers";
import { formatDay } from "@/lib/format/times";
import {
  type BoardColumn,
  categoryColumns,
  columnsOf,
  resolvedColumn,
  type ShareColumn,
} from "@/lib/prepare/board-columns";
import { type BoardView, firstDirection, sortRows, viewHref } from "@/lib/prepare/board-view";
import { categoryLabels } from "@/lib/prepare/labels";
import { taskListHref } from "@/lib/prepare/task-list-view";
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
      <a href={`${viewHref({ ...view, sort, direction })}#ranking`} rel="nofollow" aria-describedby={id}>
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

function Row({
  board,
  row,
  view,
  columns,
}: {
  board: Board;
  row: BoardRow;
  view: BoardView | null;
  columns: BoardColumn[];
}) {
  const inCategory = view?.category ? row.byCategory.find(({ category }) => category === view.category)?.share : null;
  const share = view?.category ? (inCategory ?? null) : row.resolved;
  return (
    <tr {...role.row} className={row.provisional ? "provisional" : undefined}>
      <Cell label="Rank set" className="rank">
        {formatRankSet(row.rankSet)}
      </Cell>
      <th {...role.rowheader} scope="row" className="entry">
        <a href={`/submissions/${row.submissionId}`}>
          <bdi>{row.entry.model}</bdi>
        </a>
        <NoteMarks board={board} row={row} />
        <small>
          <bdi>{entryLine(row)}</bdi>
          {row.provisional ? <span className="flag">provisional: a host’s fault awaits its rerun</span> : null}
          {row.missing > 0 && !row.provisional ? (
            <span className="flag">
              {row.missing} of {board.suite.taskCount} tasks not graded
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
      <Cell label="95 % interval" className="bar">
        {share ? <ShareBar share={share} official={view?.category ? null : row.officialResolved} /> : missingValue}
      </Cell>
      {categoryColumns(board.suite).map((column) => (
        <Cell key={column.key} label={column.label} className="num category">
          <ShareCell column={column} row={row} />
        </Cell>
      ))}
      <Cell label="Tasks" className={row.tasks ? "tasks" : "tasks counted"}>
        <TaskStrip row={row} href={taskListHref({ suite: board.suite.slug, version: board.suite.version })} />
      </Cell>
      {columns.map((column) => (
        <Cell
          key={column.key}
          label={column.unit ? `${column.label}, ${column.unit}` : column.label}
          className="num figure"
        >
          {formatNumber(column.value(row), column.decimals)}
        </Cell>
      ))}
      <Cell label="Evidence" className="evidence">
        <TierBadge tier={row.tier} />
        <small>{formatDay(row.date)}</small>
      </Cell>
    </tr>
  );
}

/** The ranking, readable and sortable without JavaScript; without a view, rows in the board's own order. */
export function BoardTable({
  board,
  view,
  rows,
  caption,
}: {
  board: Board;
  view: BoardView | null;
  rows: readonly BoardRow[];
  caption: string;
}) {
  const { shown } = columnsOf(rows);
  const categoryName = view?.category ? categoryLabels[view.category] : null;
  return (
    <table {...role.table} className="board" aria-rowcount={rows.length + 1}>
      <caption className="sr-only">{caption}</caption>
      <thead {...role.rowgroup}>
        <tr {...role.row}>
          <th {...role.columnheader} scope="col" className="rank">
            Rank
            <br />
            set
          </th>
          <SortHeader
            view={view}
            sort="model"
            label="Model"
            className="entry"
            meaning="The model; below it the agent that drives it, its version and reasoning effort."
          />
          <SortHeader
            view={view}
            sort="resolved"
            label={categoryName ? `${resolvedColumn.label}, ${categoryName}` : resolvedColumn.label}
            unit="%"
            className="hero"
            meaning={resolvedColumn.meaning}
          />
          <th {...role.columnheader} scope="col" className="bar">
            <span className="axis" aria-hidden="true">
              <span>0</span>
              <span>50</span>
              <span>100</span>
            </span>
            <span className="sr-only">Resolved as a bar, with 95 % interval</span>
          </th>
          {categoryColumns(board.suite).map((column) => (
            <SortHeader
              key={column.key}
              view={view}
              sort={column.key}
              label={column.label}
              unit={column.unit}
              className="num category"
              meaning={column.meaning}
            />
          ))}
          <th {...role.columnheader} scope="col" className="tasks">
            Tasks by category
          </th>
          {shown.map((column) => (
            <SortHeader
              key={column.key}
              view={view}
              sort={column.key}
              label={column.label}
              unit={column.unit}
              className="num figure"
              meaning={column.meaning}
            />
          ))}
          <SortHeader
            view={view}
            sort="evidence"
            label="Evidence"
            className="evidence"
            meaning="What the row rests on, weakest to strongest: reported, signed, verified, reproduced."
          />
        </tr>
      </thead>
      <tbody {...role.rowgroup}>
        {(view ? sortRows(rows, view) : rows).map((row) => (
          <Row key={row.submissionId} board={board} row={row} view={view} columns={shown} />
        ))}
      </tbody>
    </table>
  );
}
