import { entryLine } from "@/components/leaderboard/board-table";
import { TierBadge } from "@/components/results/tier-badge";
import { Verdict } from "@/components/results/verdict";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { TaskDetail, TaskResult } from "@/lib/contract/task-api";
import { missingValue } from "@/lib/format/numbers";
import { conditionLabels } from "@/lib/prepare/labels";

function ResultTable({ rows, task, caption }: { rows: readonly TaskResult[]; task: string; caption: string }) {
  const ranked = rows.some((row) => row.entry.kind === "model");
  return (
    <ScrollRegion label={caption}>
      <table className="plain results">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{ranked ? "Entry" : "Patch set"}</th>
            {ranked ? <th scope="col">Prompt</th> : null}
            <th scope="col">Verdict</th>
            <th scope="col" className="num">
              Tests
            </th>
            <th scope="col">Evidence</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.submissionId}>
              <th scope="row">
                <a href={`/submissions/${row.submissionId}`}>
                  <bdi>{row.entry.model}</bdi>
                </a>
                {ranked ? (
                  <small>
                    <bdi>{entryLine(row)}</bdi>
                    {row.provisional ? ", provisional" : ""}
                  </small>
                ) : null}
              </th>
              {ranked ? (
                <td>
                  {conditionLabels[row.promptCondition]}
                  {row.skill ? (
                    <small>
                      skill <bdi>{row.skill}</bdi>
                    </small>
                  ) : null}
                </td>
              ) : null}
              <td>
                {row.attempted ? (
                  <a href={`/submissions/${row.submissionId}/${task}`} className="verdict-link">
                    <Verdict verdict={row.verdict} />
                  </a>
                ) : (
                  <>
                    <Verdict verdict="missing" />
                    <small>not attempted</small>
                  </>
                )}
              </td>
              <td className="num">
                {row.requiredTotal === null ? missingValue : `${row.requiredPassed}/${row.requiredTotal}`}
              </td>
              <td>
                <TierBadge tier={row.tier} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** Every entry's result on a task, and apart from them what the reference sets did; each leads to its attempt. */
export function TaskResults({ detail }: { detail: TaskDetail }) {
  const { results, references, task } = detail;
  return (
    <>
      <section aria-labelledby="results">
        <h2 id="results">Results</h2>
        {results.length > 0 ? (
          <ResultTable rows={results} task={task.slug} caption="Every entry’s result" />
        ) : (
          <p className="empty">
            No model has been graded on this suite version yet. A row appears here with a submission’s first grading.
          </p>
        )}
      </section>
      {references.length > 0 ? (
        <section aria-labelledby="references">
          <h2 id="references">Reference patch sets</h2>
          <p className="aside">
            Unranked: gold is the right change, nop none at all, mutants are wrong changes that every official test lets
            pass.
          </p>
          <ResultTable rows={references} task={task.slug} caption="What the reference sets did" />
        </section>
      ) : null}
    </>
  );
}
