import type { ReactNode } from "react";
import { ShareBar } from "@/components/leaderboard/share-bar";
import { VerdictGlyph } from "@/components/leaderboard/task-strip";
import type { TaskList, TaskListItem } from "@/lib/contract/task-api";
import { formatNumber, formatPct, missingValue } from "@/lib/format/numbers";
import { categoryLabels, taskTypeLabels, verdictLabels } from "@/lib/prepare/labels";
import { sortedBy, sortTasks, type TaskListView, type TaskSort, taskHref } from "@/lib/prepare/task-list-view";
import { probesInWords, referenceGroups } from "@/lib/prepare/tasks";

/** Written out because the rows become blocks below the table's own width (see BoardTable). */
const role = {
  table: { role: "table" },
  rowgroup: { role: "rowgroup" },
  row: { role: "row" },
  rowheader: { role: "rowheader" },
  columnheader: { role: "columnheader" },
  cell: { role: "cell" },
} as const;

const columns: readonly { sort: TaskSort; label: string; unit?: string; className: string; meaning: string }[] = [
  { sort: "task", label: "Task", className: "entry", meaning: "One real change to reimplement, and its repository." },
  {
    sort: "resolved",
    label: "Resolved",
    unit: "%",
    className: "hero",
    meaning: "Ranked entries on whose patch every required test passes, per cent of the ranked entries.",
  },
];

const figures: readonly { sort: TaskSort; label: string; className: string; meaning: string }[] = [
  { sort: "category", label: "Category", className: "figure", meaning: "What kind of system the task changes." },
  { sort: "type", label: "Type", className: "figure", meaning: "What kind of change it is." },
  { sort: "gpus", label: "GPUs", className: "num figure", meaning: "GPUs of the standard launch; ranks below." },
  {
    sort: "official",
    label: "Official",
    className: "num figure",
    meaning: "Required tests that came with the change.",
  },
  {
    sort: "discrimination",
    label: "Discrim.",
    className: "num figure",
    meaning: "Correlation of the task's score with the entry's mean over all other tasks, -1 to 1.",
  },
  {
    sort: "probes",
    label: "Probes",
    className: "num figure probes",
    meaning: "Required tests of what the official ones leave unchecked, and which property each checks.",
  },
];

function SortHeader({ view, column }: { view: TaskListView; column: (typeof columns)[number] }) {
  const { href, sorted } = sortedBy(view, column.sort);
  const id = `about-${column.sort}`;
  return (
    <th {...role.columnheader} scope="col" className={column.className} aria-sort={sorted}>
      <a href={`${href}#tasks`} rel="nofollow" aria-describedby={id}>
        {column.label}
        {column.unit ? <span className="unit"> {column.unit}</span> : null}
        <span className="sort-mark" aria-hidden="true" />
      </a>
      <span role="tooltip" id={id} className="tip">
        {column.meaning}
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

function References({ task }: { task: TaskListItem }) {
  if (task.references.length === 0) return missingValue;
  return (
    <ul className="reference-groups">
      {referenceGroups(task.references).map(({ label, sets }) => (
        <li key={label}>
          <span className="reference-glyphs">
            {sets.map(({ submissionId, verdict }) => (
              <VerdictGlyph key={submissionId} verdict={verdict} />
            ))}
          </span>
          {label}
          <span className="sr-only">: {sets.map(({ verdict }) => verdictLabels[verdict]).join("; ")}</span>
        </li>
      ))}
    </ul>
  );
}

function Row({ list, task }: { list: TaskList; task: TaskListItem }) {
  const { resolved, officialResolved, discrimination, onlyBy } = task.solving;
  return (
    <tr {...role.row}>
      <th {...role.rowheader} scope="row" className="entry">
        <a href={taskHref(list.suite, task.slug)}>{task.title}</a>
        <small>{task.repo}</small>
        {onlyBy ? (
          <small className="only-by">
            only <bdi>{onlyBy.model}</bdi>
          </small>
        ) : null}
      </th>
      <Cell label="Resolved" className="hero">
        <b>{formatPct(resolved?.pct)}</b>
        {resolved?.resolved != null ? (
          <small>
            {resolved.resolved}/{resolved.total}
          </small>
        ) : null}
      </Cell>
      <Cell label="95 % interval" className="bar">
        {resolved ? <ShareBar share={resolved} official={officialResolved} /> : <small>no ranked entry yet</small>}
      </Cell>
      <Cell label="Category" className="figure">
        {categoryLabels[task.category]}
      </Cell>
      <Cell label="Type" className="figure">
        {taskTypeLabels[task.type]}
      </Cell>
      <Cell label="GPUs" className="num figure">
        {task.gpus}
        <small>{task.ranks} ranks</small>
      </Cell>
      <Cell label="Official tests" className="num figure">
        {task.officialTests}
      </Cell>
      <Cell label="Discrimination" className="num figure">
        {formatNumber(discrimination, 2)}
      </Cell>
      <Cell label="Probes" className="num figure probes">
        {task.probes}
        <small>{probesInWords(task)}</small>
      </Cell>
      <Cell label="Reference sets" className="figure reference-cell">
        <References task={task} />
      </Cell>
    </tr>
  );
}

/** Tasks of a suite, readable and sortable without JavaScript. */
export function TaskListTable({
  list,
  view,
  tasks,
}: {
  list: TaskList;
  view: TaskListView;
  tasks: readonly TaskListItem[];
}) {
  return (
    <table {...role.table} className="board task-list" aria-rowcount={tasks.length + 1}>
      <caption className="sr-only">
        Tasks of {list.suite.title} {list.suite.version}
      </caption>
      <thead {...role.rowgroup}>
        <tr {...role.row}>
          {columns.map((column) => (
            <SortHeader key={column.sort} view={view} column={column} />
          ))}
          <th {...role.columnheader} scope="col" className="bar">
            <span className="axis" aria-hidden="true">
              <span>0</span>
              <span>50</span>
              <span>100</span>
            </span>
            <span className="sr-only">Resolved as a bar, with 95 % interval</span>
          </th>
          {figures.map((column) => (
            <SortHeader key={column.sort} view={view} column={column} />
          ))}
          <th {...role.columnheader} scope="col" className="reference-cell">
            Reference sets
          </th>
        </tr>
      </thead>
      <tbody {...role.rowgroup}>
        {sortTasks(tasks, view).map((task) => (
          <Row key={task.slug} list={list} task={task} />
        ))}
      </tbody>
    </table>
  );
}
