import { TierBadge } from "@/components/results/tier-badge";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { EntryStanding } from "@/lib/contract/entry-api";
import { formatPct, missingValue } from "@/lib/format/numbers";
import { formatDay } from "@/lib/format/times";

/** Every published submission of the entry on a suite version: which one counts on the board, and why. */
export function EntrySubmissions({ standing }: { standing: EntryStanding }) {
  const caption = `Submissions to ${standing.suite.title} ${standing.suite.version}`;
  return (
    <ScrollRegion label={caption}>
      <table className="plain entry-submissions">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Published</th>
            <th scope="col">Organization</th>
            <th scope="col">Evidence</th>
            <th scope="col" className="num">
              Graded
            </th>
            <th scope="col" className="num">
              Resolved<small>%</small>
            </th>
            <th scope="col">On the board</th>
          </tr>
        </thead>
        <tbody>
          {standing.submissions.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <a href={`/submissions/${one.id}`}>{formatDay(one.publishedAt)}</a>
              </th>
              <td>
                <bdi>{one.organization}</bdi>
              </td>
              <td>{one.tier ? <TierBadge tier={one.tier} /> : missingValue}</td>
              <td className="num">
                {one.tier === "reported" ? missingValue : `${one.graded}/${standing.suite.taskCount}`}
              </td>
              <td className="num">
                {formatPct(one.resolved?.pct)}
                {one.resolved?.resolved != null ? (
                  <small>
                    {one.resolved.resolved}/{one.resolved.total}
                  </small>
                ) : null}
              </td>
              <td>
                {one.counts ? <b>counts</b> : "does not count"}
                <small>{one.why}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
