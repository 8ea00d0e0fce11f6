import { connection } from "next/server";
import { publishedAnswerSchema } from "@/lib/contract/api";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { listPublished } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("listPublished", request, async () =>
    publicJson(request, publishedAnswerSchema.parse({ publications: await listPublished() })),
  );
}
