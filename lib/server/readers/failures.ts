import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { listFailureClusters } from "@/db/queries/failure-clusters";
import { findFailure } from "@/db/queries/failure-detail";
import { countFailures, findFailureOverview, findFailureScope, listFailures } from "@/db/queries/failures";
import {
  type FailureClusterList,
  type FailureDetailAnswer,
  type FailureFilter,
  type FailureList,
  type FailureOverview,
  failureClusterListSchema,
  failureCsvLimit,
  failureDetailAnswerSchema,
  failureListSchema,
  failureOverviewSchema,
  failurePageSize,
} from "@/lib/contract/failures-api";
import { uuidSchema } from "@/lib/contract/scalars";
import { prepareFailureOverview } from "@/lib/prepare/failure-overview";
import { rulesVersion } from "@/lib/taxonomy/failure-types";
import { getDatabase } from "../context";
import { failureAnswerOf, followedOf } from "../failure-detail";
import { cacheTags } from "../tags";

/** What ends a view of failures: a bundle of any suite that it counts, a new label, a new suite. */
function tagFailures({ suite }: FailureFilter): void {
  cacheTag(
    cacheTags.everything,
    cacheTags.suites,
    cacheTags.labels,
    suite === undefined ? cacheTags.failures : cacheTags.board(suite),
  );
  cacheLife("hours");
}

const pageOf = (page: number, total: number) => ({
  page,
  pages: Math.max(1, Math.ceil(total / failurePageSize)),
  pageSize: failurePageSize,
  total,
});
const rangeOf = (page: number) => ({ offset: (page - 1) * failurePageSize, limit: failurePageSize });

/** Counts by class, type and group; null where the filter names a suite or version that there is not. */
export async function getFailureOverview(filter: FailureFilter): Promise<FailureOverview | null> {
  "use cache";
  tagFailures(filter);
  const { sql } = getDatabase();
  const scope = await findFailureScope(sql, filter);
  return (
    scope && failureOverviewSchema.parse(prepareFailureOverview(await findFailureOverview(sql, scope), rulesVersion))
  );
}

/** A page of failing cases, from 1; null where the filter names a suite or version that there is not. */
export async function getFailureList(filter: FailureFilter, page: number): Promise<FailureList | null> {
  "use cache";
  tagFailures(filter);
  const { sql } = getDatabase();
  const scope = await findFailureScope(sql, filter);
  if (!scope) return null;
  const [total, failures] = await Promise.all([countFailures(sql, scope), listFailures(sql, scope, rangeOf(page))]);
  return failureListSchema.parse({ filter, entryKind: scope.entryKind, ...pageOf(page, total), failures });
}

/** A page of clusters, from 1, the largest first; null where the filter names a suite or version that there is not. */
export async function getFailureClusters(filter: FailureFilter, page: number): Promise<FailureClusterList | null> {
  "use cache";
  tagFailures(filter);
  const { sql } = getDatabase();
  const scope = await findFailureScope(sql, filter);
  if (!scope) return null;
  const { total, hiddenCases, clusters } = await listFailureClusters(sql, scope, rangeOf(page));
  return failureClusterListSchema.parse({
    filter,
    entryKind: scope.entryKind,
    ...pageOf(page, total),
    hiddenCases,
    clusters: clusters.map(({ followers, ...cluster }) => ({ ...cluster, followed: followedOf(followers) })),
  });
}

/** One failure by its grading and its test's number in the manifest; null where there is none. */
export async function getFailure(grading: string, test: string): Promise<FailureDetailAnswer | null> {
  if (!uuidSchema.safeParse(grading).success || !/^[1-9]\d{0,5}$/.test(test)) return null;
  return cachedFailure(grading.toLowerCase(), Number(test));
}

async function cachedFailure(gradingId: string, testNumber: number): Promise<FailureDetailAnswer | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.labels, cacheTags.failures);
  cacheLife("hours");
  const facts = await findFailure(getDatabase().sql, { gradingId, testNumber });
  return facts && failureDetailAnswerSchema.parse(failureAnswerOf(facts));
}

/**
 * Every failing case of a filter, for the CSV: not kept, since it may be long. `total` says how many there are; `failures`
 * is null where they are more than the CSV holds. Null where the filter names a suite or version that there is not.
 */
export async function listAllFailures(
  filter: FailureFilter,
): Promise<{ total: number; failures: FailureList["failures"] | null } | null> {
  const { sql } = getDatabase();
  const scope = await findFailureScope(sql, filter);
  if (!scope) return null;
  const total = await countFailures(sql, scope);
  if (total > failureCsvLimit) return { total, failures: null };
  return { total, failures: await listFailures(sql, scope, { offset: 0, limit: failureCsvLimit }) };
}
