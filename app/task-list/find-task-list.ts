import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import type { TaskList } from "@/lib/contract/task-api";
import type { TaskListView } from "@/lib/prepare/task-list-view";
import { getTaskList, listSuites } from "@/lib/server/readers";
import { choicesOf } from "../board/find-board";

/**
 * The tasks that a view asks for, with the suites to choose from; of the first suite whose tasks are published where it
 * names none. Null where there is no such suite.
 */
export async function findTaskList(view: TaskListView): Promise<{ list: TaskList; suites: SuiteChoice[] } | null> {
  const known = await listSuites();
  const slug = view.suite ?? (known.find((suite) => !suite.reported) ?? known[0])?.slug;
  const list = slug ? await getTaskList(slug, view.version) : null;
  return list && { list, suites: choicesOf(known) };
}
