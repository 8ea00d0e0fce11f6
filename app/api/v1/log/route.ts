import { connection } from "next/server";
import { logPageSize, logQuerySchema } from "@/lib/contract/api-operations";
import { getServerContext } from "@/lib/server/context";
import { parseQuery, publicJson } from "@/lib/server/http";
import { readRecords } from "@/lib/server/log/tree";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("listLogRecords", request, async () => {
    const { from, limit } = parseQuery(request, logQuerySchema, { code: "log.query", what: "the log's query" });
    const page = { from: Number(from ?? 0), limit: Math.min(Number(limit ?? logPageSize), logPageSize) };
    return publicJson(request, await readRecords(await getServerContext(), page));
  });
}
