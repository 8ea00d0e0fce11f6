import { connection } from "next/server";
import { respond } from "@/lib/server/http";
import { getTaskImage } from "@/lib/server/readers";
import { pngName, sendImage } from "../../../../send-image";

interface Props {
  params: Promise<{ suite: string; version: string; file: string }>;
}

export async function GET(request: Request, { params }: Props): Promise<Response> {
  await connection();
  return respond(async () => {
    const { suite, version, file } = await params;
    return sendImage(request, await getTaskImage(suite, version, pngName(file)), file);
  });
}
