import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { findEvidenceFile } from "@/lib/server/evidence";
import { respondTo } from "@/lib/server/operation";
import { sendBlob } from "@/lib/server/send-blob";

type Params = { params: Promise<{ id: string; path: string[] }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getEvidenceFile", request, async () => {
    const context = await getServerContext();
    const { id, path } = await params;
    const name = path.join("/");
    const file = await findEvidenceFile(context, id, name);
    return sendBlob(context, request, {
      ...file,
      contentType: name.endsWith(".json") ? "application/json" : "text/plain; charset=utf-8",
      fileName: path.at(-1) ?? "file",
      visibility: "public",
    });
  });
}
