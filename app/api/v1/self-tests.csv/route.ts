import { connection } from "next/server";
import { selfTestsCsv } from "@/lib/prepare/self-tests";
import { publicText, respond } from "@/lib/server/http";
import { getSelfTests } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(request, selfTestsCsv(await getSelfTests()), "text/csv; charset=utf-8; header=present"),
  );
}
