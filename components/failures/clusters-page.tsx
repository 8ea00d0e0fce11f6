import { OutcomeStatusText } from "@/components/results/outcome-status";
import { Crumbs } from "@/components/ui/crumbs";
import type { FailureCluster, FailureClusterList, FailureOverview } from "@/lib/contract/failures-api";
import { formatNumber, plural } from "@/lib/format/numbers";
import { visibleText } from "@/lib/format/visible-text";
import { splitTestId } from "@/lib/prepare/attempt";
import { failureHref } from "@/lib/prepare/failure-page";
import { type FailureView, failureFilterQuery, failuresHref, withFilter } from "@/lib/prepare/failure-view";
import { statusLabels } from "@/lib/prepare/labels";
import { Pager } from "./case-list";
import { FilterChips, FilterForm } from "./failure-filters";
import { type FailureSuite, ScopeControls } from "./failures-page";
import { FollowedRanks } from "./followed-ranks";

function counted(count: number, one: string, many?: string): string {
  return `${formatNumber(count)} ${plural(count, one, many)}`;
}

function Cluster({ cluster, view }: { cluster: FailureCluster; view: FailureView }) {
  const { example } = cluster;
  const types = cluster.types.map(({ class: name, type }) => (name === type ? type : `${name}: ${type}`));
  return (
    <li>
      <p className="case-line cluster-line">
        <code>
          {cluster.exceptionType ?? statusLabels[cluster.status]}
          {example.line ? `: ${visibleText(example.line)}` : ""}
        </code>
      </p>
      <p className="failure-facts">
        <a href={`${failuresHref(withFilter(view, { signature: cluster.signature }))}#cases`} rel="nofollow">
          {counted(cluster.cases, "case")}
        </a>
        <span>{counted(cluster.attempts, "attempt")}</span>
        <span>{counted(cluster.entries, "entry", "entries")}</span>
        <span>{counted(cluster.tasks, "task")}</span>
        <OutcomeStatusText status={cluster.status} />
        <span>{types.join("; ")}</span>
      </p>
      <p className="cluster-example">
        Newest: <a href={failureHref(example.address)}>{splitTestId(example.test.id).name}</a>,{" "}
        <bdi>{example.entry.model}</bdi>, {example.task.title}
      </p>
      <FollowedRanks followed={cluster.followed} />
    </li>
  );
}

/** Failures with one root, largest groups first. */
export function ClustersPage({
  view,
  choices,
  list,
  suites,
}: {
  view: FailureView;
  choices: FailureOverview;
  list: FailureClusterList;
  suites: readonly FailureSuite[];
}) {
  return (
    <>
      <div className="page-head">
        <Crumbs trail={[{ href: failuresHref({ filter: view.filter }), label: "Failures" }]} here="Clusters" />
        <h1>The same failure, wherever it happened</h1>
        <p className="lead">
          Failures with one outcome, exception, message and place in the project’s code, numbers and paths aside. The
          rank that failed first speaks; what followed on others is folded below.
        </p>
      </div>
      <ScopeControls view={view} suites={suites} entryKind={list.entryKind} page="clusters" />
      <FilterChips view={view} page="clusters" />
      <FilterForm view={view} choices={choices} page="clusters" />
      <section aria-labelledby="clusters">
        <h2 id="clusters">
          Clusters <span className="count">{formatNumber(list.total)}</span>
        </h2>
        <p className="aside">
          {list.hiddenCases > 0
            ? `${counted(list.hiddenCases, "case")} of hidden probes ${plural(list.hiddenCases, "is", "are")} in no cluster. `
            : ""}
          <a href={`/api/v1/failures/clusters${failureFilterQuery(view.filter)}`}>JSON</a>
        </p>
        {list.clusters.length > 0 ? (
          <>
            <ol className="cases" start={(list.page - 1) * list.pageSize + 1}>
              {list.clusters.map((cluster) => (
                <Cluster key={cluster.signature} cluster={cluster} view={view} />
              ))}
            </ol>
            <Pager
              page={list.page}
              pages={list.pages}
              hrefOf={(page) => failuresHref({ ...view, page }, "clusters")}
              label="Pages of clusters"
            />
          </>
        ) : (
          <p className="empty">No failure is let through by these filters.</p>
        )}
      </section>
    </>
  );
}
