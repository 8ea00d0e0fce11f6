import { connection } from "next/server";
import { found, json, respond } from "@/lib/server/http";
import { getSubmission } from "@/lib/server/readers";

export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const { id } = await params;
    return json(found(await getSubmission(id), "submission.unknown", id));
  });
}
