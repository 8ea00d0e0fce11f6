import { connection } from "next/server";
import { entryTasksCsv } from "@/lib/prepare/entry-table";
import { found, publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getEntry } from "@/lib/server/readers";

export async function GET(request: Request, { params }: { params: Promise<{ entry: string }> }): Promise<Response> {
  await connection();
  return respondTo("getEntryTasksAsCsv", request, async () => {
    const { entry } = await params;
    const csv = entryTasksCsv(found(await getEntry(entry), "entry.unknown", entry));
    return publicText(request, csv, "text/csv; charset=utf-8; header=present");
  });
}
