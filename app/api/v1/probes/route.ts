import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getProbes", request, async () => publicJson(request, await readProbes(request)));
}
