import { openApiDocument } from "@/lib/contract/openapi";
import { publicJson, respond } from "@/lib/server/http";
import { version } from "@/package.json";

export function GET(request: Request): Promise<Response> {
  return respond(async () => publicJson(request, openApiDocument(version)));
}
