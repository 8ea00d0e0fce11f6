import "server-only";
import { boardQuerySchema } from "@/lib/contract/api-operations";
import { paretoAxes } from "@/lib/contract/vocabulary";
import { type BoardView, defaultView, firstDirection } from "@/lib/prepare/board-view";
import { parseQuery } from "./http";

/** The view that a request asks for, spelled as on the board's page. Throws `board.query` where a word is none of ours. */
export function readBoardView(request: Request): BoardView {
  const { suite, version, condition, skill, category, sort, dir, view, x } = parseQuery(request, boardQuerySchema, {
    code: "board.query",
    what: "the board's query",
    remedy: "see /docs/api for the parameters, and /api/v1/suites for the boards that there are",
  });
  const sorted = sort ?? defaultView.sort;
  return {
    suite: suite ?? null,
    version: version ?? null,
    condition: condition ?? defaultView.condition,
    skill: skill ?? null,
    category: category ?? null,
    sort: sorted,
    direction: dir ?? firstDirection[sorted],
    pareto: view === "pareto" ? (x ?? paretoAxes[0]) : null,
  };
}
