import { Choice } from "@/components/leaderboard/choice";
import type { TaskList } from "@/lib/contract/task-api";
import { categories, taskTypes } from "@/lib/contract/vocabulary";
import { plural } from "@/lib/format/numbers";
import { categoryLabels, taskTypeLabels } from "@/lib/prepare/labels";
import {
  defaultTaskListView,
  filterTasks,
  type TaskListView,
  type TaskShow,
  taskListHref,
} from "@/lib/prepare/task-list-view";
import { soleSolvers } from "@/lib/prepare/tasks";

const shows: readonly { show: TaskShow; label: string }[] = [
  { show: "discriminating", label: "Discriminating" },
  { show: "alone", label: "Resolved by one alone" },
  { show: "never", label: "Never resolved" },
  { show: "all", label: "Resolved by all" },
];

/** Entries offered by name; the others' tasks stand under `resolved by one alone`. */
const mostSolvers = 8;

const unfiltered = { category: null, type: null, show: null, only: null };

/** Filters as links, each with how many of the suite's tasks it leaves, and what the filters in force hide. */
export function TaskFilters({ list, view, shown }: { list: TaskList; view: TaskListView; shown: number }) {
  const { tasks, entries, suite } = list;
  const count = (filter: Partial<TaskListView>) => filterTasks(tasks, { ...defaultTaskListView, ...filter }).length;
  const link = (filter: Partial<TaskListView>) => `${taskListHref({ ...view, ...filter })}#tasks`;
  const solvers = soleSolvers(tasks);
  const hidden = tasks.length - shown;
  const clear = (
    <a href={link(unfiltered)}>
      Show all {tasks.length} {plural(tasks.length, "task")}
    </a>
  );
  return (
    <div className="controls task-filters">
      <nav aria-label="Category">
        <ul>
          <Choice href={link({ category: null })} current={view.category === null}>
            All categories
          </Choice>
          {categories.map((category) =>
            count({ category }) > 0 ? (
              <Choice key={category} href={link({ category })} current={view.category === category}>
                {categoryLabels[category]} <span className="count">{count({ category })}</span>
              </Choice>
            ) : null,
          )}
        </ul>
      </nav>
      <nav aria-label="Type">
        <ul>
          <Choice href={link({ type: null })} current={view.type === null}>
            All types
          </Choice>
          {taskTypes.map((type) =>
            count({ type }) > 0 ? (
              <Choice key={type} href={link({ type })} current={view.type === type}>
                {taskTypeLabels[type]} <span className="count">{count({ type })}</span>
              </Choice>
            ) : null,
          )}
        </ul>
      </nav>
      {entries > 0 ? (
        <nav aria-label="Resolved by">
          <ul>
            <Choice href={link({ show: null, only: null })} current={view.show === null && view.only === null}>
              Any result
            </Choice>
            {shows.map(({ show, label }) => (
              <Choice key={show} href={link({ show, only: null })} current={view.show === show}>
                {label} <span className="count">{count({ show })}</span>
              </Choice>
            ))}
            {solvers.slice(0, mostSolvers).map(({ slug, model, tasks: alone }) => (
              <Choice key={slug} href={link({ only: slug, show: null })} current={view.only === slug}>
                Only <bdi>{model}</bdi> <span className="count">{alone}</span>
              </Choice>
            ))}
          </ul>
        </nav>
      ) : null}
      {shown === 0 ? (
        <p className="empty">
          {entries === 0 && (view.show !== null || view.only !== null)
            ? `No entry is ranked on ${suite.title} ${suite.version} yet, so no task can be filtered by who resolves it.`
            : "No task has all of this."}{" "}
          {clear}
        </p>
      ) : hidden > 0 ? (
        <p className="aside">
          {shown} of {tasks.length} {plural(tasks.length, "task")} shown, {hidden} hidden by the filters. {clear}
        </p>
      ) : null}
    </div>
  );
}
