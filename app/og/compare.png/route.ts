import { connection } from "next/server";
import { readComparison } from "@/app/compare/read-comparison";
import { compareCard } from "@/lib/prepare/share-card";
import { respond } from "@/lib/server/http";
import { drawCard } from "@/lib/server/readers";
import { sendImage } from "../send-image";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const card = compareCard(await readComparison(request));
    return sendImage(request, card && (await drawCard(card)), new URL(request.url).search);
  });
}
