import { connection } from "next/server";
import { readFailureListRequest, scopeName } from "@/lib/server/failure-request";
import { found, publicJson, respond } from "@/lib/server/http";
import { getFailureClusters } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const { filter, page } = readFailureListRequest(request);
    return publicJson(request, found(await getFailureClusters(filter, page), "suite.unknown", scopeName(filter)));
  });
}
