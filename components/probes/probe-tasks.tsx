import { ScrollRegion } from "@/components/ui/scroll-region";
import type { ProbedTask, ProbesAnswer } from "@/lib/contract/probes-api";
import { categoryLabels, propertyLabels } from "@/lib/prepare/labels";
import { taskHref } from "@/lib/prepare/task-list-view";
import { RejectedShare } from "./probe-entries";

/** Rejected attempts named on a line; the task's page has them all. */
const mostNamed = 6;

function Rejected({ task, href }: { task: ProbedTask; href: string }) {
  const rest = task.rejected.length - mostNamed;
  return (
    <ul className="named-attempts">
      {task.rejected.slice(0, mostNamed).map(({ submissionId, model, kind }) => (
        <li key={submissionId}>
          <a href={`/submissions/${submissionId}/${task.task}`}>
            <bdi>{kind === "reference" ? model.replace(/^reference:\s*/, "") : model}</bdi>
          </a>
        </li>
      ))}
      {rest > 0 ? (
        <li>
          <a href={`${href}#results`}>{rest} more</a>
        </li>
      ) : null}
    </ul>
  );
}

/** Task by task: what passes its official tests, what the probes reject of it, and by which property. */
export function ProbeTasks({ answer }: { answer: ProbesAnswer }) {
  const { tasks, suite, pooled } = answer;
  if (tasks.length === 0) return null;
  const ranked = pooled.rows > 0;
  return (
    <section aria-labelledby="tasks">
      <h2 id="tasks">By task</h2>
      <ScrollRegion label="By task">
        <table className="plain probed-tasks">
          <caption className="sr-only">Rejected attempts by task, with the properties whose probes reject them</caption>
          <thead>
            <tr>
              <th scope="col">Task</th>
              {ranked ? (
                <th scope="col" className="num">
                  Entries
                  <small>rejected, %</small>
                </th>
              ) : null}
              <th scope="col" className="num">
                References
                <small>rejected, %</small>
              </th>
              <th scope="col">Rejected by probes of</th>
              <th scope="col">Rejected attempts</th>
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => {
              const href = taskHref(suite, task.task);
              return (
                <tr key={task.task}>
                  <th scope="row">
                    <a href={href}>{task.title}</a>
                    <small>{categoryLabels[task.category]}</small>
                  </th>
                  {ranked ? (
                    <td className="num">
                      <RejectedShare share={task.ranked} />
                    </td>
                  ) : null}
                  <td className="num">
                    <RejectedShare share={task.references} />
                  </td>
                  <td>
                    {task.properties.length === 0
                      ? "none"
                      : task.properties
                          .map(({ property, attempts }) => `${propertyLabels[property]} (${attempts})`)
                          .join("; ")}
                  </td>
                  <td>
                    <Rejected task={task} href={href} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
