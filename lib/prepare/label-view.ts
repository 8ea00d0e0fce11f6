import type { FailureFilter } from "@/lib/contract/failures-api";
import type { FailureAddress } from "@/lib/contract/labels-api";
import { failureFilterQuery, parseFailureView } from "./failure-view";

/** What the address of labelling asks for. */
export interface LabelView {
  filter: FailureFilter;
  /** Null: the first failure that the person has not labelled. */
  at: FailureAddress | null;
  /** A maintainer decides between labels. */
  adjudicate: boolean;
}

/** Reads a view from query parameters; what cannot be read asks for nothing. */
export function parseLabelView(query: URLSearchParams): LabelView {
  const at = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([1-9]\d{0,5})$/.exec(query.get("at") ?? "");
  return {
    filter: parseFailureView(query).filter,
    at: at ? { grading: at[1] as string, test: Number(at[2]) } : null,
    adjudicate: query.get("adjudicate") === "yes",
  };
}

/** The address of a view, with what differs from the default only. */
export function labelHref({ filter, at, adjudicate }: LabelView): string {
  const query = new URLSearchParams(failureFilterQuery(filter));
  if (at) query.set("at", `${at.grading}.${at.test}`);
  if (adjudicate) query.set("adjudicate", "yes");
  return query.size > 0 ? `/label?${query}` : "/label";
}

/** Keys of the types, in the taxonomy's order: 1 to 9. */
export const typeKeys = ["1", "2", "3", "4", "5", "6", "7", "8", "9"] as const;
