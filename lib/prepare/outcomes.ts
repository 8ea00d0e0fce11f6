import type { AttemptDetail } from "@/lib/contract/api";
import {
  type Expectation,
  type OutcomeStatus,
  outcomeStatuses,
  type Property,
  properties,
  type TestKind,
  testKinds,
} from "@/lib/contract/vocabulary";
import { formatNumber, plural } from "@/lib/format/numbers";
import { failureAnchor, testsOf } from "./attempt";

/** A test of an attempt as its table shows it: plain, since the page sends it to the browser. */
export interface OutcomeRow {
  id: string;
  kind: TestKind;
  expectation: Expectation;
  required: boolean;
  notRequiredReason: string | null;
  requirement: string | null;
  /** What the assertion checks; null where the manifest does not list the test. */
  property: Property | null;
  condition: string | null;
  status: OutcomeStatus;
  ranks: readonly (readonly [rank: number, status: OutcomeStatus])[];
  /** Rank of the earliest failure, null where the test passed. */
  rootRank: number | null;
  durationMs: number | null;
  /** Where the page says why the test did not pass; null where there is nothing to say. */
  anchor: string | null;
}

/** An attempt's tests: official ones first, and of each kind those first that are required and did not pass. */
export function outcomeRowsOf(detail: AttemptDetail): OutcomeRow[] {
  return testKinds.flatMap((kind) =>
    testsOf(detail, kind).map(({ outcome, manifest }) => {
      const failed = outcome.status !== "passed";
      return {
        id: outcome.id,
        kind,
        expectation: outcome.expectation,
        required: outcome.required,
        notRequiredReason: manifest?.notRequiredReason ?? null,
        requirement: manifest?.requirement ?? null,
        property: manifest?.property ?? null,
        condition: manifest?.condition ?? null,
        status: outcome.status,
        ranks: outcome.ranks.map(({ rank, status }) => [rank, status] as const),
        rootRank: failed ? outcome.rootRank : null,
        durationMs: outcome.durationMs,
        anchor: outcome.required && failed ? failureAnchor(detail, outcome.id) : null,
      };
    }),
  );
}

export const outcomeSorts = ["test", "checks", "expectation", "outcome", "time"] as const;
export type OutcomeSort = (typeof outcomeSorts)[number];

/** What the address asks of the outcomes: null and "" ask for nothing. */
export interface OutcomeView {
  kind: TestKind | null;
  status: OutcomeStatus | null;
  property: Property | null;
  /** Words that a test's name, file, condition or requirement must hold, each of them. */
  text: string;
  sort: OutcomeSort | null;
  direction: "asc" | "desc";
}

export const defaultOutcomeView: OutcomeView = {
  kind: null,
  status: null,
  property: null,
  text: "",
  sort: null,
  direction: "asc",
};

const maxText = 120;
const wordIn = <T extends string>(words: readonly T[], value: string | null): T | null =>
  words.find((word) => word === value) ?? null;

/** Reads a view from query parameters; words that are none of ours ask for nothing. */
export function parseOutcomeView(query: URLSearchParams): OutcomeView {
  const sort = wordIn(outcomeSorts, query.get("sort"));
  return {
    kind: wordIn(testKinds, query.get("kind")),
    status: wordIn(outcomeStatuses, query.get("status")),
    property: wordIn(properties, query.get("property")),
    text: (query.get("text") ?? "").slice(0, maxText),
    sort,
    direction: sort && query.get("dir") === "desc" ? "desc" : "asc",
  };
}

/** The query that `parseOutcomeView` reads, with what differs from the default only: `""` or `?status=failed`. */
export function outcomeQuery(view: OutcomeView): string {
  const query = new URLSearchParams();
  if (view.kind) query.set("kind", view.kind);
  if (view.status) query.set("status", view.status);
  if (view.property) query.set("property", view.property);
  if (view.text) query.set("text", view.text.slice(0, maxText));
  if (view.sort) query.set("sort", view.sort);
  if (view.sort && view.direction === "desc") query.set("dir", "desc");
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** Whether every word of `text` stands in what a row says of its test, in any case. */
export function matchesText(row: OutcomeRow, text: string): boolean {
  const said = [row.id, row.condition, row.requirement].join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

/** Outcomes from the worst to the best: the order in which a reader looks for trouble. */
export const outcomeSeverity: Record<OutcomeStatus, number> = {
  crashed: 0,
  hung: 1,
  error: 2,
  failed: 3,
  "not-run": 4,
  skipped: 5,
  passed: 6,
};

/** `All 32 tests are shown.` or `3 of 32 tests are shown; the filters hide 29.` */
export function shownText(shown: number, total: number): string {
  if (total === 1) return shown === 1 ? "The one test is shown." : "The filters hide the one test.";
  return shown === total
    ? `All ${formatNumber(total)} tests are shown.`
    : `${formatNumber(shown)} of ${formatNumber(total)} tests ${plural(shown, "is", "are")} shown; the filters hide ${formatNumber(total - shown)}.`;
}
