import { connection } from "next/server";
import { logLinesQuerySchema } from "@/lib/contract/log-lines";
import { logPageLines } from "@/lib/prepare/log-view";
import { getServerContext } from "@/lib/server/context";
import { parseQuery, publicJson } from "@/lib/server/http";
import { readLogLines } from "@/lib/server/logs/log-lines";
import { respondTo } from "@/lib/server/operation";

type Params = { params: Promise<{ id: string; path: string[] }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("listLogLines", request, async () => {
    const { id, path } = await params;
    const query = parseQuery(request, logLinesQuerySchema, { code: "lines.bad-query", what: "the query of the lines" });
    const lines = await readLogLines(await getServerContext(), {
      gradingId: id,
      path: path.join("/"),
      from: Number(query.from ?? 1),
      count: Number(query.count ?? logPageLines),
    });
    return publicJson(request, lines);
  });
}
