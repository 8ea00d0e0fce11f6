import { type NextRequest, NextResponse } from "next/server";
import { parseView, viewPath } from "@/lib/prepare/board-view";

/** Views of the leaderboard are pages of their own, made once and kept: a page that reads its query cannot be prerendered. */
export function proxy(request: NextRequest) {
  return NextResponse.rewrite(new URL(viewPath(parseView(request.nextUrl.searchParams)), request.url));
}

export const config = {
  matcher: [
    { source: "/", has: [{ type: "query", key: "suite" }] },
    { source: "/", has: [{ type: "query", key: "version" }] },
    { source: "/", has: [{ type: "query", key: "condition" }] },
    { source: "/", has: [{ type: "query", key: "skill" }] },
    { source: "/", has: [{ type: "query", key: "category" }] },
    { source: "/", has: [{ type: "query", key: "sort" }] },
    { source: "/", has: [{ type: "query", key: "dir" }] },
    { source: "/", has: [{ type: "query", key: "view" }] },
  ],
};
