import { type NextRequest, NextResponse } from "next/server";
import type { Problem } from "@/lib/contract/errors";
import { isFormQuery, parseView, viewHref, viewPath } from "@/lib/prepare/board-view";
import { comparePath, parseCompareView } from "@/lib/prepare/compare-view";
import { failuresHref, failureViewPath, parseFailureView } from "@/lib/prepare/failure-view";
import { logViewPath } from "@/lib/prepare/log-view";
import { parseProbesView, probesPath } from "@/lib/prepare/probes-view";
import { readSearchQuery, searchPath } from "@/lib/prepare/search";
import { parseTaskListView, taskListPath } from "@/lib/prepare/task-list-view";
import { trajectoryViewPath } from "@/lib/prepare/trajectory-view";

/** Views of the leaderboard and of the list of tasks are pages of their own, made once and kept: a page that reads its query cannot be prerendered. */
export function proxy(request: NextRequest) {
  const { pathname, searchParams } = request.nextUrl;
  if (!isText(pathname)) return answerNowhere(request);
  if (pathname.startsWith("/logs/"))
    return NextResponse.rewrite(new URL(logViewPath(pathname, searchParams), request.url));
  if (pathname.includes("%")) return NextResponse.next();
  if (pathname.startsWith("/trajectories/"))
    return NextResponse.rewrite(new URL(trajectoryViewPath(pathname, searchParams), request.url));
  if (pathname === "/label/agreement") return NextResponse.next(); // everybody may read it
  if (/^\/(account|label)(\/|$)/.test(pathname))
    // A page that redirects is sent before it knows, as an empty document with a 200.
    return request.method !== "GET" || request.headers.get("cookie")?.includes("infradev.session_token")
      ? NextResponse.next()
      : NextResponse.redirect(
          new URL(`/account/sign-in?${new URLSearchParams({ next: pathname + request.nextUrl.search })}`, request.url),
        );
  if (pathname === "/failures" || pathname === "/failures/clusters") {
    if (searchParams.size === 0) return NextResponse.next();
    const page = pathname === "/failures" ? "failures" : "clusters";
    const view = parseFailureView(searchParams);
    // A form sends every field, chosen or not.
    return [...searchParams.values()].includes("")
      ? NextResponse.redirect(new URL(failuresHref(view, page), request.url))
      : NextResponse.rewrite(new URL(failureViewPath(view, page), request.url));
  }
  if (pathname === "/search")
    return NextResponse.rewrite(new URL(searchPath(readSearchQuery(searchParams.get("q"))), request.url));
  if (pathname === "/compare")
    return NextResponse.rewrite(new URL(comparePath(parseCompareView(searchParams)), request.url));
  if (pathname === "/probes")
    return NextResponse.rewrite(new URL(probesPath(parseProbesView(searchParams)), request.url));
  if (pathname === "/" && isFormQuery(searchParams))
    return NextResponse.redirect(new URL(viewHref(parseView(searchParams)), request.url));
  const path =
    pathname === "/tasks" ? taskListPath(parseTaskListView(searchParams)) : viewPath(parseView(searchParams));
  return NextResponse.rewrite(new URL(path, request.url));
}

/**
 * Whether an address decodes to text without control characters and line breaks. Any other names nothing: the framework
 * answers 500 to what it cannot decode, and never keeps the page of an address with a line break.
 */
function isText(pathname: string): boolean {
  try {
    return !/[\p{Cc}\u2028\u2029]/u.test(decodeURIComponent(pathname));
  } catch {
    return false;
  }
}

function answerNowhere(request: NextRequest): NextResponse {
  const { pathname } = request.nextUrl;
  if (!pathname.startsWith("/api/")) return NextResponse.rewrite(new URL("/none", request.url));
  const problem: Problem = {
    code: "api.unknown",
    message: "there is nothing under this name",
    where: pathname.slice(0, 200),
    rule: "an address is UTF-8 with percent escapes, without control characters",
    remedy: "see /docs/api for the addresses that there are",
  };
  return NextResponse.json({ error: problem }, { status: 404 });
}

export const config = {
  matcher: [
    "/:path(.*%.*)",
    { source: "/", has: [{ type: "query", key: "suite" }] },
    { source: "/", has: [{ type: "query", key: "version" }] },
    { source: "/", has: [{ type: "query", key: "condition" }] },
    { source: "/", has: [{ type: "query", key: "skill" }] },
    { source: "/", has: [{ type: "query", key: "category" }] },
    { source: "/", has: [{ type: "query", key: "sort" }] },
    { source: "/", has: [{ type: "query", key: "dir" }] },
    { source: "/", has: [{ type: "query", key: "view" }] },
    { source: "/", has: [{ type: "query", key: "tests" }] },
    { source: "/", has: [{ type: "query", key: "model" }] },
    { source: "/", has: [{ type: "query", key: "organization" }] },
    { source: "/", has: [{ type: "query", key: "agent" }] },
    { source: "/", has: [{ type: "query", key: "effort" }] },
    { source: "/", has: [{ type: "query", key: "tier" }] },
    { source: "/", has: [{ type: "query", key: "data" }] },
    { source: "/", has: [{ type: "query", key: "configuration" }] },
    { source: "/", has: [{ type: "query", key: "cols" }] },
    { source: "/", has: [{ type: "query", key: "page" }] },
    { source: "/tasks", has: [{ type: "query", key: "suite" }] },
    { source: "/tasks", has: [{ type: "query", key: "version" }] },
    { source: "/tasks", has: [{ type: "query", key: "sort" }] },
    { source: "/tasks", has: [{ type: "query", key: "category" }] },
    { source: "/tasks", has: [{ type: "query", key: "type" }] },
    { source: "/tasks", has: [{ type: "query", key: "show" }] },
    { source: "/tasks", has: [{ type: "query", key: "only" }] },
    { source: "/compare", has: [{ type: "query", key: "a" }] },
    { source: "/compare", has: [{ type: "query", key: "b" }] },
    { source: "/compare", has: [{ type: "query", key: "suite" }] },
    { source: "/compare", has: [{ type: "query", key: "version" }] },
    { source: "/probes", has: [{ type: "query", key: "suite" }] },
    { source: "/probes", has: [{ type: "query", key: "version" }] },
    { source: "/probes", has: [{ type: "query", key: "condition" }] },
    { source: "/probes", has: [{ type: "query", key: "skill" }] },
    { source: "/search", has: [{ type: "query", key: "q" }] },
    "/failures",
    "/failures/clusters",
    "/account",
    "/label/:path*",
    { source: "/logs/:path*", has: [{ type: "query", key: "line" }] },
    { source: "/logs/:path*", has: [{ type: "query", key: "from" }] },
    { source: "/trajectories/:path*", has: [{ type: "query", key: "step" }] },
    { source: "/trajectories/:path*", has: [{ type: "query", key: "from" }] },
  ],
};
