import type { CompareAnswer } from "@/lib/contract/compare-api";
import { compareQuerySchema } from "@/lib/contract/compare-api";
import { InfraDevError } from "@/lib/contract/errors";
import { parseQuery } from "@/lib/server/http";
import { getComparison, isUnknown } from "@/lib/server/readers";

/** The comparison that a request of the API asks for, by the reader of its page. Throws `compare.query` or `compare.unknown`. */
export async function readComparison(request: Request): Promise<CompareAnswer> {
  const { a, b, suite, version } = parseQuery(request, compareQuerySchema, {
    code: "compare.query",
    what: "the query of a comparison",
    remedy: "see /docs/api for the parameters, and /api/v1/compare for the entries that there are",
  });
  const found = await getComparison({ a: a ?? null, b: b ?? null, suite: suite ?? null, version: version ?? null });
  if (!isUnknown(found)) return found;
  throw new InfraDevError("not-found", {
    code: "compare.unknown",
    message: `there is no ${found.unknown} ${found.name}`,
    where: found.name,
    rule: "both entries have a published row on one suite version",
    remedy: "take the entries' slugs from /api/v1/compare, the suites from /api/v1/suites",
  });
}
