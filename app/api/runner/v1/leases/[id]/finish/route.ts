import { after } from "next/server";
import { finishRequestSchema } from "@/lib/contract/job";
import { getServerContext } from "@/lib/server/context";
import { unpackAccepted } from "@/lib/server/evidence";
import { json, parseJsonBody, respond } from "@/lib/server/http";
import { authenticateHost, requireLease } from "@/lib/server/runners/authenticate";
import { finish } from "@/lib/server/runners/finish";

export function POST(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const lease = await requireLease(context, host, (await params).id);
    const answer = await finish(context, host, lease, await parseJsonBody(request, finishRequestSchema));
    if (answer.receipt) after(() => unpackAccepted(context, answer.gradingId));
    return json(answer);
  });
}
