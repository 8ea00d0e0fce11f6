import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findBoardChoices } from "@/db/queries/board-choices";
import { listSuites as querySuites } from "@/db/queries/suites";
import type { Category, ProbesVisibility, PromptCondition } from "@/lib/contract/vocabulary";
import { categories } from "@/lib/contract/vocabulary";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

export type SuiteListItem = {
  slug: string;
  version: string;
  title: string;
  summary: string;
  probes: ProbesVisibility;
  taskCount: number;
  categoryCounts: { category: Category; count: number }[];
  /** Known from a publication only: no tasks of its own here. */
  reported: boolean;
  /** Boards that have a published row, the default condition without a skill first. */
  boards: { promptCondition: PromptCondition; skill: string | null }[];
};

/** Every suite version in the order of pickers: by position, newest version first. */
export async function listSuites(): Promise<SuiteListItem[]> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites);
  cacheLife("hours");
  const { db, sql } = getDatabase();
  const [suites, choices] = await Promise.all([querySuites(db), findBoardChoices(sql)]);
  return suites.map((suite) => ({
    slug: suite.slug,
    version: suite.version,
    title: suite.title,
    summary: suite.summary,
    probes: suite.probes,
    taskCount: suite.taskCount,
    categoryCounts: categories.map((category) => ({ category, count: suite[`${category}Count`] })),
    reported: suite.sourceId !== null,
    boards: choices
      .filter((choice) => choice.suiteId === suite.id)
      .map(({ promptCondition, skill }) => ({ promptCondition, skill })),
  }));
}
