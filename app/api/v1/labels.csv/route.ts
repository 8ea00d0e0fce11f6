import { connection } from "next/server";
import { labelCsv } from "@/lib/prepare/label-csv";
import { publicText } from "@/lib/server/http";
import { exportedLabels } from "@/lib/server/label-export";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getLabelsAsCsv", request, async () =>
    publicText(request, labelCsv(await exportedLabels()), "text/csv; charset=utf-8; header=present"),
  );
}
