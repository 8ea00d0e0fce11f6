import { getServerContext } from "@/lib/server/context";
import { json, respond } from "@/lib/server/http";
import { finishSelfMade } from "@/lib/server/ingest/self-made";

/** Verifies the uploaded bundle and records it. */
export function POST(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return respond(async () => json(await finishSelfMade(await getServerContext(), (await params).id)));
}
