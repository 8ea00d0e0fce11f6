import { connection } from "next/server";
import { readFailureFilter, scopeName } from "@/lib/server/failure-request";
import { found, publicJson, respond } from "@/lib/server/http";
import { getFailureOverview } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const filter = readFailureFilter(request);
    return publicJson(request, found(await getFailureOverview(filter), "suite.unknown", scopeName(filter)));
  });
}
