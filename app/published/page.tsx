import type { Metadata } from "next";
import { PublishedTable } from "@/components/results/published-table";
import { formatDate } from "@/lib/format/times";
import { listPublished } from "@/lib/server/readers";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Published figures",
  description: "Figures as they were printed, with their source; nothing is filled in.",
};

/** Rows' printed names by their keys. */
const namesOf = (tables: readonly { rows: readonly { key: string; label: string }[] }[]) =>
  new Map(tables.flatMap(({ rows }) => rows.map(({ key, label }) => [key, label] as const)));

export default async function Page() {
  const publications = await listPublished();
  return (
    <>
      <div className="page-head">
        <h1>Published figures</h1>
        <p className="lead">
          As printed in their publication, digit for digit. What a copy lacks is named, never guessed. Each table’s own
          page sets it beside what our gradings give of the same kind.
        </p>
      </div>
      {publications.length === 0 ? <p className="empty">No publication’s figures stand here yet.</p> : null}
      {publications.map(({ source, tables }) => (
        <article key={source.key}>
          <p className="source">
            <a href={source.url}>{source.title}</a>, {formatDate(source.published)}. {source.extent}
          </p>
          {tables.map((table) => (
            <PublishedTable key={table.key} table={table} names={namesOf(tables)} />
          ))}
        </article>
      ))}
    </>
  );
}
