import { connection } from "next/server";
import { entryListQuerySchema } from "@/lib/contract/entry-api";
import { found, parseQuery, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { listEntries, listSuites } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("listEntries", request, async () => {
    const { suite, version } = parseQuery(request, entryListQuerySchema, {
      code: "entries.query",
      what: "the query of the list of entries",
      remedy: "see /api/v1/suites for the suites and versions that there are",
    });
    const isKnown = (await listSuites()).some(
      (known) => (!suite || known.slug === suite) && (!version || known.version === version),
    );
    const listed = isKnown || (!suite && !version) ? await listEntries(suite, version) : null;
    return publicJson(request, found(listed, "suite.unknown", [suite, version].filter(Boolean).join(" ")));
  });
}
