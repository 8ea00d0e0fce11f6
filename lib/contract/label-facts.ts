import type { FailureAddress } from "./labels-api";

/** Where a person stands in the queue of failures. */
export interface QueuePlace {
  total: number;
  /** How many of them the person has labelled. */
  labelled: number;
  /** Null where nothing is left to label, or the failure asked for is not among them. */
  current: (FailureAddress & { place: number }) | null;
  previous: FailureAddress | null;
  next: FailureAddress | null;
  /** The next one that the person has not labelled, from the current one on and then from the start. */
  nextOpen: FailureAddress | null;
}

/** A label that a person gave, as those who have given their own see it. */
export interface GivenLabel {
  by: string;
  mine: boolean;
  class: string;
  type: string;
  note: string | null;
  adjudicates: boolean;
  withdrawn: boolean;
  at: Date;
}

/** How often two raters gave one failure these types; `second` null for the rules, a pair of people once. */
export interface AgreementCount {
  first: string;
  second: string | null;
  firstClass: string;
  firstType: string;
  secondClass: string;
  secondType: string;
  count: number;
}

/** A failure that people label differently. */
export interface Disagreement extends FailureAddress {
  test: number;
  name: string;
  task: string;
  line: string;
  labels: { by: string; type: string }[];
  /** The type that counts, where a maintainer has decided. */
  decision: string | null;
}
