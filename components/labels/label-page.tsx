import { LogLines } from "@/components/failures/log-lines";
import { PatchHunks } from "@/components/failures/patch-hunks";
import { Frames } from "@/components/results/failure-list";
import { OutcomeStatusText } from "@/components/results/outcome-status";
import type { FailureDetailAnswer, FailureOverview } from "@/lib/contract/failures-api";
import type { GivenLabel, QueuePlace } from "@/lib/contract/label-facts";
import type { FailureAddress } from "@/lib/contract/labels-api";
import { formatInstant } from "@/lib/format/times";
import { visibleText } from "@/lib/format/visible-text";
import { splitTestId } from "@/lib/prepare/attempt";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import { failureFilterKeys, filterLabels, filterValueLabel, withoutFilter } from "@/lib/prepare/failure-view";
import { type LabelView, labelHref, typeKeys } from "@/lib/prepare/label-view";
import { categoryLabels, propertyLabels } from "@/lib/prepare/labels";
import { logHref, logName, logPathOf } from "@/lib/prepare/log-view";
import { LabelDesk } from "./label-desk";
import { LabelForm } from "./label-form";
import { QueueEmpty, QueueFinished } from "./queue-end";

interface Person {
  pseudonym: string;
  role: "annotator" | "maintainer" | null;
}

interface Props {
  view: LabelView;
  person: Person;
  problem: string | null;
  types: FailureOverview["taxonomy"]["types"];
  place: QueuePlace;
  shown: {
    address: FailureAddress;
    answer: FailureDetailAnswer;
    background: FailureBackground;
    own: GivenLabel | null;
    labels: GivenLabel[] | null;
  } | null;
}

/** Who is signed in, with the pages that only those see. */
export function LabelBar({ person }: { person: Person }) {
  return (
    <nav aria-label="Labelling" className="label-bar">
      <ul>
        <li>
          <a href="/label">Queue</a>
        </li>
        <li>
          <a href="/label/disagreements">Disagreements</a>
        </li>
        <li>
          <a href="/label/agreement">Agreement</a>
        </li>
        <li>
          <a href="/account">
            <code>{person.pseudonym}</code>
          </a>
        </li>
      </ul>
    </nav>
  );
}

export function NoRole({ person }: { person: Person }) {
  return (
    <>
      <div className="page-head">
        <h1>Label failures</h1>
      </div>
      <p>
        The account <code>{person.pseudonym}</code> may read, and not label. A maintainer can let it:{" "}
        <code>npm run admin -- account grant &lt;email&gt; annotator</code>
      </p>
    </>
  );
}

