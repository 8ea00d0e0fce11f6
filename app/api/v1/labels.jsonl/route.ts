import { connection } from "next/server";
import { publicText, respond } from "@/lib/server/http";
import { exportedLabels } from "@/lib/server/label-export";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const lines = (await exportedLabels()).map((label) => `${JSON.stringify(label)}\n`);
    return publicText(request, lines.join(""), "application/jsonl; charset=utf-8");
  });
}
