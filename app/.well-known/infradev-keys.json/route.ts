import { connection } from "next/server";
import { getServerContext, publishedKeys } from "@/lib/server/context";
import { json, respond } from "@/lib/server/http";

export async function GET(): Promise<Response> {
  await connection();
  return respond(async () => json(await publishedKeys(await getServerContext())));
}
