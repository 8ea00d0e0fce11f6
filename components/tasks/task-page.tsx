import { StripPatterns } from "@/components/leaderboard/task-strip";
import { Crumbs } from "@/components/ui/crumbs";
import type { TaskDetail } from "@/lib/contract/task-api";
import { formatNumber, plural } from "@/lib/format/numbers";
import { categoryLabels, taskTypeLabels } from "@/lib/prepare/labels";
import { taskHref, taskListHref } from "@/lib/prepare/task-list-view";
import { solvingSentence } from "@/lib/prepare/tasks";
import { TaskInterfaces } from "./task-interfaces";
import { TaskPrompts } from "./task-prompts";
import { TaskResults } from "./task-results";
import { TaskTests } from "./task-tests";

function Facts({ detail }: { detail: TaskDetail }) {
  const { suite, task } = detail;
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">What is graded</h2>
      <dl className="facts">
        <dt>Repository</dt>
        <dd>{task.repo}</dd>
        {task.baseCommit ? (
          <>
            <dt>Base commit</dt>
            <dd>
              <code>{task.baseCommit}</code>
            </dd>
          </>
        ) : null}
        <dt>Base tree</dt>
        <dd>
          <code>{task.baseTree}</code>
        </dd>
        <dt>Grading digest</dt>
        <dd>
          <code>{task.gradingDigest}</code>
        </dd>
        <dt>Protected paths</dt>
        <dd>{task.protectedPaths.length > 0 ? <code>{task.protectedPaths.join(" ")}</code> : "none"}</dd>
        <dt>As data</dt>
        <dd>
          <a href={`/api/v1${taskHref(suite, task.slug)}`} className="hit">
            JSON
          </a>
        </dd>
      </dl>
    </section>
  );
}

/** One task of a suite version: results of every entry, tests, prompts, interfaces, and what is graded. */
export function TaskPage({ detail }: { detail: TaskDetail }) {
  const { suite, task, solving } = detail;
  return (
    <>
      <StripPatterns />
      <div className="page-head">
        <Crumbs
          trail={[
            { href: "/tasks", label: "Tasks" },
            {
              href: taskListHref({ suite: suite.slug, version: suite.version }),
              label: `${suite.title} ${suite.version}`,
            },
          ]}
          here={task.slug}
        />
        <h1>{task.title}</h1>
        <p className="task-facts">
          {task.repo}, {categoryLabels[task.category]}, {taskTypeLabels[task.type]};{" "}
          {task.gpus > 0 ? `${task.gpus} ${plural(task.gpus, "GPU")}` : "no GPU"}, {task.ranks}{" "}
          {plural(task.ranks, "rank")}
        </p>
        <p className="lead">
          {solvingSentence(solving)}
          {solving.onlyBy ? (
            <>
              {" "}
              Only{" "}
              <a href={`/submissions/${solving.onlyBy.submissionId}/${task.slug}`}>
                <bdi>{solving.onlyBy.model}</bdi>
              </a>{" "}
              resolves it.
            </>
          ) : null}
          {solving.discrimination === null ? "" : ` Discrimination ${formatNumber(solving.discrimination, 2)}.`}
        </p>
      </div>
      <TaskResults detail={detail} />
      <TaskTests detail={detail} />
      <TaskPrompts prompts={detail.prompts} />
      <TaskInterfaces interfaces={detail.interfaces} />
      <Facts detail={detail} />
    </>
  );
}
