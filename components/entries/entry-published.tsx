import type { EntryStanding } from "@/lib/contract/entry-api";
import { formatDate } from "@/lib/format/times";
import { publishedColumnLabel, publishedTableNumber } from "@/lib/prepare/published";

/** What was published of an entry, with its citation, and what was not. */
export function EntryPublished({ published }: { published: NonNullable<EntryStanding["published"]> }) {
  const { title, url, extent, stated, notStated, tables, footnotes } = published;
  return (
    <>
      <p className="aside">
        Copied from <a href={url}>{title}</a>, {formatDate(published.published)}. {extent}
      </p>
      <dl className="facts">
        <dt>Published</dt>
        <dd>{stated.join("; ")}.</dd>
        <dt>Not published</dt>
        <dd>{notStated.join("; ")}.</dd>
        {tables.map(({ key, title: tableTitle, repository, cells }) => (
          <div key={key} className="facts-row">
            <dt>
              <a href={`/published#${key}`}>{publishedTableNumber(key)}</a>
            </dt>
            <dd>
              {tableTitle}
              {repository ? ` (${publishedColumnLabel(repository)})` : ""}:{" "}
              {cells
                .map(
                  ({ column, printed, unit }) => `${publishedColumnLabel(column)} ${printed}${unit ? ` ${unit}` : ""}`,
                )
                .join(", ")}
            </dd>
          </div>
        ))}
      </dl>
      {footnotes.map((note) => (
        <p key={note} className="aside">
          {note}
        </p>
      ))}
    </>
  );
}
