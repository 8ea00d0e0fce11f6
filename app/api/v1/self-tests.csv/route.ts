import { connection } from "next/server";
import { selfTestsCsv } from "@/lib/prepare/self-tests";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { getSelfTests } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getSelfTestsAsCsv", request, async () =>
    publicText(request, selfTestsCsv(await getSelfTests()), "text/csv; charset=utf-8; header=present"),
  );
}
