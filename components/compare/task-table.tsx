import { Verdict } from "@/components/results/verdict";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { CompareAnswer, ComparedCell, ComparedTask, Comparison, TaskGroup } from "@/lib/contract/compare-api";
import { formatPctUnit, plural } from "@/lib/format/numbers";
import { entryOf, groupLabels, pairNames } from "@/lib/prepare/compare-words";
import { categoryLabels } from "@/lib/prepare/labels";
import { taskHref } from "@/lib/prepare/task-list-view";

const order: readonly TaskGroup[] = ["only-a", "only-b", "both", "neither"];

function Cell({ cell, submissionId, task }: { cell: ComparedCell; submissionId: string; task: string }) {
  const partly = cell.score > 0 && cell.score < 1;
  return (
    <td>
      {cell.attempted ? (
        <a href={`/submissions/${submissionId}/${task}`} className="verdict-link">
          <Verdict verdict={cell.verdict} />
        </a>
      ) : (
        <Verdict verdict="missing" />
      )}
      <small>
        {cell.requiredTotal === null
          ? cell.attempted
            ? "not graded yet"
            : "not attempted"
          : `${cell.requiredPassed}/${cell.requiredTotal} required tests`}
        {partly ? `, in ${formatPctUnit(100 * cell.score)} of the attempts` : ""}
      </small>
    </td>
  );
}

function Row({
  task,
  comparison,
  suite,
}: {
  task: ComparedTask;
  comparison: Comparison;
  suite: CompareAnswer["suite"];
}) {
  return (
    <tr>
      <th scope="row">
        <a href={taskHref(suite, task.task)}>{task.title}</a>
        <small>{categoryLabels[task.category]}</small>
      </th>
      <Cell cell={task.a} submissionId={comparison.a.row.submissionId} task={task.task} />
      <Cell cell={task.b} submissionId={comparison.b.row.submissionId} task={task.task} />
    </tr>
  );
}

/** Every task by who resolves it; both sides lead to their attempt and its evidence. */
export function TaskTable({ comparison, suite }: { comparison: Comparison; suite: CompareAnswer["suite"] }) {
  const { tasks, test } = comparison;
  if (!tasks)
    return (
      <section aria-labelledby="by-task">
        <h2 id="by-task">Task by task</h2>
        <p className="empty">Of at least one side only counts were published, so no task can be named here.</p>
      </section>
    );
  const [nameA, nameB] = pairNames(entryOf(comparison.a), entryOf(comparison.b));
  return (
    <section aria-labelledby="by-task">
      <h2 id="by-task">Task by task</h2>
      <ScrollRegion label="Task by task">
        <table className="plain compared">
          <caption className="sr-only">Tasks by who resolves them, with both attempts</caption>
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">
                <span className="side">A</span> {nameA}
              </th>
              <th scope="col">
                <span className="side">B</span> {nameB}
              </th>
            </tr>
          </thead>
          {order.map((group) => {
            const members = tasks.filter((task) => task.group === group);
            return members.length === 0 ? null : (
              <tbody key={group}>
                <tr className="property">
                  <th scope="rowgroup" colSpan={3}>
                    {groupLabels[test.method === "sign-flip" ? "often" : "once"][group]}{" "}
                    <span className="count">
                      {members.length} {plural(members.length, "task")}
                    </span>
                  </th>
                </tr>
                {members.map((task) => (
                  <Row key={task.task} task={task} comparison={comparison} suite={suite} />
                ))}
              </tbody>
            );
          })}
        </table>
      </ScrollRegion>
    </section>
  );
}
