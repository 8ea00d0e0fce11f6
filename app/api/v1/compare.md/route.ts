import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { compareMarkdown } from "@/lib/prepare/compare-table";
import { publicText, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(request, compareMarkdown(await readComparison(request)), "text/markdown; charset=utf-8"),
  );
}
