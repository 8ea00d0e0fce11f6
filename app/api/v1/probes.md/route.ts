import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { probesMarkdown } from "@/lib/prepare/probes-table";
import { publicText, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicText(request, probesMarkdown(await readProbes(request)), "text/markdown; charset=utf-8"));
}
