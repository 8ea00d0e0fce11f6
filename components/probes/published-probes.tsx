import { PublishedTable } from "@/components/results/published-table";
import type { PublishedProbes } from "@/lib/contract/probes-api";
import { formatDate } from "@/lib/format/times";
import { recomputedInWords } from "@/lib/prepare/probes-words";

/** A publication's own table, apart from what is graded here and named as such. */
export function PublishedProbesSection({ published }: { published: PublishedProbes }) {
  const { source, table, missingNames } = published;
  return (
    <div className="published-probes">
      <p className="published-mark">As published, not graded here</p>
      <PublishedTable table={table} names={new Map(Object.entries(missingNames))} />
      <p className="aside">{recomputedInWords(published)}</p>
      <p className="source">
        Source: <a href={source.url}>{source.title}</a>, {formatDate(source.published)}.{" "}
        <a href="/published#claims">Its other figures</a>
      </p>
    </div>
  );
}
