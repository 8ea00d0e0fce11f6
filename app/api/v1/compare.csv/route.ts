import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { compareCsv } from "@/lib/prepare/compare-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("compareEntriesAsCsv", request, async () =>
    publicText(request, compareCsv(await readComparison(request)), "text/csv; charset=utf-8; header=present"),
  );
}
