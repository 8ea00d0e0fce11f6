import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { taskShare } from "@/app/og/share-metadata";
import { TaskPage } from "@/components/tasks/task-page";
import { getTask, getTaskList, listSuites } from "@/lib/server/readers";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ suite: string; version: string; task: string }>;
}

/** Some are made at build time, every other when it is first asked for. Where there is none, one that does not exist. */
export async function generateStaticParams() {
  const suites = await listSuites();
  const lists = await Promise.all(suites.map(({ slug, version }) => getTaskList(slug, version)));
  const known = lists.flatMap((list) =>
    list ? list.tasks.map(({ slug }) => ({ suite: list.suite.slug, version: list.suite.version, task: slug })) : [],
  );
  return known.length > 0 ? known.slice(0, 20) : [{ suite: "none", version: "0.0", task: "none" }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { suite, version, task } = await params;
  const detail = await getTask(suite, version, task);
  return detail
    ? { title: `${detail.task.title}: task of ${detail.suite.title} ${detail.suite.version}`, ...taskShare(detail) }
    : {};
}

export default async function Page({ params }: Props) {
  const { suite, version, task } = await params;
  const detail = await getTask(suite, version, task);
  if (!detail) notFound();
  return <TaskPage detail={detail} />;
}
