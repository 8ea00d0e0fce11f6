import { ShareBar } from "@/components/leaderboard/share-bar";
import { StripPatterns, TaskStrip } from "@/components/leaderboard/task-strip";
import { Crumbs } from "@/components/ui/crumbs";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { SubmissionDetail } from "@/lib/contract/api";
import {
  formatBytes,
  formatInterval,
  formatNumber,
  formatPct,
  formatRankSet,
  formatUsd,
  plural,
} from "@/lib/format/numbers";
import { formatDate, formatDuration, formatInstant } from "@/lib/format/times";
import { entryHref } from "@/lib/prepare/entry-twins";
import { categoryLabels, conditionLabels, gradingStatusLabels, tierMeanings } from "@/lib/prepare/labels";
import { boardHrefOf, passedInterval, severalAttempts } from "@/lib/prepare/submission";
import { taskHref, taskListHref } from "@/lib/prepare/task-list-view";
import { TierBadge } from "./tier-badge";
import { Verdict } from "./verdict";

const jobTexts: Record<string, string> = {
  queued: "waits for a host",
  leased: "taken by a host",
  preparing: "host prepares",
  running: "tests run",
  uploading: "evidence arrives",
  lost: "host lost: queued again",
};

function Figures({ submission }: { submission: SubmissionDetail }) {
  const { row } = submission;
  const interval = passedInterval(submission);
  const several = severalAttempts(submission);
  return (
    <dl className="headline-figures">
      <div>
        <dt>Resolved</dt>
        <dd>
          <b>{formatPct(row.resolved.pct)}</b>
          <small>
            {row.resolved.resolved === null ? "" : `${row.resolved.resolved} of ${row.resolved.total}; `}
            {row.resolved.interval ? `95 % interval ${formatInterval(row.resolved.interval)}` : ""}
          </small>
        </dd>
      </div>
      <div>
        <dt>Rank set</dt>
        <dd>
          <b>{formatRankSet(row.rankSet)}</b>
          <small>
            {row.rankSet ? "of its board" : row.entry.kind === "reference" ? "reference: unranked" : "unranked"}
          </small>
        </dd>
      </div>
      {row.officialResolved ? (
        <div>
          <dt>Official tests alone</dt>
          <dd>
            <b>{formatPct(row.officialResolved.pct)}</b>
            <small>
              {row.probeRejected
                ? `probes reject ${row.probeRejected.rejected} of ${row.probeRejected.officialResolved}`
                : ""}
            </small>
          </dd>
        </div>
      ) : null}
      {row.passedPct === null ? null : (
        <div>
          <dt>Tests passed, mean</dt>
          <dd>
            <b>{formatPct(row.passedPct)}</b>
            <small>{interval ? `bootstrap over tasks ${formatInterval(interval)}` : "per task, as published"}</small>
          </dd>
        </div>
      )}
      {several ? (
        <div>
          <dt>pass@{several.k}</dt>
          <dd>
            <b>{formatPct(several.passAt)}</b>
            <small>
              pass^{several.k} {formatPct(several.passHat)}
            </small>
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

function Candidate({ submission }: { submission: SubmissionDetail }) {
  const { candidate, row } = submission;
  const limits = [
    candidate.budget.timeMin === null ? null : `${formatNumber(candidate.budget.timeMin)} min`,
    candidate.budget.costUsd === null ? null : `$ ${formatUsd(candidate.budget.costUsd)}`,
    candidate.budget.tokensM === null ? null : `${formatNumber(candidate.budget.tokensM, 1)} M tokens`,
    candidate.budget.steps === null ? null : `${formatNumber(candidate.budget.steps)} steps`,
  ].filter((limit) => limit !== null);
  const used = [
    row.timeMin === null ? null : `${formatNumber(row.timeMin, 1)} min`,
    row.costUsd === null ? null : `$ ${formatUsd(row.costUsd)}`,
    row.tokensM === null ? null : `${formatNumber(row.tokensM, 1)} M tokens`,
    row.steps === null ? null : `${formatNumber(row.steps, 1)} steps`,
  ].filter((figure) => figure !== null);
  const agent = [candidate.agent, candidate.agentVersion].filter(Boolean).join(" ");
  return (
    <div>
      <h2>What was run</h2>
      <dl className="facts">
        <dt>Model</dt>
        <dd>
          <a href={entryHref(submission.entrySlug)} className="hit">
            <bdi>{candidate.model}</bdi>
          </a>
          {candidate.reasoningEffort ? `, effort ${candidate.reasoningEffort}` : ""}
        </dd>
        {candidate.kind === "model" ? (
          <>
            <dt>Agent</dt>
            <dd>{agent ? <bdi>{agent}</bdi> : "not stated"}</dd>
            <dt>Prompt</dt>
            <dd>
              {conditionLabels[candidate.promptCondition]}
              {candidate.skill ? (
                <>
                  , skill <bdi>{candidate.skill.name}</bdi>
                </>
              ) : (
                ", no skill"
              )}
            </dd>
            <dt>Network</dt>
            <dd>{candidate.networkPolicy.replaceAll("-", " ")}</dd>
            <dt>Budget</dt>
            <dd>{limits.length > 0 ? limits.join(", ") : "not stated"}</dd>
            <dt>Used per task</dt>
            <dd>{used.length > 0 ? used.join(", ") : "not stated"}</dd>
          </>
        ) : null}
      </dl>
    </div>
  );
}

function Provenance({ submission }: { submission: SubmissionDetail }) {
  const graded = submission.attempts.filter((attempt) => attempt.grading);
  return (
    <div>
      <h2>How this row was made</h2>
      <dl className="facts">
        <dt>Provenance</dt>
        <dd>
          <TierBadge tier={submission.tier} /> {tierMeanings[submission.tier]}
        </dd>
        <dt>Organization</dt>
        <dd>
          <bdi>{submission.organization}</bdi>
        </dd>
        <dt>{submission.source ? "Published" : "Created"}</dt>
        <dd>{submission.source ? formatDate(submission.createdAt) : formatInstant(submission.createdAt)}</dd>
        {submission.source ? (
          <>
            <dt>Source</dt>
            <dd>
              <a href={submission.source.url}>{submission.source.title}</a>
            </dd>
          </>
        ) : (
          <>
            <dt>Gradings</dt>
            <dd>
              {graded.length} of {submission.attempts.length} {plural(submission.attempts.length, "attempt")} graded,
              each with its own signed bundle
            </dd>
          </>
        )}
        <dt>As data</dt>
        <dd>
          <a href={`/api/v1/submissions/${submission.id}`}>JSON</a>
        </dd>
      </dl>
      {submission.footnotes.map((note) => (
        <p key={note} className="aside">
          {note}
        </p>
      ))}
    </div>
  );
}

function CategoryTable({ submission }: { submission: SubmissionDetail }) {
  return (
    <table className="plain shares">
      <caption className="sr-only">Resolved by category</caption>
      <thead>
        <tr>
          <th scope="col">Category</th>
          <th scope="col" className="num">
            Resolved
          </th>
          <th scope="col" className="num">
            %
          </th>
          <th scope="col" className="share-column">
            95 % interval
          </th>
        </tr>
      </thead>
      <tbody>
        {submission.row.byCategory.map(({ category, share }) => (
          <tr key={category}>
            <th scope="row">{categoryLabels[category]}</th>
            <td className="num">{share.resolved === null ? "—" : `${share.resolved}/${share.total}`}</td>
            <td className="num">{formatPct(share.pct)}</td>
            <td>
              <ShareBar share={share} official={null} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function AttemptRows({ submission }: { submission: SubmissionDetail }) {
  const candidateName = submission.candidate.model;
  return (
    <ScrollRegion label="Tasks">
      <table className="plain attempts">
        <caption className="sr-only">Tasks with their verdicts</caption>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Category</th>
            <th scope="col">Verdict</th>
            <th scope="col" className="num">
              Tests
            </th>
            <th scope="col" className="num">
              Patch
            </th>
            <th scope="col" className="num">
              Grading took
            </th>
            <th scope="col">Evidence</th>
          </tr>
        </thead>
        <tbody>
          {submission.attempts.map((attempt) => {
            const { grading } = attempt;
            return (
              <tr key={attempt.id}>
                <th scope="row">
                  <a href={`/submissions/${submission.id}/${attempt.task}`}>{attempt.taskTitle}</a>
                  <small>
                    <a href={taskHref(submission.suite, attempt.task)}>{attempt.task}</a>
                    {attempt.label && !candidateName.includes(attempt.label) ? `, ${attempt.label}` : ""}
                  </small>
                </th>
                <td>{categoryLabels[attempt.category]}</td>
                <td>
                  <Verdict verdict={attempt.verdict} />
                  {grading && grading.status !== "completed" ? (
                    <small>{gradingStatusLabels[grading.status]}</small>
                  ) : null}
                  {!grading && attempt.jobState ? (
                    <small>{jobTexts[attempt.jobState] ?? attempt.jobState}</small>
                  ) : null}
                </td>
                <td className="num">
                  {grading ? `${grading.summary.requiredPassed}/${grading.summary.requiredTotal}` : "—"}
                </td>
                <td className="num">{formatBytes(attempt.patchBytes)}</td>
                <td className="num">{formatDuration(grading?.durationMs)}</td>
                <td>
                  {grading ? (
                    <>
                      <TierBadge tier={grading.tier} />{" "}
                      <a href={`/submissions/${submission.id}/${attempt.task}#evidence`} className="hit">
                        check
                      </a>
                    </>
                  ) : (
                    "—"
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** One entry's attempts at one suite version: provenance, figures, and every task with its verdict and evidence. */
export function SubmissionPage({ submission }: { submission: SubmissionDetail }) {
  const { candidate, row } = submission;
  return (
    <>
      <StripPatterns />
      <div className="page-head">
        <Crumbs
          trail={[
            { href: "/", label: "Leaderboard" },
            { href: boardHrefOf(submission), label: `${submission.suite.title} ${submission.suite.version}` },
          ]}
          here={<bdi>{candidate.model}</bdi>}
        />
        <h1>
          <bdi>{candidate.model}</bdi> on {submission.suite.title} {submission.suite.version}
        </h1>
        {submission.provisional ? (
          <p className="notice">
            Provisional: a host’s fault interrupted a grading and no rerun replaced it yet. The row is shown and not
            ranked.
          </p>
        ) : null}
        <Figures submission={submission} />
        <div className="strip-line">
          <TaskStrip
            row={row}
            href={taskListHref({ suite: submission.suite.slug, version: submission.suite.version })}
          />
          {row.tasks ? null : <p className="aside">Counts per category: which tasks they are was not published.</p>}
        </div>
      </div>
      <section className="two" aria-label="Provenance and configuration">
        <Provenance submission={submission} />
        <Candidate submission={submission} />
      </section>
      <section aria-labelledby="categories">
        <h2 id="categories">By category</h2>
        <CategoryTable submission={submission} />
      </section>
      <section aria-labelledby="tasks">
        <h2 id="tasks">Tasks</h2>
        {submission.attempts.length > 0 ? (
          <AttemptRows submission={submission} />
        ) : (
          <p className="empty">
            The publication states no per-task outcomes, patches or trajectories, so none stand here.
          </p>
        )}
      </section>
    </>
  );
}
