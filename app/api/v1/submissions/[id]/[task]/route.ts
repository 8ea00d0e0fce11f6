import { connection } from "next/server";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getAttempt } from "@/lib/server/readers";

type Params = { params: Promise<{ id: string; task: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getAttempt", request, async () => {
    const { id, task } = await params;
    return publicJson(request, found(await getAttempt(id, task), "attempt.unknown", `${id}/${task}`));
  });
}
