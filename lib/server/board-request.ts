import "server-only";
import { boardQuerySchema } from "@/lib/contract/api-operations";
import { type BoardView, parseView } from "@/lib/prepare/board-view";
import { parseQuery } from "./http";

/** The view that a request asks for, spelled as on the board's page. Throws `board.query` where a word is none of ours. */
export function readBoardView(request: Request): BoardView {
  parseQuery(request, boardQuerySchema, {
    code: "board.query",
    what: "the board's query",
    remedy: "see /docs/api for the parameters, and /api/v1/suites for the boards that there are",
  });
  return { ...parseView(new URL(request.url).searchParams), page: 1 };
}
