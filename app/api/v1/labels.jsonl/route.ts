import { connection } from "next/server";
import { publicText } from "@/lib/server/http";
import { exportedLabels } from "@/lib/server/label-export";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getLabelsAsJsonLines", request, async () => {
    const lines = (await exportedLabels()).map((label) => `${JSON.stringify(label)}\n`);
    return publicText(request, lines.join(""), "application/jsonl; charset=utf-8");
  });
}
