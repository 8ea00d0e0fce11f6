import "server-only";
import { findFailureScope, findUnknownName } from "@/db/queries/failures";
import { type FailureFilter, failureFilterSchema, failureListQuerySchema } from "@/lib/contract/failures-api";
import { getDatabase } from "./context";
import { found, parseQuery } from "./http";

const subject = {
  code: "failures.query",
  what: "the query of a view of failures",
  remedy: "see /docs/api for the filters, and /api/v1/failures/overview for the values that there are",
};

/**
 * The filter that a request asks for. Throws `failures.query` where a word is none of ours, `suite.unknown`,
 * `task.unknown` and the like where a name names nothing.
 */
export async function readFailureFilter(request: Request): Promise<FailureFilter> {
  return requireKnown(parseQuery(request, failureFilterSchema, subject));
}

/** The filter, and the page from 1. Throws as `readFailureFilter` does. */
export async function readFailureListRequest(request: Request): Promise<{ filter: FailureFilter; page: number }> {
  const { page, ...filter } = parseQuery(request, failureListQuerySchema, subject);
  return { filter: await requireKnown(filter), page: Number(page ?? "1") };
}

async function requireKnown(filter: FailureFilter): Promise<FailureFilter> {
  const { sql } = getDatabase();
  found(await findFailureScope(sql, filter), "suite.unknown", scopeName(filter));
  const unknown = await findUnknownName(sql, filter);
  return unknown === null
    ? filter
    : found<never>(null, `${unknown}.unknown`, `${scopeName(filter)}: ${filter[unknown]}`);
}

/** What a 404 names where a filter's suite or version is unknown. */
export const scopeName = ({ suite, version }: FailureFilter): string =>
  [suite ?? "every suite", version].filter(Boolean).join(" ");
