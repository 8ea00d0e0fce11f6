import "server-only";
import { type FailureFilter, failureFilterSchema, failureListQuerySchema } from "@/lib/contract/failures-api";
import { parseQuery } from "./http";

const subject = {
  code: "failures.query",
  what: "the query of a view of failures",
  remedy: "see /docs/api for the filters, and /api/v1/failures/overview for the values that there are",
};

/** The filter that a request asks for. Throws `failures.query` where a word is none of ours. */
export function readFailureFilter(request: Request): FailureFilter {
  return parseQuery(request, failureFilterSchema, subject);
}

/** The filter, and the page from 1. Throws `failures.query`. */
export function readFailureListRequest(request: Request): { filter: FailureFilter; page: number } {
  const { page, ...filter } = parseQuery(request, failureListQuerySchema, subject);
  return { filter, page: Number(page ?? "1") };
}

/** What a 404 names where a filter's suite or version is unknown. */
export const scopeName = ({ suite, version }: FailureFilter): string =>
  [suite ?? "every suite", version].filter(Boolean).join(" ");
