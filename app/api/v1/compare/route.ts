import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { publicJson, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, await readComparison(request)));
}
