import type { DrawnStep, ShownText } from "@/lib/contract/trajectory";
import { formatNumber, plural } from "@/lib/format/numbers";
import { formatDuration, formatInstant } from "@/lib/format/times";
import { trajectoryHref } from "@/lib/prepare/trajectory-view";

/** A text of somebody else's: every character that could act is shown as a sign. */
function Text({ text }: { text: ShownText }) {
  return (
    <pre className="step-text" dir="auto">
      {text.pieces.map(({ text: piece, classes }, index) =>
        classes.length === 0 ? (
          piece
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the text
          <span key={index} className={classes.join(" ")}>
            {piece}
          </span>
        ),
      )}
      {text.shown < text.chars ? (
        <span className="log-cut">
          {" "}
          … cut here: the text has {formatNumber(text.chars)} characters, the whole file has it all
        </span>
      ) : null}
    </pre>
  );
}

function Part({ label, texts }: { label: string; texts: readonly ShownText[] }) {
  const said = texts.filter(({ chars }) => chars > 0);
  if (said.length === 0) return null;
  return (
    <div className="step-part">
      <p className="step-label">{label}</p>
      {said.map((text, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text is its place in the step
        <Text key={index} text={text} />
      ))}
    </div>
  );
}

const plainText = ({ pieces }: ShownText) =>
  pieces
    .map(({ text }) => text)
    .join("")
    .trim();

function Step({ step, attemptId, open }: { step: DrawnStep; attemptId: string; open: boolean }) {
  const { number, source, sinceMs, at, line, calledTools, leftOut } = step;
  return (
    <li id={`S${number}`} className="step">
      <a className="step-number" href={trajectoryHref({ attemptId, step: number })} rel="nofollow">
        <span className="sr-only">Step </span>
        {number}
      </a>
      <details open={open}>
        <summary>
          <span className="step-source">
            {source}
            {step.copied ? ", copied" : ""}
          </span>
          <span className="step-time" {...(at === null ? {} : { title: formatInstant(at) })}>
            {sinceMs === null ? "" : sinceMs === 0 ? "start" : formatDuration(sinceMs)}
          </span>
          <span className="step-lines">
            {line === "" ? null : <bdi className="step-line step-said">{line}</bdi>}
            {calledTools.map((call, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a call is its place in the step
              <span key={index} className="step-line">
                <b>
                  <bdi>{call.tool}</bdi>
                </b>{" "}
                <code>{call.line}</code>
              </span>
            ))}
            {line === "" && calledTools.length === 0 ? <span className="step-line aside">no text</span> : null}
          </span>
        </summary>
        <Part label="Message" texts={[step.message].filter((message) => plainText(message) !== line)} />
        <Part label="Reasoning" texts={step.reasoning ? [step.reasoning] : []} />
        {step.calls.map((call, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a call is its place in the step
          <div key={index} className="step-call">
            <Part label={`Call of ${calledTools[index]?.tool ?? ""}`} texts={[call.arguments]} />
            <Part label="Result" texts={call.results} />
          </div>
        ))}
        <Part label={source === "agent" ? "Observation" : "Result"} texts={step.results} />
        {leftOut > 0 ? (
          <p className="aside">
            {formatNumber(leftOut)} more {plural(leftOut, "call or result", "calls or results")} in the whole file.
          </p>
        ) : null}
      </details>
    </li>
  );
}

/** Steps of a trajectory, each folded to a line: who, when, what was said and called. Readable without JavaScript. */
export function StepList({
  steps,
  attemptId,
  open,
  label,
}: {
  steps: readonly DrawnStep[];
  attemptId: string;
  open: number | null;
  label: string;
}) {
  return (
    <ol className="steps" aria-label={label}>
      {steps.map((step) => (
        <Step key={step.number} step={step} attemptId={attemptId} open={step.number === open} />
      ))}
    </ol>
  );
}
