import { connection } from "next/server";
import { found, respond } from "@/lib/server/http";

/** Whatever no other route answers: a refusal in the form of every other. */
export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => found<Response>(null, "api.unknown", new URL(request.url).pathname));
}
