import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { compareCsv } from "@/lib/prepare/compare-table";
import { publicText, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(request, compareCsv(await readComparison(request)), "text/csv; charset=utf-8; header=present"),
  );
}
