import { FailureEvidence } from "@/components/results/failure-evidence";
import { Frames } from "@/components/results/failure-list";
import { OutcomeStatusText } from "@/components/results/outcome-status";
import { ResourceTable } from "@/components/results/resource-table";
import { Crumbs } from "@/components/ui/crumbs";
import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import { splitTestId } from "@/lib/prepare/attempt";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import { categoryLabels, propertyLabels } from "@/lib/prepare/labels";
import { logHref, logName, logPathOf } from "@/lib/prepare/log-view";
import { Assertion } from "./assertion";
import { ClusterElsewhere, SameTest } from "./elsewhere";
import { LabelHistory } from "./label-history";
import { LogLines } from "./log-lines";
import { PatchHunks } from "./patch-hunks";
import { RankTimeLines } from "./rank-time-line";

function Head({ answer }: { answer: FailureDetailAnswer }) {
  const { failure, grading } = answer;
  const { file, name } = splitTestId(failure.test.id);
  const attempt = `/submissions/${failure.submissionId}/${failure.task.slug}`;
  const api = `/api/v1/failures/${failure.address.grading}/${failure.address.test}`;
  return (
    <div className="page-head">
      <Crumbs
        trail={[
          { href: "/failures", label: "Failures" },
          { href: `/submissions/${failure.submissionId}`, label: <bdi>{failure.entry.model}</bdi> },
          { href: attempt, label: failure.task.title },
        ]}
        here="Failure"
      />
      <h1 className="test-title">
        <code>{name}</code>
      </h1>
      <p className="task-facts">
        {file ? <code>{file}</code> : null} {file ? "of " : ""}
        <a href={`/tasks/${failure.suite.slug}/${failure.suite.version}/${failure.task.slug}`}>{failure.task.title}</a>,{" "}
        {failure.task.repository}, {categoryLabels[failure.task.category]}; attempt by{" "}
        <a href={attempt}>
          <bdi>{failure.entry.model}</bdi>
        </a>
        . <a href={api}>JSON</a>
      </p>
      <p className="failure-facts">
        <OutcomeStatusText status={failure.status} />
        <span>{failure.test.kind === "official" ? "official test" : "probe"}</span>
        <span>checks {propertyLabels[failure.test.property]}</span>
        {failure.rootRank === null ? <span>no rank reported</span> : <span>root rank {failure.rootRank}</span>}
        <span>
          {failure.label.class === failure.label.type
            ? failure.label.type
            : `${failure.label.class}: ${failure.label.type}`}
        </span>
      </p>
      {grading.counts ? null : (
        <p className="notice">
          This grading does not count{grading.late ? ": it arrived after its lease was lost" : ""}.{" "}
          <a href={attempt}>The attempt as it counts</a>
        </p>
      )}
    </div>
  );
}

function Log({ answer, background }: { answer: FailureDetailAnswer; background: FailureBackground }) {
  const { log } = background;
  if (!log) return null;
  const gradingId = answer.failure.address.grading;
  return (
    <section aria-labelledby="log">
      <h2 id="log">Log</h2>
      <p className="aside">
        {logName(logPathOf(log.path))}, around line {log.marked} of {log.lineCount}.{" "}
        <a href={logHref({ gradingId, path: log.path, line: log.marked })}>Open the log at this line</a>
      </p>
      <LogLines
        lines={log.lines}
        marked={[log.marked]}
        hrefOf={(line) => logHref({ gradingId, path: log.path, line })}
        label="Lines of the log around the failure"
      />
    </section>
  );
}

/** One failing case, from its assertion to the log's line and the patch's hunk. */
export function FailurePage({ answer, background }: { answer: FailureDetailAnswer; background: FailureBackground }) {
  const { failure } = answer;
  const ranks = [...answer.ranks].sort(
    (a, b) => Number(b.rank === failure.rootRank) - Number(a.rank === failure.rootRank) || a.rank - b.rank,
  );
  const evidence = ranks.flatMap((rank) =>
    (rank.failure?.evidence ?? []).map((one) => ({ rank: rank.rank, evidence: one })),
  );
  const measured = {
    tests: [
      { id: failure.test.id, resources: answer.resources, ...(answer.usage === null ? {} : { usage: answer.usage }) },
    ],
  };
  return (
    <>
      <Head answer={answer} />
      <Assertion answer={answer} />
      <LabelHistory answer={answer} />
      {answer.frames.length > 0 ? (
        <section aria-labelledby="traceback">
          <h2 id="traceback">Traceback</h2>
          <Frames frames={answer.frames} />
        </section>
      ) : null}
      <Log answer={answer} background={background} />
      <PatchHunks answer={answer} background={background} />
      <RankTimeLines answer={answer} background={background} />
      <ResourceTable detail={measured} />
      <FailureEvidence gradingId={failure.address.grading} entries={evidence} />
      <ClusterElsewhere answer={answer} />
      <SameTest answer={answer} />
    </>
  );
}
