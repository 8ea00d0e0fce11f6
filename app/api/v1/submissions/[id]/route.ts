import { connection } from "next/server";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getSubmission } from "@/lib/server/readers";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respondTo("getSubmission", request, async () => {
    const { id } = await params;
    return publicJson(request, found(await getSubmission(id), "submission.unknown", id));
  });
}
