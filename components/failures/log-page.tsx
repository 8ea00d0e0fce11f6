import { Crumbs } from "@/components/ui/crumbs";
import { RangeLinks } from "@/components/ui/step-links";
import type { LogPage as LogPageModel } from "@/lib/contract/log-lines";
import { formatBytes, formatNumber, plural } from "@/lib/format/numbers";
import { type LogView, logHref, logName, logSteps, payloadPathOf } from "@/lib/prepare/log-view";
import { LogLines } from "./log-lines";

const firstLine = (page: LogPageModel) => page.lines[0]?.number ?? 1;

function Steps({ page, view, label }: { page: LogPageModel; view: LogView; label: string }) {
  const ranges = logSteps({ from: firstLine(page), lineCount: page.lineCount });
  return <RangeLinks label={label} ranges={ranges} hrefOf={(from) => logHref({ ...view, line: null, from })} />;
}

function rangeText({ lines, lineCount }: LogPageModel): string {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) return "The file is empty.";
  if (lineCount === lines.length) return `All ${formatNumber(lineCount)} ${plural(lineCount, "line")}.`;
  return `Lines ${formatNumber(first.number)} to ${formatNumber(last.number)} of ${formatNumber(lineCount)}.`;
}

/** A log, page by page, each of its lines with an address. Readable without JavaScript. */
export function LogPage({ page, view }: { page: LogPageModel; view: LogView }) {
  const address = `/logs/${page.gradingId}/${page.path.split("/").map(encodeURIComponent).join("/")}`;
  const file = payloadPathOf(page.path).split("/").map(encodeURIComponent).join("/");
  const api = `/api/v1/gradings/${page.gradingId}`;
  return (
    <>
      <div className="page-head">
        <Crumbs
          trail={[
            { href: `/submissions/${page.submissionId}`, label: <bdi>{page.model}</bdi> },
            { href: `/submissions/${page.submissionId}/${page.task.slug}`, label: page.task.title },
          ]}
          here="Log"
        />
        <h1>{logName(page.path)}</h1>
        <p className="task-facts">
          {rangeText(page)} {formatBytes(page.bytes)}.{" "}
          <a href={`${api}/files/${file}`} download>
            Whole file
          </a>{" "}
          · <a href={`${api}/lines/${file}?from=${firstLine(page)}`}>JSON</a>
        </p>
        {view.line !== null && view.line > page.lineCount ? (
          <p className="notice">There is no line {formatNumber(view.line)}: the file ends before it.</p>
        ) : null}
      </div>
      <div className="log-bar">
        <form action={address} method="get" className="log-jump">
          <label>
            Go to line <input name="line" type="text" inputMode="numeric" pattern="[0-9]*" maxLength={12} required />
          </label>
          <button type="submit" className="action">
            Go
          </button>
        </form>
        <Steps page={page} view={view} label="Pages of the log, above" />
      </div>
      {page.lines.length > 0 ? (
        <LogLines
          lines={page.lines}
          marked={view.line === null ? [] : [view.line]}
          hrefOf={(line) => logHref({ ...view, line })}
          label={`${logName(page.path)}: ${rangeText(page)}`}
        />
      ) : (
        <p className="empty">Nothing was written here.</p>
      )}
      <Steps page={page} view={view} label="Pages of the log, below" />
    </>
  );
}
