import { OutcomeStatusText } from "@/components/results/outcome-status";
import { StepLinks } from "@/components/ui/step-links";
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
  const to = (number: number, there: boolean): string | null => (there ? hrefOf(number) : null);
  return (
    <StepLinks
      label={label}
      lead={`Page ${page} of ${pages}`}
      steps={[
        ["First", to(1, page > 2)],
        ["Previous", to(page - 1, page > 1)],
        ["Next", to(page + 1, page < pages)],
        ["Last", to(pages, page < pages - 1)],
      ]}
    />
  );
}
