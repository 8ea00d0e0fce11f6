import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { compareMarkdown } from "@/lib/prepare/compare-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("compareEntriesAsMarkdown", request, async () =>
    publicText(request, compareMarkdown(await readComparison(request)), "text/markdown; charset=utf-8"),
  );
}
