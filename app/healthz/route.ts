import { connection } from "next/server";
import { checkHealth } from "@/lib/server/health";
import { json, respond } from "@/lib/server/http";

export async function GET(): Promise<Response> {
  await connection();
  return respond(async () => {
    const health = await checkHealth();
    return json(health, { status: health.ok ? 200 : 503 });
  });
}
