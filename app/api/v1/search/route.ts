import { connection } from "next/server";
import { readSearchQuery } from "@/lib/prepare/search";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { search } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("search", request, async () =>
    publicJson(request, await search(readSearchQuery(new URL(request.url).searchParams.get("q")))),
  );
}
