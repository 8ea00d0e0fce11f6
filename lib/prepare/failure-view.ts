import {
  type FailureFilter,
  type FailureGrouping,
  failureFilterSchema,
  failureGroupings,
  failureListQuerySchema,
} from "@/lib/contract/failures-api";
import { conditionLabels, propertyLabels, statusLabels, taskTypeLabels } from "./labels";

/** What the address of the failures asks for. */
export interface FailureView {
  filter: FailureFilter;
  /** Page of the cases, or of the clusters, from 1. */
  page: number;
  /** What the shares are shown by. */
  by: FailureGrouping;
}

export type FailureFilterKey = keyof FailureFilter;

/** Every filter, in the order in which the address and the chips name them. */
export const failureFilterKeys = Object.keys(failureFilterSchema.shape) as FailureFilterKey[];

const defaultGrouping: FailureGrouping = "repository";

/** Reads a view from query parameters; words and names that none of ours can be ask for nothing. */
export function parseFailureView(query: URLSearchParams): FailureView {
  const given = failureFilterKeys.flatMap((key) => {
    const parsed = failureFilterSchema.shape[key].safeParse(query.get(key) ?? undefined);
    return parsed.success && parsed.data !== undefined ? [[key, parsed.data] as const] : [];
  });
  const page = failureListQuerySchema.shape.page.safeParse(query.get("page") ?? undefined);
  return {
    filter: Object.fromEntries(given) as FailureFilter,
    page: Number(page.data ?? 1),
    by: failureGroupings.find((word) => word === query.get("by")) ?? defaultGrouping,
  };
}

/** The query that `parseFailureView` reads, with what differs from the default only, in one order. */
function failureQuery({ filter, page, by }: FailureView): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of failureFilterKeys) {
    const value = filter[key];
    if (value !== undefined) query.set(key, value);
  }
  if (by !== defaultGrouping) query.set("by", by);
  if (page > 1) query.set("page", String(page));
  return query;
}

const withQuery = (address: string, query: URLSearchParams) => (query.size > 0 ? `${address}?${query}` : address);

/** The address of a view of the failures, or of their clusters. */
export function failuresHref(view: Partial<FailureView>, page: "failures" | "clusters" = "failures"): string {
  const whole = { filter: {}, page: 1, by: defaultGrouping, ...view };
  return page === "failures"
    ? withQuery("/failures", failureQuery(whole))
    : withQuery("/failures/clusters", failureQuery({ ...whole, by: defaultGrouping }));
}

/** The query of a filter for the API. */
export function failureFilterQuery(filter: FailureFilter): string {
  return withQuery("", failureQuery({ filter, page: 1, by: defaultGrouping }));
}

/** A view with one filter more, another value for it, or without it; it begins at the first page. */
export function withFilter(view: FailureView, changes: FailureFilter): FailureView {
  const entries = Object.entries({ ...view.filter, ...changes }).filter(([, value]) => value !== undefined);
  return { ...view, filter: Object.fromEntries(entries) as FailureFilter, page: 1 };
}

export function withoutFilter(view: FailureView, key: FailureFilterKey): FailureView {
  const entries = Object.entries(view.filter).filter(([name]) => name !== key);
  return { ...view, filter: Object.fromEntries(entries) as FailureFilter, page: 1 };
}

const absent = "-";

/**
 * The internal path under which a view is rendered and kept as a page of its own (see `viewPath` of boards): its query
 * as one word.
 */
export function failureViewPath(view: FailureView, page: "failures" | "clusters"): string {
  const query = failureQuery(page === "clusters" ? { ...view, by: defaultGrouping } : view).toString();
  const word = query === "" ? absent : btoa(query).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `/failure-view/${page}/${word}`;
}

/** Reads the last segment of `failureViewPath`; null where it is not what it writes. */
export function parseFailureViewPath(page: "failures" | "clusters", word: string): FailureView | null {
  try {
    const query = word === absent ? "" : atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    const view = parseFailureView(new URLSearchParams(query));
    return failureViewPath(view, page) === `/failure-view/${page}/${word}` ? view : null;
  } catch {
    return null;
  }
}

export const filterLabels: Record<FailureFilterKey, string> = {
  suite: "suite",
  version: "version",
  entryKind: "attempts of",
  repository: "repository",
  category: "category",
  taskType: "task type",
  task: "task",
  entry: "entry",
  model: "model",
  condition: "prompt",
  submission: "submission",
  class: "class",
  type: "type",
  property: "test checks",
  kind: "tests",
  status: "outcome",
  tag: "tag",
  signature: "cluster",
  reviewed: "labelled by a person",
};

export const groupingLabels: Record<FailureGrouping, string> = {
  repository: "Repository",
  category: "Category",
  entry: "Entry",
  model: "Model",
  taskType: "Task type",
  condition: "Prompt",
  suite: "Suite",
};

/** The value of a filter as a reader would say it. */
export function filterValueLabel(key: FailureFilterKey, value: string): string {
  const words: Partial<Record<FailureFilterKey, Record<string, string>>> = {
    taskType: taskTypeLabels,
    condition: conditionLabels,
    property: propertyLabels,
    status: statusLabels,
    entryKind: { model: "models", reference: "reference sets" },
    kind: { official: "official", probe: "probes" },
  };
  const word = words[key]?.[value] ?? value;
  return key === "signature" || key === "submission" ? word.slice(0, 8) : word;
}
