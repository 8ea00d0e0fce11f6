import { connection } from "next/server";
import { found, publicJson, respond } from "@/lib/server/http";
import { getSubmission } from "@/lib/server/readers";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const { id } = await params;
    return publicJson(request, found(await getSubmission(id), "submission.unknown", id));
  });
}
