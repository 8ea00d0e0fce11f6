import { connection } from "next/server";
import { labelCsv } from "@/lib/prepare/label-csv";
import { publicText, respond } from "@/lib/server/http";
import { exportedLabels } from "@/lib/server/label-export";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(request, labelCsv(await exportedLabels()), "text/csv; charset=utf-8; header=present"),
  );
}
