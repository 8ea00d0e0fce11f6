import { connection } from "next/server";
import { respond } from "@/lib/server/http";
import { getSubmissionImage } from "@/lib/server/readers";
import { pngName, sendImage } from "../../send-image";

export async function GET(request: Request, { params }: { params: Promise<{ file: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const { file } = await params;
    return sendImage(request, await getSubmissionImage(pngName(file)), file);
  });
}
