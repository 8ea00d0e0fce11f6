import { Choice } from "@/components/leaderboard/choice";
import type { FailureList, FailureOverview } from "@/lib/contract/failures-api";
import { entryKinds } from "@/lib/contract/vocabulary";
import { formatNumber, plural } from "@/lib/format/numbers";
import { failuresLead, type PublishedTaxonomy, taxonomyTable } from "@/lib/prepare/failure-table";
import {
  type FailureView,
  failureFilterQuery,
  failuresHref,
  filterValueLabel,
  withFilter,
  withoutFilter,
} from "@/lib/prepare/failure-view";
import { gradingStatusLabels } from "@/lib/prepare/labels";
import { CaseList, Pager } from "./case-list";
import { FilterChips, FilterForm } from "./failure-filters";
import { GroupShares } from "./group-shares";
import { HeatTable } from "./heat-table";
import { TypeTable } from "./type-table";

/** A suite to choose from. */
export interface FailureSuite {
  slug: string;
  title: string;
}

/** Suites, and whose attempts are counted. */
export function ScopeControls({
  view,
  suites,
  entryKind,
  page,
}: {
  view: FailureView;
  suites: readonly FailureSuite[];
  entryKind: FailureOverview["entryKind"];
  page: "failures" | "clusters";
}) {
  const every = withoutFilter(withoutFilter(view, "version"), "suite");
  return (
    <div className="controls">
      <nav aria-label="Suite">
        <ul className="suites">
          <Choice href={failuresHref(every, page)} current={view.filter.suite === undefined}>
            Every suite
          </Choice>
          {suites.map(({ slug, title }) => (
            <Choice
              key={slug}
              href={failuresHref(withFilter(every, { suite: slug }), page)}
              current={view.filter.suite === slug}
            >
              <bdi>{title}</bdi>
            </Choice>
          ))}
        </ul>
      </nav>
      <nav aria-label="Attempts of">
        <ul>
          {entryKinds.map((kind) => (
            <Choice
              key={kind}
              href={failuresHref(withFilter(view, { entryKind: kind }), page)}
              current={entryKind === kind}
            >
              {kind === "model" ? "Attempts of models" : "Attempts of reference sets"}
            </Choice>
          ))}
        </ul>
      </nav>
    </div>
  );
}

function LeftOut({ overview }: { overview: FailureOverview }) {
  if (overview.leftOut.length === 0) return null;
  const parts = overview.leftOut.map(({ status, attempts }) => `${attempts} ${gradingStatusLabels[status]}`);
  return <> Left out, since they say nothing of the code: {parts.join(", ")}.</>;
}

function Notes({ overview, published }: { overview: FailureOverview; published: PublishedTaxonomy | null }) {
  return (
    <div className="notes">
      <p>
        An attempt counts once under every type of which it has at least one failing case, so types do not add up to
        their class.
        {overview.total.failing > 0
          ? ` Share: of the ${formatNumber(overview.total.failing)} failing ${plural(overview.total.failing, "attempt")}.`
          : ""}
        <LeftOut overview={overview} /> Rules {overview.rulesVersion}, taxonomy {overview.taxonomy.version};{" "}
        <a href="/docs/methodology">how failures are labelled</a>.
      </p>
      {published ? (
        <p>
          Published: table 7 of <a href={published.url}>{published.title}</a>, which counts the attempts of its own
          models on its own tasks; they are not the attempts counted here. Not published: {published.missing.join("; ")}
          ; the numbers behind its figure 4.
        </p>
      ) : null}
    </div>
  );
}

/** Why attempts fail: by type and repository, by group, by entry, and case by case. */
export function FailuresPage({
  view,
  overview,
  choices,
  list,
  suites,
  published,
}: {
  view: FailureView;
  overview: FailureOverview;
  /** The overview without the filters that the form sets. */
  choices: FailureOverview;
  list: FailureList;
  suites: readonly FailureSuite[];
  published: PublishedTaxonomy | null;
}) {
  const query = failureFilterQuery(view.filter);
  return (
    <>
      <div className="page-head">
        <h1>Why attempts fail</h1>
        <p className="lead">{failuresLead(overview)}</p>
      </div>
      <ScopeControls view={view} suites={suites} entryKind={overview.entryKind} page="failures" />
      <FilterChips view={view} page="failures" />
      <FilterForm view={view} choices={choices} page="failures" />
      <section aria-labelledby="types">
        <h2 id="types">Types of failure</h2>
        <TypeTable table={taxonomyTable(overview, published)} published={published} view={view} />
        <Notes overview={overview} published={published} />
        <p className="source">
          <a href={`/api/v1/failures/overview${query}`}>Counts as JSON</a> ·{" "}
          <a href={`/api/v1/failures.csv${query}`}>Cases as CSV</a> ·{" "}
          <a href="/label/agreement">Labels by people, and how far they agree</a> ·{" "}
          <a href="/self-tests">What agents test themselves</a>
        </p>
      </section>
      {overview.total.failing > 0 ? (
        <>
          <section aria-labelledby="shares">
            <h2 id="shares">Structural or behavioral</h2>
            <GroupShares overview={overview} view={view} />
          </section>
          <section aria-labelledby="entries">
            <h2 id="entries">By entry</h2>
            <HeatTable overview={overview} view={view} />
          </section>
        </>
      ) : null}
      <section aria-labelledby="cases">
        <h2 id="cases">
          Cases <span className="count">{formatNumber(list.total)}</span>
        </h2>
        {list.total > 0 ? (
          <>
            <p className="aside">
              <a href={failuresHref({ filter: view.filter }, "clusters")}>Grouped by what they have in common</a> ·{" "}
              <a href={`/api/v1/failures${query}`}>JSON</a>
            </p>
            <CaseList rows={list.failures} first={(list.page - 1) * list.pageSize + 1} />
            <Pager
              page={list.page}
              pages={list.pages}
              hrefOf={(page) => `${failuresHref({ ...view, page })}#cases`}
              label="Pages of cases"
            />
          </>
        ) : (
          <p className="empty">
            {Object.keys(view.filter).length > 0
              ? `No failing case of ${filterValueLabel("entryKind", overview.entryKind)} is let through by these filters.`
              : "No graded attempt has failed here yet."}
          </p>
        )}
      </section>
    </>
  );
}
