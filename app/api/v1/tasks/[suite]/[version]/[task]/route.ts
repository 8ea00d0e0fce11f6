import { connection } from "next/server";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getTask } from "@/lib/server/readers";

type Params = { params: Promise<{ suite: string; version: string; task: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getTask", request, async () => {
    const { suite, version, task } = await params;
    return publicJson(
      request,
      found(await getTask(suite, version, task), "task.unknown", `${suite}/${version}/${task}`),
    );
  });
}
