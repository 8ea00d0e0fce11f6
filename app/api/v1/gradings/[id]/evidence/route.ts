import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { readEvidence } from "@/lib/server/evidence";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respondTo("getEvidence", request, async () =>
    publicJson(request, await readEvidence(await getServerContext(), (await params).id)),
  );
}
