import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";
import { readTile } from "@/lib/server/log/tree";

export async function GET(_request: Request, { params }: { params: Promise<{ path: string[] }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const path = ["tile", ...(await params).path].join("/");
    const { bytes, full } = await readTile(await getServerContext(), path);
    return new Response(Buffer.from(bytes), {
      headers: {
        "content-type": "application/octet-stream",
        // A partial tile never changes either, but is soon replaced by a wider one.
        "cache-control": full ? "public, max-age=31536000, immutable" : "public, max-age=60",
      },
    });
  });
}
