import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { readEvidence } from "@/lib/server/evidence";
import { publicJson, respond } from "@/lib/server/http";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => publicJson(request, await readEvidence(await getServerContext(), (await params).id)));
}
