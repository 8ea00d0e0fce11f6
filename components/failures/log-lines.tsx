import type { ShownLine } from "@/lib/contract/log-lines";
import { formatBytes } from "@/lib/format/numbers";

/** A line of a log as text: every character that could act is shown as a sign. */
function LineText({ line }: { line: ShownLine }) {
  return (
    <>
      {line.pieces.map(({ text, classes }, index) =>
        classes.length === 0 ? (
          text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the line
          <span key={index} className={classes.join(" ")}>
            {text}
          </span>
        ),
      )}
      {line.cut ? (
        <span className="log-cut"> … cut here: the line has {formatBytes(line.bytes)}, the whole file has it all</span>
      ) : null}
    </>
  );
}

/** Where the grader's guard items lie (`runner/grading/canaries.ts`): their folder, and files named at random. */
const guardFile = /(?:^|[\s./])guard\/test_[0-9a-f]{12}\b/;

/** What lines of the guard are, so that nobody takes their failures for those of the task. */
function GuardNote({ lines }: { lines: readonly ShownLine[] }) {
  if (!lines.some(({ pieces }) => guardFile.test(pieces.map(({ text }) => text).join("")))) return null;
  return (
    <p className="notice">
      Tests under <code>guard/</code> are guard items: the grader places them among the task’s tests to notice
      tampering. Some of them are meant to fail, and none counts for the task; only what pytest sums up in the log
      counts them too.
    </p>
  );
}

/** Lines with their numbers, each number a link to its line. `hrefOf` null: to the line on this page. */
export function LogLines({
  lines,
  marked,
  hrefOf,
  label,
}: {
  lines: readonly ShownLine[];
  marked: readonly number[];
  hrefOf: (line: number) => string;
  label: string;
}) {
  return (
    <>
      <GuardNote lines={lines} />
      <table className="log">
        <caption className="sr-only">{label}</caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr
              key={line.number}
              id={`L${line.number}`}
              className={marked.includes(line.number) ? "log-line log-marked" : "log-line"}
            >
              <th scope="row" className="log-number">
                <a href={hrefOf(line.number)} rel="nofollow" aria-label={`Line ${line.number}`}>
                  {line.number}
                </a>
              </th>
              <td className="log-text">
                <LineText line={line} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
