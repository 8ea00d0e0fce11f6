import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";
import { currentCheckpoint } from "@/lib/server/log/tree";

export async function GET(): Promise<Response> {
  await connection();
  return respond(
    async () =>
      new Response(await currentCheckpoint(await getServerContext()), {
        headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
      }),
  );
}
