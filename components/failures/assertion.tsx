import type { FailureDetailAnswer, FailureLabel } from "@/lib/contract/failures-api";
import { visibleText } from "@/lib/format/visible-text";
import { comparisonOf, markedText } from "@/lib/prepare/failure-page";

/** The two values that were compared, one below the other so that long ones stay comparable. */
function Compared({ message }: { message: string }) {
  const compared = comparisonOf(message);
  if (!compared) return null;
  const [first, second] = compared.sides;
  return (
    <dl className="assertion-sides">
      {[first, second].map(([label, value], index) => (
        <div key={label}>
          <dt>
            {label}
            {index === 1 && compared.operator ? (
              <span className="assertion-operator">
                {" "}
                of <code>{compared.operator}</code>
              </span>
            ) : null}
          </dt>
          <dd>
            <code>{visibleText(value)}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What failed, in its own words: compared values, exception and message, and in it what the label was read from. */
export function Assertion({ answer }: { answer: FailureDetailAnswer }) {
  const { failure, message, requirement } = answer;
  const evidence: FailureLabel["evidence"] = failure.label.evidence;
  const type = markedText(failure.exceptionType ?? "", evidence, "exceptionType");
  const text = markedText(message ?? "", evidence, "message");
  return (
    <section aria-labelledby="assertion">
      <h2 id="assertion">What failed</h2>
      {requirement ? <p className="requirement">Required: {requirement}</p> : null}
      {failure.test.hidden ? (
        <p className="aside">The probes of this suite are hidden: their assertions, frames and output are sealed.</p>
      ) : null}
      {message !== null ? <Compared message={message} /> : null}
      {failure.exceptionType || message ? (
        <div className="message">
          <pre>
            {type.before}
            {type.marked ? <mark>{type.marked}</mark> : null}
            {type.after}
            {failure.exceptionType && message ? ": " : ""}
            {visibleText(text.before)}
            {text.marked ? <mark>{visibleText(text.marked)}</mark> : null}
            {visibleText(text.after)}
          </pre>
        </div>
      ) : failure.test.hidden ? null : (
        <p className="aside">No exception and no message was reported.</p>
      )}
      {answer.mro.length > 1 ? (
        <p className="aside">
          Class and bases: <code>{answer.mro.join(" ← ")}</code>
        </p>
      ) : null}
    </section>
  );
}
