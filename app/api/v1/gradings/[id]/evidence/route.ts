import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { readEvidence } from "@/lib/server/evidence";
import { json, respond } from "@/lib/server/http";

export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => json(await readEvidence(await getServerContext(), (await params).id)));
}
