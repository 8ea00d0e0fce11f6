import { connection } from "next/server";
import { readBoardRequest } from "@/lib/server/board-request";
import { found, json, respond } from "@/lib/server/http";
import { getBoard } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const wanted = readBoardRequest(new URL(request.url).searchParams);
    return json(found(await getBoard(wanted), "board.unknown", `${wanted.suite} ${wanted.version ?? ""}`.trim()));
  });
}
