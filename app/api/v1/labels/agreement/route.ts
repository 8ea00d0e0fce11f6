import { connection } from "next/server";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getLabelAgreement } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getLabelAgreement", request, async () => publicJson(request, await getLabelAgreement()));
}
