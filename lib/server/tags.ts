/**
 * Names of what the readers cache. A tag names an entity and not a page, so that a cached "not found" dies too when
 * its entity arrives.
 */
export const cacheTags = {
  /** Every reader carries it: expired when a process starts or may have missed an announcement. */
  everything: "everything",
  suites: "suites",
  board: (suite: string) => `board:${suite}`,
  submission: (id: string) => `submission:${id}`,
  /** Failures of every suite, and trajectories that are not there: expired by each bundle that is taken in. */
  failures: "failures",
  /** Labels of failures: expired by a new version of the rules and by each person's label. */
  labels: "labels",
  keys: "keys",
  published: "published",
} as const;

/** Next ignores longer tags in silence. */
export const maxTagLength = 256;

export function isCacheTag(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxTagLength;
}
