import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { probesCsv } from "@/lib/prepare/probes-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getProbesAsCsv", request, async () =>
    publicText(request, probesCsv(await readProbes(request)), "text/csv; charset=utf-8; header=present"),
  );
}
