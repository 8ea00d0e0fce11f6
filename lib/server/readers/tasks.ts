import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findTask, findTaskList } from "@/db/queries/tasks";
import { slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import { type TaskDetail, type TaskList, taskDetailSchema, taskListSchema } from "@/lib/contract/task-api";
import { prepareTask, prepareTaskList } from "@/lib/prepare/tasks";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

/** The tasks of a suite version, of the newest where none is named; null where there is no such suite. */
export async function getTaskList(suite: string, version: string | null): Promise<TaskList | null> {
  "use cache";
  // Import tells a suite's board, and so does whatever changes one of its results.
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.board(suite));
  cacheLife("hours");
  const facts = await findTaskList(getDatabase().db, { suite, version: version ?? undefined });
  return facts && taskListSchema.parse(prepareTaskList(facts));
}

/** One task of a suite version with every entry's result on it; null where there is none. */
export async function getTask(suite: string, version: string, task: string): Promise<TaskDetail | null> {
  const named =
    slugSchema.safeParse(suite).success &&
    suiteVersionSchema.safeParse(version).success &&
    slugSchema.safeParse(task).success;
  return named ? cachedTask(suite, version, task) : null;
}

async function cachedTask(suite: string, version: string, task: string): Promise<TaskDetail | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.board(suite));
  cacheLife("hours");
  const facts = await findTask(getDatabase().db, { suite, version, task });
  return facts && taskDetailSchema.parse(prepareTask(facts));
}
