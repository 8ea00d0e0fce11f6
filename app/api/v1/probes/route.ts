import { connection } from "next/server";
import { readProbes } from "@/app/probes/read-probes";
import { publicJson, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, await readProbes(request)));
}
