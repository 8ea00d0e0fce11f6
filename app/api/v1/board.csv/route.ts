import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardAnswerOf, boardCsv } from "@/lib/prepare/board-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getBoardAsCsv", request, async () => {
    const { board, view } = await readBoard(request);
    return publicText(request, boardCsv(boardAnswerOf(board, view)), "text/csv; charset=utf-8; header=present");
  });
}
