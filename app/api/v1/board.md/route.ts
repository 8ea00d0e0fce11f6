import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardMarkdown } from "@/lib/prepare/board-table";
import { publicText, respond } from "@/lib/server/http";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const { board, view } = await readBoard(request);
    return publicText(request, boardMarkdown(board, view), "text/markdown; charset=utf-8");
  });
}
