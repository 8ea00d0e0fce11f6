import type { ReactNode } from "react";
import { AttemptTrajectory } from "@/components/trajectory/attempt-trajectory";
import { Crumbs } from "@/components/ui/crumbs";
import { LongText } from "@/components/ui/long-text";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { AttemptDetail } from "@/lib/contract/api";
import type { TrajectoryPage } from "@/lib/contract/trajectory";
import { formatDuration, formatInstant } from "@/lib/format/times";
import { verdictOf, verdictSentence } from "@/lib/prepare/attempt";
import { categoryLabels, gradingStatusLabels, taskTypeLabels } from "@/lib/prepare/labels";
import { outcomeRowsOf } from "@/lib/prepare/outcomes";
import { boardHrefOf } from "@/lib/prepare/submission";
import { taskHref } from "@/lib/prepare/task-list-view";
import { EvidenceBlock } from "./evidence-block";
import { FailureList } from "./failure-list";
import { HostFacts } from "./host-facts";
import { LaunchTable } from "./launch-table";
import { OutcomeExplorer } from "./outcome-explorer";
import { PatchDiff } from "./patch-diff";
import { ResourceTable } from "./resource-table";
import { TierBadge } from "./tier-badge";
import { Verdict } from "./verdict";

function Reason({ detail }: { detail: AttemptDetail }) {
  const { grading } = detail;
  if (!grading || grading.status === "completed") return null;
  return (
    <section className="notice" aria-label="Why no outcome counts">
      <p>
        <strong>{gradingStatusLabels[grading.status]}</strong>
        {grading.reason ? (
          <>
            : {grading.reason.message} <code>{grading.reason.code}</code>
          </>
        ) : null}
      </p>
      {grading.reason && grading.reason.evidence.length > 0 ? (
        <LongText text={grading.reason.evidence.join("\n")} />
      ) : null}
    </section>
  );
}

function OtherGradings({ detail }: { detail: AttemptDetail }) {
  if (detail.otherGradings.length === 0) return null;
  return (
    <section aria-labelledby="other-gradings">
      <h2 id="other-gradings">Other gradings of this attempt</h2>
      <ScrollRegion label="Other gradings">
        <table className="plain">
          <caption className="sr-only">Gradings that do not count</caption>
          <thead>
            <tr>
              <th scope="col">Received</th>
              <th scope="col">Status</th>
              <th scope="col" className="num">
                Tests
              </th>
              <th scope="col">Provenance</th>
              <th scope="col">Bundle</th>
            </tr>
          </thead>
          <tbody>
            {detail.otherGradings.map((grading) => (
              <tr key={grading.id}>
                <td>{formatInstant(grading.receivedAt)}</td>
                <td>
                  {gradingStatusLabels[grading.status]}
                  {grading.late ? ", late" : ""}
                </td>
                <td className="num">
                  {grading.summary.requiredPassed}/{grading.summary.requiredTotal}
                </td>
                <td>
                  <TierBadge tier={grading.tier} />
                </td>
                <td>
                  <a href={`/api/v1/gradings/${grading.id}/bundle`} download>
                    bundle
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

/** One attempt at one task: verdict, failures, outcomes by test and rank, resources, patch, trajectory, logs, host, evidence. */
export function AttemptPage({
  detail,
  trajectory,
  verify,
}: {
  detail: AttemptDetail;
  trajectory: TrajectoryPage | null;
  verify: ReactNode;
}) {
  const { submission, task, grading } = detail;
  const rows = outcomeRowsOf(detail);
  return (
    <>
      <div className="page-head">
        <Crumbs
          trail={[
            { href: "/", label: "Leaderboard" },
            { href: boardHrefOf(submission), label: `${submission.suite.title} ${submission.suite.version}` },
            { href: `/submissions/${submission.id}`, label: <bdi>{submission.candidate.model}</bdi> },
          ]}
          here={task.slug}
        />
        <h1>{task.title}</h1>
        <p className="task-facts">
          {task.repo}, {categoryLabels[task.category]}, {taskTypeLabels[task.type]}; attempt by{" "}
          <bdi>{submission.candidate.model}</bdi>
          {detail.attempt.label && !submission.candidate.model.includes(detail.attempt.label)
            ? `, ${detail.attempt.label}`
            : ""}
          . <a href={taskHref(submission.suite, task.slug)}>The task: its prompt, tests and every result</a>
        </p>
        <p className="verdict-line">
          <Verdict verdict={verdictOf(grading)} />
          <span>{verdictSentence(grading)}</span>
          {grading ? (
            <span className="count">
              graded {formatInstant(grading.startedAt)} in {formatDuration(grading.durationMs)}
            </span>
          ) : null}
        </p>
      </div>
      <Reason detail={detail} />
      <FailureList detail={detail} />
      {rows.length > 0 ? (
        <section aria-labelledby="outcomes">
          <h2 id="outcomes">Outcomes by test and rank</h2>
          <OutcomeExplorer rows={rows} />
        </section>
      ) : null}
      <ResourceTable detail={detail} />
      <EvidenceBlock detail={detail} verify={verify} />
      <PatchDiff attempt={detail.attempt} />
      <AttemptTrajectory page={trajectory} />
      <LaunchTable detail={detail} />
      <HostFacts detail={detail} />
      <OtherGradings detail={detail} />
    </>
  );
}
