import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TaskListPage } from "@/components/tasks/task-list-page";
import { defaultTaskListView } from "@/lib/prepare/task-list-view";
import { findTaskList } from "../task-list/find-task-list";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Tasks",
  description: "Every task of a suite: its tests and probes, who resolves it, and what the reference patch sets did.",
};

export default async function Page() {
  const found = await findTaskList(defaultTaskListView);
  if (!found) notFound();
  return <TaskListPage {...found} view={defaultTaskListView} />;
}
