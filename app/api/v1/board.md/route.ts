import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardMarkdown } from "@/lib/prepare/board-table";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getBoardAsMarkdown", request, async () => {
    const { board, view } = await readBoard(request);
    return publicText(request, boardMarkdown(board, view), "text/markdown; charset=utf-8");
  });
}
