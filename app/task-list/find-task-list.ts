import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import type { TaskList } from "@/lib/contract/task-api";
import type { TaskListView } from "@/lib/prepare/task-list-view";
import { getTaskList, listSuites } from "@/lib/server/readers";
import { choicesOf } from "../board/find-board";

/**
 * The tasks that a view asks for, with the suites to choose from; of the first suite whose tasks are published where it
 * names none. Null where there is no such suite, or no ranked entry
 * of the name that tasks are filtered by.
 */
export async function findTaskList(view: TaskListView): Promise<{ list: TaskList; suites: SuiteChoice[] } | null> {
  const known = await listSuites();
  const slug = view.suite ?? (known.find((suite) => !suite.reported) ?? known[0])?.slug;
  const list = slug ? await getTaskList(slug, view.version) : null;
  // anything can be asked for as an entry, and every page that is found is kept
  if (!list || (view.only !== null && !list.ranked.includes(view.only))) return null;
  return { list, suites: choicesOf(known) };
}
