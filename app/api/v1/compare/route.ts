import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("compareEntries", request, async () => publicJson(request, await readComparison(request)));
}
