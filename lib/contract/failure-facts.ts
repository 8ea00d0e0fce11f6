import type { FailureEntry, FailureFilter, FailureGrouping, FailureOverview } from "./failures-api";
import type { EntryKind } from "./vocabulary";

/** One count of the database: `by` null for everything, `class` null for every class, `type` null for every type. */
export interface FailureCount {
  by: FailureGrouping | null;
  key: string | null;
  class: string | null;
  type: string | null;
  attempts: number;
  cases: number;
}

/** Everything that the overview of failures is computed from. */
export interface FailureOverviewFacts {
  filter: FailureFilter;
  entryKind: EntryKind;
  suites: FailureOverview["suites"];
  taxonomy: FailureOverview["taxonomy"];
  counts: FailureCount[];
  /** Attempts by the status of the grading that counts, whether it judges the candidate or not. */
  graded: { by: FailureGrouping | null; key: string | null; attempts: number }[];
  leftOut: FailureOverview["leftOut"];
  entries: FailureEntry[];
}
