import { ScrollRegion } from "@/components/ui/scroll-region";
import type { FailureDetailAnswer, FailureLabel } from "@/lib/contract/failures-api";
import { formatInstant } from "@/lib/format/times";
import { visibleText } from "@/lib/format/visible-text";
import { failuresHref } from "@/lib/prepare/failure-view";
import { labelHref } from "@/lib/prepare/label-view";

const fieldLabels: Record<NonNullable<FailureLabel["evidence"]>["field"], string> = {
  status: "the outcome",
  exceptionType: "the exception",
  mro: "the exception's bases",
  message: "the message",
  function: "a frame's function",
  code: "a frame's code",
  activeCheck: "the check that was active",
  property: "the property that the test declares",
};

/** The text that a label was read from. */
function evidenceText(answer: FailureDetailAnswer, { evidence }: FailureLabel): string | null {
  if (!evidence) return null;
  const { field, index, from, to } = evidence;
  const sources: Record<typeof field, string | null | undefined> = {
    status: answer.failure.status,
    exceptionType: answer.failure.exceptionType,
    mro: answer.mro[index ?? 0],
    message: answer.message,
    function: answer.frames[index ?? 0]?.function,
    code: answer.frames[index ?? 0]?.code,
    activeCheck: answer.activeCheck,
    property: answer.failure.test.property,
  };
  const text = sources[field]?.slice(from, to);
  return text ? text : null;
}

function Source({ label }: { label: FailureLabel & { person?: string | null } }) {
  if (label.source === "person") return label.person ? <code>{label.person}</code> : <>a person</>;
  return (
    <>
      rule <code>{label.rule}</code>
      {label.rulesVersion ? `, rules ${label.rulesVersion}` : ""}
    </>
  );
}

/** Which class and type the failure has, who says so and from what; then every label that it was ever given. */
export function LabelHistory({ answer }: { answer: FailureDetailAnswer }) {
  const { label, suite, entry } = answer.failure;
  const alike = {
    suite: suite.slug,
    version: suite.version,
    entryKind: entry.kind,
    class: label.class,
    type: label.type,
  };
  const read = evidenceText(answer, label);
  return (
    <section aria-labelledby="label">
      <h2 id="label">Class and type</h2>
      <p className="label-line">
        <strong>{label.class === label.type ? label.type : `${label.class}: ${label.type}`}</strong>
        {label.tags.length > 0 ? <span className="count">{label.tags.join(", ")}</span> : null}
        <a href={`${failuresHref({ filter: alike })}#cases`}>Other cases of this type</a>
      </p>
      <dl className="facts">
        <dt>Given by</dt>
        <dd>
          <Source label={answer.labels.find(({ effective }) => effective) ?? label} />
        </dd>
        {label.confidence ? (
          <>
            <dt>Confidence</dt>
            <dd>{label.confidence}</dd>
          </>
        ) : null}
        {label.evidence ? (
          <>
            <dt>Read from</dt>
            <dd>
              {fieldLabels[label.evidence.field]}
              {read ? (
                <>
                  : <mark>{visibleText(read)}</mark>
                </>
              ) : null}
            </dd>
          </>
        ) : null}
      </dl>
      {answer.failure.test.hidden ? null : (
        <p className="aside">
          <a href={labelHref({ filter: {}, at: answer.failure.address, adjudicate: false })} rel="nofollow">
            Label it by hand
          </a>
        </p>
      )}
      {answer.labels.length > 1 ? (
        <ScrollRegion label="History of labels">
          <table className="plain label-history">
            <caption>Every label it was given, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Given</th>
                <th scope="col">Class and type</th>
                <th scope="col">By</th>
                <th scope="col">Confidence</th>
                <th scope="col">Counts</th>
              </tr>
            </thead>
            <tbody>
              {answer.labels.map((one) => (
                <tr key={`${one.at} ${one.source} ${one.rule} ${one.rulesVersion} ${one.person} ${one.type}`}>
                  <td>{formatInstant(one.at)}</td>
                  <th scope="row">
                    {one.class}: {one.type}
                    {one.tags.length > 0 ? <small>{one.tags.join(", ")}</small> : null}
                  </th>
                  <td>
                    <Source label={one} />
                  </td>
                  <td>{one.confidence ?? "—"}</td>
                  <td>{one.effective ? "yes" : one.withdrawnAt ? "taken back" : "no"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      ) : null}
    </section>
  );
}
