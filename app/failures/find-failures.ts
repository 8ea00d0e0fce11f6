import type { FailureClusterList, FailureFilter, FailureList, FailureOverview } from "@/lib/contract/failures-api";
import { type PublishedTaxonomy, publishedTaxonomyOf } from "@/lib/prepare/failure-table";
import type { FailureView } from "@/lib/prepare/failure-view";
import {
  getFailureClusters,
  getFailureList,
  getFailureOverview,
  listPublished,
  listSuites,
} from "@/lib/server/readers";

export interface FoundFailures {
  view: FailureView;
  overview: FailureOverview;
  choices: FailureOverview;
  list: FailureList;
  suites: { slug: string; title: string }[];
  published: PublishedTaxonomy | null;
}

/** What the form of a view offers is counted without its own filters. */
function scopeOf({ suite, version, entryKind }: FailureFilter): FailureFilter {
  return {
    ...(suite === undefined ? {} : { suite }),
    ...(version === undefined ? {} : { version }),
    ...(entryKind === undefined ? {} : { entryKind }),
  };
}

/** Suites that can have failures: those with tasks of their own, each once. */
async function listFailureSuites(): Promise<{ slug: string; title: string }[]> {
  const suites = (await listSuites()).filter((suite) => !suite.reported);
  return suites
    .filter(({ slug }, index) => suites.findIndex((one) => one.slug === slug) === index)
    .map(({ slug, title }) => ({ slug, title }));
}

/** Counts and cases that a view asks for; null where it names a suite or a page that there is not. */
export async function findFailures(view: FailureView): Promise<FoundFailures | null> {
  const [overview, choices, list, suites, published] = await Promise.all([
    getFailureOverview(view.filter),
    getFailureOverview(scopeOf(view.filter)),
    getFailureList(view.filter, view.page),
    listFailureSuites(),
    listPublished(),
  ]);
  if (!overview || !choices || !list || view.page > list.pages) return null;
  return { view, overview, choices, list, suites, published: publishedTaxonomyOf(published) };
}

/** Clusters that a view asks for; null where it names a suite or a page that there is not. */
export async function findClusters(view: FailureView): Promise<{
  view: FailureView;
  choices: FailureOverview;
  list: FailureClusterList;
  suites: { slug: string; title: string }[];
} | null> {
  const [choices, list, suites] = await Promise.all([
    getFailureOverview(scopeOf(view.filter)),
    getFailureClusters(view.filter, view.page),
    listFailureSuites(),
  ]);
  return choices && list && view.page <= list.pages ? { view, choices, list, suites } : null;
}
