import { getServerContext } from "@/lib/server/context";
import { bodyChunks, json, nonNegativeInteger } from "@/lib/server/http";
import { appendSelfMade } from "@/lib/server/ingest/self-made";
import { respondTo } from "@/lib/server/operation";

/** Appends at `Upload-Offset`. */
export function PATCH(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return respondTo("appendUpload", request, async () => {
    const offset = nonNegativeInteger(request.headers.get("upload-offset"), "Upload-Offset");
    return json(await appendSelfMade(await getServerContext(), (await params).id, offset, bodyChunks(request)));
  });
}
