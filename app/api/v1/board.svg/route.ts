import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { boardFigure } from "@/lib/prepare/board-figure";
import { viewHref } from "@/lib/prepare/board-view";
import { publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { siteUrl } from "@/lib/server/site-url";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getBoardAsFigure", request, async () => {
    const { board, view } = await readBoard(request);
    const figure = boardFigure(board, view, `${siteUrl(request)}${viewHref(view)}`);
    return publicText(request, figure, "image/svg+xml; charset=utf-8");
  });
}
