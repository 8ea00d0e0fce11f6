import { ScrollRegion } from "@/components/ui/scroll-region";
import { formatNumber, formatPct, plural } from "@/lib/format/numbers";
import type { PublishedTaxonomy, TaxonomyRow, TaxonomyTable } from "@/lib/prepare/failure-table";
import { type FailureView, failuresHref, withFilter } from "@/lib/prepare/failure-view";

/** A repository's name, which may break after its owner. */
function Breakable({ text }: { text: string }) {
  const [owner, ...rest] = text.split("/");
  return rest.length === 0 ? (
    text
  ) : (
    <>
      {owner}/<wbr />
      {rest.join("/")}
    </>
  );
}

/** A count that leads to the cases behind it; zero leads nowhere. */
export function CountLink({ count, href, label }: { count: number; href: string; label: string }) {
  return count === 0 ? (
    <>0</>
  ) : (
    <a href={`${href}#cases`} rel="nofollow" aria-label={`${count} ${plural(count, "attempt")}: ${label}`}>
      {formatNumber(count)}
    </a>
  );
}

const filterOf = (row: TaxonomyRow) => ({ class: row.class, type: row.type ?? undefined });

function Row({
  row,
  table,
  view,
  published,
}: {
  row: TaxonomyRow;
  table: TaxonomyTable;
  view: FailureView;
  published: PublishedTaxonomy | null;
}) {
  const href = (repository?: string) =>
    failuresHref(withFilter(view, { ...filterOf(row), ...(repository === undefined ? {} : { repository }) }));
  return (
    <tr className={row.type === null ? "class-row" : undefined}>
      <th scope="row">
        {row.label}
        {row.meaning ? <small>{row.meaning}</small> : null}
      </th>
      {table.columns.map(({ key, label }, index) => (
        <td key={key} className="num">
          <CountLink count={row.counts[index] ?? 0} href={href(key)} label={`${row.label}, ${label}`} />
        </td>
      ))}
      <td className="num here-all">
        <CountLink count={row.total} href={href()} label={row.label} />
      </td>
      <td className="num">{formatPct(row.pct)}</td>
      {published === null ? null : row.published ? (
        published.columns.map(({ key, label }) => (
          <td key={key} className={`num published-cell${key === "all" ? " published-all" : ""}`}>
            <span className="sr-only">published, {label}: </span>
            {row.published?.[key] ?? "—"}
          </td>
        ))
      ) : (
        <td colSpan={published.columns.length} className="published-cell published-none">
          not published
        </td>
      )}
    </tr>
  );
}

/** Distinct attempts by type of failure and repository: counted here on the left, as published on the right. */
export function TypeTable({
  table,
  published,
  view,
}: {
  table: TaxonomyTable;
  published: PublishedTaxonomy | null;
  view: FailureView;
}) {
  return (
    <ScrollRegion label="Attempts by type of failure">
      <table className="plain taxonomy">
        <caption className="sr-only">
          Attempts with at least one failure of each type, counted here{published ? " and as published" : ""}
        </caption>
        <thead>
          <tr>
            <th rowSpan={2} scope="col">
              Type of failure
            </th>
            <th colSpan={table.columns.length + 2} scope="colgroup" className="group-head">
              Counted here, attempts
            </th>
            {published ? (
              <th colSpan={published.columns.length} scope="colgroup" className="group-head published-cell">
                Published, attempts
              </th>
            ) : null}
          </tr>
          <tr>
            {table.columns.map(({ key, label }) => (
              <th key={key} scope="col" className="num repository">
                <Breakable text={label} />
              </th>
            ))}
            <th scope="col" className="num here-all">
              All
            </th>
            <th scope="col" className="num">
              Share, %
            </th>
            {published?.columns.map(({ key, label }) => (
              <th key={key} scope="col" className="num published-cell">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <Row key={row.key} row={row} table={table} view={view} published={published} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
