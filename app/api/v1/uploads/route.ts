import { uploadAnnounceSchema } from "@/lib/contract/upload";
import { getServerContext } from "@/lib/server/context";
import { json, parseJsonBody } from "@/lib/server/http";
import { announceSelfMade } from "@/lib/server/ingest/self-made";
import { respondTo } from "@/lib/server/operation";

/** Announces a self-made bundle, or asks how much of it has arrived. */
export function POST(request: Request): Promise<Response> {
  return respondTo("announceUpload", request, async () => {
    const body = await parseJsonBody(request, uploadAnnounceSchema);
    return json(await announceSelfMade(await getServerContext(), body));
  });
}
