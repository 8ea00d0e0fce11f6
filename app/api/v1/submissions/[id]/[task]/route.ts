import { connection } from "next/server";
import { found, publicJson, respond } from "@/lib/server/http";
import { getAttempt } from "@/lib/server/readers";

type Params = { params: Promise<{ id: string; task: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respond(async () => {
    const { id, task } = await params;
    return publicJson(request, found(await getAttempt(id, task), "attempt.unknown", `${id}/${task}`));
  });
}
