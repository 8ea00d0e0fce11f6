import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { findBundle } from "@/lib/server/evidence";
import { respond } from "@/lib/server/http";
import { sendBlob } from "@/lib/server/send-blob";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const context = await getServerContext();
    const bundle = await findBundle(context, (await params).id);
    return sendBlob(context, request, {
      sha256: bundle.sha256,
      bytes: bundle.bytes,
      contentType: "application/gzip",
      fileName: `${bundle.id}.infradev.tar.gz`,
      visibility: "public",
      disposition: "attachment",
    });
  });
}
