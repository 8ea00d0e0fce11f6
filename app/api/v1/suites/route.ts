import { connection } from "next/server";
import { publicJson, respond } from "@/lib/server/http";
import { listSuites } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, { suites: await listSuites() }));
}
