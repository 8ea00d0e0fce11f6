import { connection } from "next/server";
import { json, respond } from "@/lib/server/http";
import { listSuites } from "@/lib/server/readers";

export async function GET(): Promise<Response> {
  await connection();
  return respond(async () => json({ suites: await listSuites() }));
}
