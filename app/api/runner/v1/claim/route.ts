import { claimRequestSchema } from "@/lib/contract/job";
import { getServerContext } from "@/lib/server/context";
import { json, parseJsonBody, respond } from "@/lib/server/http";
import { authenticateHost } from "@/lib/server/runners/authenticate";
import { claim } from "@/lib/server/runners/claim";

export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const body = await parseJsonBody(request, claimRequestSchema);
    const job = await claim(context, host, body, request.signal);
    return job ? json(job) : new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
  });
}
