import { connection } from "next/server";
import { openApiDocument } from "@/lib/contract/openapi";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { version } from "@/package.json";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getOpenApi", request, async () => publicJson(request, openApiDocument(version)));
}
