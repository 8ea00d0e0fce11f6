import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TaskListPage } from "@/components/tasks/task-list-page";
import { defaultTaskListView, parseTaskListPath, taskListHref, taskListPath } from "@/lib/prepare/task-list-view";
import { findTaskList } from "../find-task-list";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** One view is made at build time; any other is made when it is first asked for, and kept. */
export function generateStaticParams() {
  return [
    {
      view: taskListPath({ ...defaultTaskListView, sort: "task" })
        .split("/")
        .slice(2),
    },
  ];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = parseTaskListPath((await params).view);
  const canonical = view && taskListHref({ suite: view.suite, version: view.version });
  return canonical ? { title: "Tasks", alternates: { canonical } } : {};
}

export default async function Page({ params }: Props) {
  const view = parseTaskListPath((await params).view);
  const found = view && (await findTaskList(view));
  if (!view || !found) notFound();
  return <TaskListPage {...found} view={view} />;
}
