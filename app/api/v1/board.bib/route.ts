import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardBibtex } from "@/lib/prepare/board-table";
import { found, publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getBoardCitation", request, async () => {
    const { board } = await readBoard(request);
    const citation = found(boardBibtex(board), "board.no-citation", `${board.suite.slug} ${board.suite.version}`);
    return publicText(request, citation, "application/x-bibtex; charset=utf-8");
  });
}
