import { connection } from "next/server";
import { publishedAnswerSchema } from "@/lib/contract/api";
import { publicJson, respond } from "@/lib/server/http";
import { listPublished } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, publishedAnswerSchema.parse({ publications: await listPublished() })));
}
