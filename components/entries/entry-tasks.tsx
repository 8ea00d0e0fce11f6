import { VerdictGlyph } from "@/components/leaderboard/task-strip";
import { Verdict } from "@/components/results/verdict";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { EntryAttempt, EntryStanding, EntryTask } from "@/lib/contract/entry-api";
import { formatNumber, missingValue } from "@/lib/format/numbers";
import { categoryLabels, gradingStatusLabels, verdictLabels } from "@/lib/prepare/labels";
import { taskHref } from "@/lib/prepare/task-list-view";

const runColumns = [
  { key: "timeMin", label: "Time", unit: "min", decimals: 1 },
  { key: "costUsd", label: "Cost", unit: "$", decimals: 2 },
  { key: "tokensM", label: "Tokens", unit: "M", decimals: 2 },
  { key: "steps", label: "Steps", unit: "", decimals: 0 },
] as const;

function meanOf(attempts: readonly EntryAttempt[], key: (typeof runColumns)[number]["key"]): number | null {
  const stated = attempts.flatMap((attempt) => attempt[key] ?? []);
  return stated.length > 0 ? stated.reduce((sum, value) => sum + value, 0) / stated.length : null;
}

/** The attempt whose verdict stands for the task. */
const bestOf = ({ attempts, verdict }: EntryTask) => attempts.find((attempt) => attempt.verdict === verdict);

/** Each attempt as its glyph, in their order, and how many resolve. */
function Attempts({ task }: { task: EntryTask }) {
  const resolved = task.attempts.filter(({ verdict }) => verdict === "resolved").length;
  return (
    <small className="attempt-glyphs">
      {task.attempts.map(({ ordinal, verdict }) => (
        <span key={ordinal} title={`Attempt ${ordinal}: ${verdictLabels[verdict]}`}>
          <VerdictGlyph verdict={verdict} />
        </span>
      ))}{" "}
      {resolved} of {task.attempts.length} attempts resolve
    </small>
  );
}

/** Every task of the suite with the entry's verdict, tests passed and what its run took. */
export function EntryTasks({ standing, tasks }: { standing: EntryStanding; tasks: readonly EntryTask[] }) {
  const { suite, row } = standing;
  const columns = runColumns.filter(({ key }) => tasks.some((task) => meanOf(task.attempts, key) !== null));
  const caption = `Tasks of ${suite.title} ${suite.version}`;
  return (
    <ScrollRegion label={caption}>
      <table className="plain entry-tasks">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col" className="task-category">
              Category
            </th>
            <th scope="col">Verdict</th>
            <th scope="col" className="num">
              Tests
            </th>
            {columns.map(({ key, label, unit }) => (
              <th key={key} scope="col" className="num">
                {label}
                {unit ? <small>{unit}</small> : null}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => {
            const best = bestOf(task);
            return (
              <tr key={task.task}>
                <th scope="row">
                  <a href={taskHref(suite, task.task)}>{task.title}</a>
                  <small className="task-category-below">{categoryLabels[task.category]}</small>
                </th>
                <td className="task-category">{categoryLabels[task.category]}</td>
                <td>
                  {row && task.attempts.length > 0 ? (
                    <a href={`/submissions/${row.submissionId}/${task.task}`} className="verdict-link">
                      <Verdict verdict={task.verdict} />
                    </a>
                  ) : (
                    <>
                      <Verdict verdict="missing" />
                      <small>not attempted</small>
                    </>
                  )}
                  {best?.status && best.status !== "completed" ? (
                    <small>{gradingStatusLabels[best.status]}</small>
                  ) : null}
                  {task.attempts.length > 1 ? <Attempts task={task} /> : null}
                </td>
                <td className="num">
                  {best?.requiredTotal == null ? missingValue : `${best.requiredPassed}/${best.requiredTotal}`}
                </td>
                {columns.map(({ key, decimals }) => (
                  <td key={key} className="num">
                    {formatNumber(meanOf(task.attempts, key), decimals)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
