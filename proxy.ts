import { type NextRequest, NextResponse } from "next/server";
import { parseView, viewPath } from "@/lib/prepare/board-view";
import { parseTaskListView, taskListPath } from "@/lib/prepare/task-list-view";

/** Views of the leaderboard and of the list of tasks are pages of their own, made once and kept: a page that reads its query cannot be prerendered. */
export function proxy(request: NextRequest) {
  const { pathname, searchParams } = request.nextUrl;
  const path =
    pathname === "/tasks" ? taskListPath(parseTaskListView(searchParams)) : viewPath(parseView(searchParams));
  return NextResponse.rewrite(new URL(path, request.url));
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
    { source: "/tasks", has: [{ type: "query", key: "suite" }] },
    { source: "/tasks", has: [{ type: "query", key: "version" }] },
    { source: "/tasks", has: [{ type: "query", key: "sort" }] },
  ],
};
