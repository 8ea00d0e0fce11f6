import { getServerContext } from "@/lib/server/context";
import { json } from "@/lib/server/http";
import { finishSelfMade } from "@/lib/server/ingest/self-made";
import { respondTo } from "@/lib/server/operation";

/** Verifies the uploaded bundle and records it. */
export function POST(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return respondTo("finishUpload", request, async () =>
    json(await finishSelfMade(await getServerContext(), (await params).id)),
  );
}
