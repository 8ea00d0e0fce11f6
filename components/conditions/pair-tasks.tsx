import { Verdict } from "@/components/results/verdict";
import type { ConditionPair, ConditionSide } from "@/lib/contract/conditions-api";
import { formatNumber, missingValue, plural } from "@/lib/format/numbers";
import { conditionLabels } from "@/lib/prepare/labels";
import { taskHref } from "@/lib/prepare/task-list-view";

type Cell = ConditionPair["tasks"][number]["a"];

/** Name of a side by what it changes. */
function sideName({ differs }: ConditionPair, side: ConditionSide): string {
  if (differs === "prompt") return conditionLabels[side.promptCondition];
  return side.skill ? `with ${side.skill}` : "without a skill";
}

function Outcome({ cell, side, task }: { cell: Cell; side: ConditionSide; task: string }) {
  if (!cell.attempted) return missingValue;
  return (
    <>
      <a href={`/submissions/${side.submissionId}/${task}`} className="verdict-link">
        <Verdict verdict={cell.verdict} />
      </a>
      <small>
        {cell.requiredTotal === null ? null : `${cell.requiredPassed}/${cell.requiredTotal} tests`}
        {cell.score > 0 && cell.score < 1 ? `, ${formatNumber(100 * cell.score, 0)} % of attempts resolve` : null}
      </small>
    </>
  );
}

/** The tasks on which the two sides of a pair differ, each side's outcome leading to its evidence. */
export function PairTasks({ pair, suite }: { pair: ConditionPair; suite: { slug: string; version: string } }) {
  const differing = pair.tasks.filter(({ group }) => group === "only-a" || group === "only-b");
  const { both, neither } = pair.test.counts;
  const rest = `${both} resolved alike under both, ${neither} under neither`;
  if (differing.length === 0) {
    return (
      <p className="aside">
        <bdi>{pair.entry.model}</bdi>: no task differs; {rest}.
      </p>
    );
  }
  return (
    <details className="pairs">
      <summary>
        <bdi>{pair.entry.model}</bdi>: {differing.length} {plural(differing.length, "task differs", "tasks differ")};{" "}
        {rest}
      </summary>
      <table className="plain">
        <caption className="sr-only">Tasks that differ between the two sides of {pair.entry.model}</caption>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">
              <bdi>{sideName(pair, pair.base)}</bdi>
            </th>
            <th scope="col">
              <bdi>{sideName(pair, pair.changed)}</bdi>
            </th>
          </tr>
        </thead>
        <tbody>
          {differing.map(({ task, title, a, b }) => (
            <tr key={task}>
              <th scope="row">
                <a href={taskHref(suite, task)}>{title}</a>
              </th>
              <td>
                <Outcome cell={b} side={pair.base} task={task} />
              </td>
              <td>
                <Outcome cell={a} side={pair.changed} task={task} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
