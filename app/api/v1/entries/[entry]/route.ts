import { connection } from "next/server";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getEntry } from "@/lib/server/readers";

export async function GET(request: Request, { params }: { params: Promise<{ entry: string }> }): Promise<Response> {
  await connection();
  return respondTo("getEntry", request, async () => {
    const { entry } = await params;
    return publicJson(request, found(await getEntry(entry), "entry.unknown", entry));
  });
}
