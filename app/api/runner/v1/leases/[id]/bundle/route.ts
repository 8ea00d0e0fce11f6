import { bundleAnnounceSchema } from "@/lib/contract/job";
import { getServerContext } from "@/lib/server/context";
import { bodyChunks, json, nonNegativeInteger, parseJsonBody, respond } from "@/lib/server/http";
import { authenticateHost, requireLease } from "@/lib/server/runners/authenticate";
import { announceBundle, appendBundle } from "@/lib/server/runners/bundle-upload";

type Params = { params: Promise<{ id: string }> };

/** Announces the bundle, or asks how much of it has arrived. */
export function POST(request: Request, { params }: Params): Promise<Response> {
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const lease = await requireLease(context, host, (await params).id);
    return json(await announceBundle(context, lease.id, await parseJsonBody(request, bundleAnnounceSchema)));
  });
}

/** Appends at `Upload-Offset`. */
export function PATCH(request: Request, { params }: Params): Promise<Response> {
  return respond(async () => {
    const context = await getServerContext();
    const host = await authenticateHost(context, request);
    const lease = await requireLease(context, host, (await params).id);
    const offset = nonNegativeInteger(request.headers.get("upload-offset"), "Upload-Offset");
    return json(await appendBundle(context, lease.id, offset, bodyChunks(request)));
  });
}