function Filters({ view, types }: { view: LabelView; types: string[] }) {
  const on = failureFilterKeys.filter((key) => view.filter[key] !== undefined);
  return (
    <div className="label-filters" id="filters">
      <form action="/label" method="get">
        {on
          .filter((key) => key !== "type")
          .map((key) => (
            <input key={key} type="hidden" name={key} value={view.filter[key]} />
          ))}
        <label>
          Only those that count as{" "}
          <select name="type" defaultValue={view.filter.type ?? ""}>
            <option value="">any type</option>
            {[...types, "unclassified"].map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
          </select>
        </label>{" "}
        <button type="submit" className="action">
          Apply
        </button>
      </form>
      {on.length > 0 ? (
        <ul className="chips" aria-label="Filters that are on">
          {on.map((key) => (
            <li key={key}>
              <a
                href={labelHref({
                  ...view,
                  filter: withoutFilter({ filter: view.filter, page: 1, by: "repository" }, key).filter,
                  at: null,
                })}
              >
                <span className="count">{filterLabels[key]}</span>{" "}
                <bdi>{filterValueLabel(key, view.filter[key] ?? "")}</bdi>
                <span className="chip-off" aria-hidden="true">
                  {" "}
                  ×
                </span>
                <span className="sr-only">, take this filter off</span>
              </a>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

/** The failure itself, without a word of what anybody called it. */
function Case({ answer, background }: { answer: FailureDetailAnswer; background: FailureBackground }) {
  const { failure, message, requirement, frames } = answer;
  const { log } = background;
  const gradingId = failure.address.grading;
  return (
    <div className="label-case">
      {requirement ? <p className="requirement">Required: {requirement}</p> : null}
      <h2 id="message">Message</h2>
      {failure.exceptionType ? (
        <p>
          <code>{failure.exceptionType}</code>
        </p>
      ) : null}
      {message ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard
        <section className="message" aria-labelledby="message" tabIndex={0}>
          <pre id="label-message">{visibleText(message)}</pre>
        </section>
      ) : (
        <p className="aside">No message was reported.</p>
      )}
      {answer.activeCheck ? (
        <p className="aside">The check that was active: {propertyLabels[answer.activeCheck]}.</p>
      ) : null}
      {frames.length > 0 ? (
        <>
          <h2>Traceback</h2>
          <Frames frames={frames} />
        </>
      ) : null}
      {log ? (
        <>
          <h2>Log</h2>
          <p className="aside">
            <a href={logHref({ gradingId, path: log.path, line: log.marked })}>
              {logName(logPathOf(log.path))}, line {log.marked}
            </a>
          </p>
          <LogLines
            lines={log.lines}
            marked={[log.marked]}
            hrefOf={(line) => logHref({ gradingId, path: log.path, line })}
            label="Lines of the log around the failure"
          />
        </>
      ) : null}
      <PatchHunks answer={answer} background={background} />
    </div>
  );
}

function Given({ labels }: { labels: GivenLabel[] }) {
  return (
    <section aria-labelledby="given" className="label-given">
      <h2 id="given">Labels that people gave</h2>
      {labels.length === 0 ? <p className="aside">None yet.</p> : null}
      <ul>
        {labels.map((label) => (
          <li key={`${label.by} ${label.at.toISOString()} ${label.type}`}>
            <code>{label.by}</code> {label.adjudicates ? "decided" : "said"}{" "}
            {label.withdrawn ? <s>{label.type}</s> : <strong>{label.type}</strong>}
            {label.withdrawn ? ", taken back" : ""}
            <span className="count"> {formatInstant(label.at.toISOString())}</span>
            {label.note ? <p>{visibleText(label.note)}</p> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One failure at a time, with the taxonomy beside it. A form: works without JavaScript, with keys where it runs. */
export function LabelPage({ view, person, problem, types, place, shown }: Props) {
  const hrefOf = (at: FailureAddress | null) => labelHref({ filter: view.filter, at, adjudicate: false });
  const decides = view.adjudicate && person.role === "maintainer";
  const { failure } = shown?.answer ?? {};
  // Where nothing is open any more, whoever changes an earlier label goes on to the next one, and then to the end.
  const after = place.nextOpen ?? (shown?.own ? place.next : null);
  const slip = problem === "quote" ? "The quoted words do not stand in the message. Nothing was saved." : null;
  return (
    <LabelDesk problem={slip}>
      <LabelBar person={person} />
      <div className="page-head">
        <h1 className={failure ? "test-title" : undefined}>
          {failure ? <code>{splitTestId(failure.test.id).name}</code> : "Label failures"}
        </h1>
        <p className="task-facts">
          {place.current ? `${place.current.place} of ${place.total}` : `${place.total} failures`}, {place.labelled}{" "}
          labelled by you
          {failure ? (
            <>
              .{" "}
              <a href={`/tasks/${failure.suite.slug}/${failure.suite.version}/${failure.task.slug}`}>
                {failure.task.title}
              </a>
              , {failure.task.repository}, {categoryLabels[failure.task.category]}
            </>
          ) : null}
        </p>
        {failure ? (
          <p className="failure-facts">
            <OutcomeStatusText status={failure.status} />
            <span>{failure.test.kind === "official" ? "official test" : "probe"}</span>
            <span>checks {propertyLabels[failure.test.property]}</span>
            {failure.rootRank === null ? <span>no rank reported</span> : <span>root rank {failure.rootRank}</span>}
          </p>
        ) : null}
      </div>
      <Filters view={view} types={types.map(({ type }) => type)} />
      {shown ? (
        <div className="label-columns">
          <Case answer={shown.answer} background={shown.background} />
          <div className="label-side">
            <LabelForm
              address={shown.address}
              testName={splitTestId(shown.answer.failure.test.id).name}
              types={types.map((type, index) => ({ ...type, key: typeKeys[index] ?? null }))}
              own={shown.own ? { type: shown.own.type, note: shown.own.note } : null}
              decides={decides}
              cluster={decides ? null : (shown.answer.cluster?.cases ?? null)}
              hrefs={{
                here: labelHref({ ...view, at: shown.address }),
                previous: place.previous && hrefOf(place.previous),
                next: place.next && hrefOf(place.next),
                after: decides ? "/label/disagreements" : hrefOf(after),
              }}
            />
            {shown.labels ? (
              <Given labels={shown.labels} />
            ) : (
              <p className="aside">What others and the rules said is shown once you have given a label.</p>
            )}
          </div>
        </div>
      ) : place.total > 0 ? (
        <QueueFinished filter={view.filter} total={place.total} first={hrefOf(place.next)} />
      ) : (
        <QueueEmpty filter={view.filter} />
      )}
    </LabelDesk>
  );
}
