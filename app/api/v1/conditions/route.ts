import { connection } from "next/server";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getConditions } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getConditions", request, async () => publicJson(request, await getConditions()));
}
