import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { json, nonNegativeInteger } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { readWatchedLog } from "@/lib/server/runners/watch";

type Params = { params: Promise<{ id: string; task: string }> };

/** The live log of a running grading from `?offset=` on; asking makes its runner send every second for a while. */
export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getLiveLog", request, async () => {
    const { id, task } = await params;
    const offset = nonNegativeInteger(new URL(request.url).searchParams.get("offset") ?? "0", "offset");
    return json(await readWatchedLog(await getServerContext(), { submissionId: id, task, offset }));
  });
}
