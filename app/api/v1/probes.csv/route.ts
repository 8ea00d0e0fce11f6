import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { probesCsv } from "@/lib/prepare/probes-table";
import { publicText, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(request, probesCsv(await readProbes(request)), "text/csv; charset=utf-8; header=present"),
  );
}
