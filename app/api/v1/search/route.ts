import { connection } from "next/server";
import { readSearchQuery } from "@/lib/prepare/search";
import { publicJson, respond } from "@/lib/server/http";
import { search } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicJson(request, await search(readSearchQuery(new URL(request.url).searchParams.get("q")))),
  );
}
