import { connection } from "next/server";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getFailure } from "@/lib/server/readers";

type Params = { params: Promise<{ grading: string; test: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getFailure", request, async () => {
    const { grading, test } = await params;
    return publicJson(request, found(await getFailure(grading, test), "failure.unknown", `${grading}/${test}`));
  });
}
