import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";
import { authenticateHost, requireLease } from "@/lib/server/runners/authenticate";
import { sendPatch } from "@/lib/server/runners/patch";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const lease = await requireLease(context, host, (await params).id);
    return sendPatch(context, request, lease);
  });
}
