import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { probesMarkdown } from "@/lib/prepare/probes-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getProbesAsMarkdown", request, async () => publicText(request, probesMarkdown(await readProbes(request)), "text/markdown; charset=utf-8"));
}
