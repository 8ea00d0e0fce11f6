import { ShareBar } from "@/components/leaderboard/share-bar";
import type { EntryStanding } from "@/lib/contract/entry-api";
import { formatPct, plural } from "@/lib/format/numbers";
import { failuresHref } from "@/lib/prepare/failure-view";

/** What an entry fails by: distinct attempts with at least one failing case of each type, which leads to these cases. */
export function EntryFailures({
  standing: { suite, row },
  failures,
}: {
  standing: EntryStanding;
  failures: NonNullable<EntryStanding["failures"]>;
}) {
  const casesHref = (type: string) =>
    failuresHref({
      filter: { suite: suite.slug, version: suite.version, entryKind: row?.entry.kind, entry: row?.entry.slug, type },
    });
  const { judged, failing, types } = failures;
  if (failing === 0) {
    return (
      <p className="aside">
        No required test failed in any of the {judged} judged {plural(judged, "attempt")}.
      </p>
    );
  }
  return (
    <>
      <p className="aside">
        {failing} of {judged} judged {plural(judged, "attempt")} {plural(failing, "has", "have")} a required test that
        did not pass. Counted are distinct attempts with at least one failing case of a type; one attempt may count
        under several.
      </p>
      <table className="plain shares entry-failures">
        <caption className="sr-only">Failing attempts by type of failure</caption>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col" className="num">
              Attempts
            </th>
            <th scope="col" className="num">
              %
            </th>
            <th scope="col" className="share-column">
              of failing attempts, 95 % interval
            </th>
          </tr>
        </thead>
        <tbody>
          {types.map((one) => (
            <tr key={`${one.class} ${one.type}`}>
              <th scope="row">
                <a href={casesHref(one.type)}>{one.title}</a>
                <small>{one.class}</small>
              </th>
              <td className="num">{one.attempts}</td>
              <td className="num">{formatPct(one.share.pct)}</td>
              <td>
                <ShareBar share={one.share} official={null} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
