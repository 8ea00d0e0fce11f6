import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardAnswerOf } from "@/lib/prepare/board-table";
import { publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getBoard", request, async () => {
    const { board, view } = await readBoard(request);
    return publicJson(request, boardAnswerOf(board, view));
  });
}
