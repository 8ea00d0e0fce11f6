import { OutcomeStatusText } from "@/components/results/outcome-status";
import type { FailureRow } from "@/lib/contract/failures-api";
import { visibleText } from "@/lib/format/visible-text";
import { splitTestId } from "@/lib/prepare/attempt";
import { failureHref } from "@/lib/prepare/failure-page";

/** Failing cases, each with what it says and where it is. */
export function CaseList({ rows, first }: { rows: readonly FailureRow[]; first: number }) {
  return (
    <ol className="cases" start={first}>
      {rows.map((row) => (
        <li key={`${row.address.grading} ${row.address.test}`}>
          <p className="case-name">
            <a href={failureHref(row.address)}>
              <code>{splitTestId(row.test.id).name}</code>
            </a>
          </p>
          {row.line || row.exceptionType ? (
            <p className="case-line">
              <code>
                {row.exceptionType}
                {row.exceptionType && row.line ? ": " : ""}
                {visibleText(row.line ?? "")}
              </code>
            </p>
          ) : row.test.hidden ? (
            <p className="case-line">a hidden probe: its message is sealed</p>
          ) : null}
          <p className="failure-facts">
            <OutcomeStatusText status={row.status} />
            <span className="case-type">
              {row.label.class === row.label.type ? row.label.type : `${row.label.class}: ${row.label.type}`}
              {row.label.tags.length > 0 ? ` (${row.label.tags.join(", ")})` : ""}
            </span>
            <a href={`/submissions/${row.submissionId}/${row.task.slug}`}>
              <bdi>{row.entry.model}</bdi>, {row.task.title}
            </a>
            <span>{row.test.kind === "official" ? "official test" : "probe"}</span>
            {row.rootRank === null ? null : <span>root rank {row.rootRank}</span>}
          </p>
        </li>
      ))}
    </ol>
  );
}

/** Links to the pages of a list; nothing where there is one. */
export function Pager({
  page,
  pages,
  hrefOf,
  label,
}: {
  page: number;
  pages: number;
  hrefOf: (page: number) => string;
  label: string;
}) {
  if (pages <= 1) return null;
  const steps = [
    ["First", page > 2 ? 1 : null],
    ["Previous", page > 1 ? page - 1 : null],
    ["Next", page < pages ? page + 1 : null],
    ["Last", page < pages - 1 ? pages : null],
  ] as const;
  return (
    <nav aria-label={label} className="log-steps">
      <ul>
        <li className="count">
          Page {page} of {pages}
        </li>
        {steps.map(([name, to]) =>
          to === null ? null : (
            <li key={name}>
              <a href={hrefOf(to)} rel="nofollow">
                {name}
              </a>
            </li>
          ),
        )}
      </ul>
    </nav>
  );
}
