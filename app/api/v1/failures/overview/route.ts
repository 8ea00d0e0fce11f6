import { connection } from "next/server";
import { readFailureFilter, scopeName } from "@/lib/server/failure-request";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getFailureOverview } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getFailureOverview", request, async () => {
    const filter = await readFailureFilter(request);
    return publicJson(request, found(await getFailureOverview(filter), "suite.unknown", scopeName(filter)));
  });
}
