import { ShareBar } from "@/components/leaderboard/share-bar";
import { ScrollRegion } from "@/components/ui/scroll-region";
import { type FailureGroup, type FailureOverview, failureGroupings } from "@/lib/contract/failures-api";
import { categories, promptConditions, taskTypes } from "@/lib/contract/vocabulary";
import { capitalize, formatNumber, formatPct } from "@/lib/format/numbers";
import { groupFilter } from "@/lib/prepare/failure-table";
import {
  type FailureView,
  failuresHref,
  filterValueLabel,
  groupingLabels,
  withFilter,
} from "@/lib/prepare/failure-view";
import { categoryLabels } from "@/lib/prepare/labels";
import { CountLink } from "./type-table";

/** A group by the words of the site. */
function groupLabel(by: FailureView["by"], { key, label }: FailureGroup): string {
  const category = categories.find((word) => word === key);
  if (by === "category" && category) return categoryLabels[category];
  if (by === "taskType" && taskTypes.some((word) => word === key)) return filterValueLabel("taskType", key);
  if (by === "condition" && promptConditions.some((word) => word === key)) return filterValueLabel("condition", key);
  return label;
}

/** Of each group the failing attempts, and the share of them that fails in each class: the published figure 4's form. */
export function GroupShares({ overview, view }: { overview: FailureOverview; view: FailureView }) {
  const groups = overview.groups[view.by] ?? [];
  const classes = overview.total.classes.map(({ class: name }) => name);
  return (
    <>
      <nav aria-label="Shares by" className="controls">
        <ul>
          {failureGroupings.map((by) => (
            <li key={by}>
              <a
                href={`${failuresHref({ ...view, by, page: 1 })}#shares`}
                aria-current={by === view.by ? "true" : undefined}
              >
                {groupingLabels[by]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <ScrollRegion label="Shares by group">
        <table className="plain shares-by">
          <caption className="sr-only">
            Failing attempts by {groupingLabels[view.by].toLowerCase()}, and their share in each class
          </caption>
          <thead>
            <tr>
              <th scope="col">{groupingLabels[view.by]}</th>
              <th scope="col" className="num">
                Failing of graded
              </th>
              {classes.map((name) => (
                <th key={name} scope="col" className="class-share">
                  {capitalize(name)}, % of failing
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <tr key={group.key}>
                <th scope="row">
                  <a href={failuresHref(withFilter(view, groupFilter(view.by, group.key)))} rel="nofollow">
                    <bdi>{groupLabel(view.by, group)}</bdi>
                  </a>
                </th>
                <td className="num">
                  {formatNumber(group.failing)}/{formatNumber(group.graded)}
                </td>
                {classes.map((name) => {
                  const count = group.classes.find((one) => one.class === name);
                  if (!count || count.pct === null)
                    return (
                      <td key={name} className="class-share">
                        —
                      </td>
                    );
                  return (
                    <td key={name} className="class-share">
                      <div className="share-cell">
                        <span className="share-number">{formatPct(count.pct)}</span>
                        <span className="count">
                          <CountLink
                            count={count.attempts}
                            href={failuresHref(withFilter(view, { ...groupFilter(view.by, group.key), class: name }))}
                            label={`${name}, ${groupLabel(view.by, group)}`}
                          />
                          /{formatNumber(group.failing)}
                        </span>
                        <ShareBar
                          share={{
                            resolved: count.attempts,
                            total: group.failing,
                            pct: count.pct,
                            interval: count.interval,
                          }}
                          official={null}
                        />
                      </div>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </>
  );
}
