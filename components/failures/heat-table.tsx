import { ScrollRegion } from "@/components/ui/scroll-region";
import type { FailureOverview } from "@/lib/contract/failures-api";
import { formatNumber } from "@/lib/format/numbers";
import { heatLevel, heatRows } from "@/lib/prepare/failure-table";
import { type FailureView, failuresHref, withFilter } from "@/lib/prepare/failure-view";
import { EntryName } from "./entry-name";
import { CountLink } from "./type-table";

/** Entries drawn at most; the API has every one. */
const drawnEntries = 200;

/** Which entry fails in which way: attempts as numbers, and as darkness of the cell. */
export function HeatTable({ overview, view }: { overview: FailureOverview; view: FailureView }) {
  const { groups, greatest } = heatRows(overview);
  const { types } = overview.total;
  const titles = new Map(overview.taxonomy.types.map(({ type, title }) => [type, title]));
  return (
    <>
      <ScrollRegion label="Types of failure by entry">
        <table className="plain heat-table">
          <caption className="sr-only">Attempts of each entry with a failure of each type</caption>
          <thead>
            <tr>
              <th scope="col">Entry</th>
              <th scope="col" className="num">
                Failing
              </th>
              {types.map(({ class: name, type }) => (
                <th key={`${name} ${type}`} scope="col" className="heat-head">
                  {titles.get(type) ?? type}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {groups.slice(0, drawnEntries).map((group) => (
              <tr key={group.key}>
                <th scope="row">
                  <a href={failuresHref(withFilter(view, { entry: group.key }))} rel="nofollow">
                    {group.entry ? <EntryName entry={group.entry} /> : group.label}
                  </a>
                </th>
                <td className="num">
                  {formatNumber(group.failing)}/{formatNumber(group.graded)}
                </td>
                {types.map(({ class: name, type }) => {
                  const count = group.types.find((one) => one.class === name && one.type === type)?.attempts ?? 0;
                  return (
                    <td key={`${name} ${type}`} className={`heat heat-${heatLevel(count, greatest)}`}>
                      <CountLink
                        count={count}
                        href={failuresHref(withFilter(view, { entry: group.key, class: name, type }))}
                        label={`${titles.get(type) ?? type}, ${group.label}`}
                      />
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {groups.length > drawnEntries ? (
        <p className="aside">
          The {drawnEntries} entries that fail most are drawn, of {formatNumber(groups.length)}; a filter shows the
          others.
        </p>
      ) : null}
    </>
  );
}
