import { LongText } from "@/components/ui/long-text";
import type { AttemptDetail } from "@/lib/contract/api";
import type { Frame, RankOutcome } from "@/lib/contract/result";
import { plural } from "@/lib/format/numbers";
import { visibleText } from "@/lib/format/visible-text";
import { evidenceOf, failureAnchor, failuresOf, framesOf, type ShownFailure, splitTestId } from "@/lib/prepare/attempt";
import { failureHref } from "@/lib/prepare/failure-page";
import { propertyLabels, statusLabels } from "@/lib/prepare/labels";
import { logHref } from "@/lib/prepare/log-view";
import { FailureEvidence } from "./failure-evidence";
import { OutcomeStatusText } from "./outcome-status";

const originLabels: Record<Frame["origin"], string> = {
  project: "project",
  test: "test",
  probe: "probe",
  other: "other",
};

function FrameLine({ frame }: { frame: Frame }) {
  return (
    <li className={`frame frame-${frame.origin}`}>
      <span className="frame-place">
        <span className="frame-origin">{originLabels[frame.origin]}</span>{" "}
        <code>
          {frame.file}:{frame.line}
        </code>{" "}
        in <code>{frame.function}</code>
      </span>
      {frame.code ? <code className="frame-code">{visibleText(frame.code.trim())}</code> : null}
    </li>
  );
}

/** The project's own frames, innermost first, then the test's; the others folded. */
export function Frames({ frames }: { frames: readonly Frame[] }) {
  const { near, rest } = framesOf(frames);
  if (frames.length === 0) return null;
  return (
    <>
      <ol className="frames" aria-label="Frames, project's own first">
        {near.map((frame) => (
          <FrameLine key={`${frame.file}:${frame.line}:${frame.function}`} frame={frame} />
        ))}
      </ol>
      {rest.length > 0 ? (
        <details>
          <summary>
            {rest.length} other {plural(rest.length, "frame")}
          </summary>
          <ol className="frames">
            {rest.map((frame) => (
              <FrameLine key={`${frame.file}:${frame.line}:${frame.function}`} frame={frame} />
            ))}
          </ol>
        </details>
      ) : null}
    </>
  );
}

/** Link to what a rank printed; nothing where the payload holds no log of it. */
function RankLog({ detail, rank, before = "" }: { detail: AttemptDetail; rank: RankOutcome; before?: string }) {
  const log = detail.logs.find(
    (one) => one.launch === rank.launch && one.rank === rank.rank && one.stream === "stdout",
  );
  if (!log || !detail.grading) return null;
  return (
    <>
      {before}
      <a href={logHref({ gradingId: detail.grading.id, path: log.path, line: rank.logLine })}>
        log{rank.logLine ? `, from line ${rank.logLine}` : ""}
      </a>
    </>
  );
}

function Failure({ detail, failure }: { detail: AttemptDetail; failure: ShownFailure }) {
  const { outcome, root, secondary, others } = failure;
  const reason = root?.failure ?? null;
  const number = detail.manifestTests.findIndex((test) => test.id === outcome.id) + 1;
  const href = detail.grading && number > 0 ? failureHref({ grading: detail.grading.id, test: number }) : null;
  const withheld = detail.task.probes === "hidden" && outcome.kind === "probe";
  return (
    <article className="failure" id={failureAnchor(detail, outcome.id)}>
      <h3>
        {href === null ? (
          <code>{splitTestId(outcome.id).name}</code>
        ) : (
          <a href={href}>
            <code>{splitTestId(outcome.id).name}</code>
          </a>
        )}
      </h3>
      <p className="failure-facts">
        <OutcomeStatusText status={outcome.status} />
        <span>{outcome.kind === "official" ? "official test" : "probe"}</span>
        {failure.manifest ? <span>checks {propertyLabels[failure.manifest.property]}</span> : null}
        {outcome.label ? (
          <span title={`rule ${outcome.label.rule}, rules ${outcome.label.rulesVersion}`}>
            {outcome.label.class}: {outcome.label.type}
            {outcome.label.tags.length > 0 ? ` (${outcome.label.tags.join(", ")})` : ""}
          </span>
        ) : null}
        {root ? (
          <span>
            root rank {root.rank}
            <RankLog detail={detail} rank={root} before=": " />
          </span>
        ) : (
          <span>no rank reported</span>
        )}
        {reason ? <span>in {reason.phase}</span> : null}
      </p>
      {withheld ? (
        <p className="aside">The probes of this suite are hidden: their assertions, frames and output are sealed.</p>
      ) : null}
      {reason ? (
        <>
          <LongText text={`${reason.exceptionType ? `${reason.exceptionType}: ` : ""}${reason.message}`} />
          <Frames frames={reason.frames} />
        </>
      ) : null}
      {detail.grading ? <FailureEvidence gradingId={detail.grading.id} entries={evidenceOf(failure)} /> : null}
      {secondary.length > 0 ? (
        <p className="aside">
          {plural(secondary.length, "Rank", "Ranks")} {secondary.join(", ")} failed as a consequence of rank{" "}
          {root?.rank}’s failure.
        </p>
      ) : null}
      {others.length > 0 ? (
        <p className="aside">
          Failed too, by {plural(others.length, "itself", "themselves")}:{" "}
          {others.map((rank, index) => (
            <span key={rank.rank}>
              {index > 0 ? ", " : ""}
              rank {rank.rank} ({rank.failure?.exceptionType ?? statusLabels[rank.status]}
              <RankLog detail={detail} rank={rank} before="; " />)
            </span>
          ))}
        </p>
      ) : null}
    </article>
  );
}

/** Why the required tests that did not pass did not: root rank, message, frames with the project's own first. */
export function FailureList({ detail }: { detail: AttemptDetail }) {
  const failures = failuresOf(detail);
  if (failures.length === 0) return null;
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">
        Failures <span className="count">{failures.length}</span>
      </h2>
      {failures.length > 3 ? (
        <p className="aside">
          <a href="#outcomes">Skip to all outcomes by test and rank</a>
        </p>
      ) : null}
      {failures.map((failure) => (
        <Failure key={failure.outcome.id} detail={detail} failure={failure} />
      ))}
    </section>
  );
}
