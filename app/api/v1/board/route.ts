import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardAnswerOf } from "@/lib/prepare/board-table";
import { publicJson, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const { board, view } = await readBoard(request);
    return publicJson(request, boardAnswerOf(board, view));
  });
}
