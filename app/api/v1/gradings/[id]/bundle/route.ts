import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { findBundle } from "@/lib/server/evidence";
import { respondTo } from "@/lib/server/operation";
import { sendBlob } from "@/lib/server/send-blob";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respondTo("getBundle", request, async () => {
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
