import { connection } from "next/server";
import { publicJson, respond } from "@/lib/server/http";
import { getSelfTests } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, await getSelfTests()));
}
