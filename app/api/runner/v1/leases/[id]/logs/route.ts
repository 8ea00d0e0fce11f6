import { protocol } from "@/lib/contract/job";
import { getServerContext } from "@/lib/server/context";
import { json, nonNegativeInteger, readBody, respond } from "@/lib/server/http";
import { authenticateHost, requireLease } from "@/lib/server/runners/authenticate";
import { appendLog, logIntervalSeconds } from "@/lib/server/runners/live-logs";

export function POST(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const lease = await requireLease(context, host, (await params).id);
    const at = nonNegativeInteger(new URL(request.url).searchParams.get("offset"), "offset");
    const offset = await appendLog(context, lease, at, await readBody(request, protocol.logChunkBytes));
    return json({
      offset,
      cancel: lease.cancelRequested || lease.state !== "active",
      logIntervalSeconds: logIntervalSeconds(lease.id),
    });
  });
}
