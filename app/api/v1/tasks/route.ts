import { connection } from "next/server";
import { findTaskList } from "@/app/task-list/find-task-list";
import { defaultTaskListView } from "@/lib/prepare/task-list-view";
import { found, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { readTaskListRequest } from "@/lib/server/task-list-request";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("listTasks", request, async () => {
    const { suite, version } = readTaskListRequest(new URL(request.url).searchParams);
    const view = { ...defaultTaskListView, suite, version };
    const where = [suite, version].filter(Boolean).join(" ") || "suite";
    return publicJson(request, found((await findTaskList(view))?.list ?? null, "tasks.unknown", where));
  });
}
