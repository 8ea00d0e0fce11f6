import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import { SuiteNav } from "@/components/leaderboard/suite-nav";
import { VerdictGlyph } from "@/components/leaderboard/task-strip";
import type { TaskList } from "@/lib/contract/task-api";
import { taskVerdicts } from "@/lib/contract/vocabulary";
import { formatDate } from "@/lib/format/times";
import { verdictLabels } from "@/lib/prepare/labels";
import { filterTasks, type TaskListView, taskListHref } from "@/lib/prepare/task-list-view";
import { categoriesInWords, taskListLead } from "@/lib/prepare/tasks";
import { TaskFilters } from "./task-filters";
import { TaskListTable } from "./task-list-table";

function Controls({ list, suites }: { list: TaskList; suites: readonly SuiteChoice[] }) {
  const { suite } = list;
  return (
    <div className="controls">
      <SuiteNav
        suites={suites}
        suite={suite}
        suiteHref={(slug) => taskListHref({ suite: slug })}
        versionHref={(version) => taskListHref({ suite: suite.slug, version })}
      />
      <p className="suite-facts">
        {suite.summary} <a href={`/?suite=${suite.slug}&version=${suite.version}`}>Leaderboard of this suite</a> ·{" "}
        <a href={`/api/v1/tasks?suite=${suite.slug}&version=${suite.version}`}>JSON</a>
      </p>
    </div>
  );
}

function Meaning({ list }: { list: TaskList }) {
  return (
    <>
      <dl className="legend" aria-label="Legend">
        {taskVerdicts.map((verdict) => (
          <div key={verdict}>
            <dt>
              <VerdictGlyph verdict={verdict} />
            </dt>
            <dd>{verdictLabels[verdict]}</dd>
          </div>
        ))}
      </dl>
      <div className="notes">
        <p>
          Resolved is the share of ranked entries, under every prompt condition and skill, that resolve the task; its
          whisker is the Wilson 95 % interval, its hollow bar what passes every official test and is rejected by probes.
          {list.entries === 0 ? " No entry is ranked on this suite version yet, so it is empty." : ""}
        </p>
        <p>
          Discrimination is the correlation of a task’s score with the entry’s mean over all other tasks: near 1 the
          task tells strong entries from weak ones, near 0 it does not. It needs three ranked entries, and is rough
          until there are many.
        </p>
        <p>
          Reference sets are patches of the suite’s own, never ranked: gold is the right change, nop none at all,
          mutants are wrong changes that every official test lets pass.
        </p>
      </div>
    </>
  );
}

/** Every task of one suite version, or why there is none to show. */
export function TaskListPage({
  list,
  suites,
  view,
}: {
  list: TaskList;
  suites: readonly SuiteChoice[];
  view: TaskListView;
}) {
  const { suite } = list;
  const shown = filterTasks(list.tasks, view);
  return (
    <>
      <div className="page-head">
        <h1>
          Tasks of {suite.title} {suite.version}
        </h1>
        <p className="lead">{taskListLead(list)}</p>
      </div>
      <Controls list={list} suites={suites} />
      {list.tasks.length > 0 ? (
        <section id="tasks" aria-label="Tasks">
          <TaskFilters list={list} view={view} shown={shown.length} />
          {shown.length > 0 ? <TaskListTable list={list} view={view} tasks={shown} /> : null}
          <Meaning list={list} />
        </section>
      ) : (
        <p className="empty">
          The tasks of this suite are not published, so none is listed. Known are their counts:{" "}
          {categoriesInWords(suite)}.
        </p>
      )}
      {suite.citation ? (
        <p className="source">
          Source of the counts: <a href={suite.citation.url}>{suite.citation.title}</a>,{" "}
          {formatDate(suite.citation.published)}.
        </p>
      ) : null}
    </>
  );
}
