import { connection } from "next/server";
import { readFailureListRequest, scopeName } from "@/lib/server/failure-request";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getFailureClusters } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("listFailureClusters", request, async () => {
    const { filter, page } = await readFailureListRequest(request);
    return publicJson(request, found(await getFailureClusters(filter, page), "suite.unknown", scopeName(filter)));
  });
}
