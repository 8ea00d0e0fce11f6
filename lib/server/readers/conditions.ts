import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findComparedRuns, listBoardFacts } from "@/db/queries/compare";
import { listSkillDigests } from "@/db/queries/entry-facts";
import { type ConditionsAnswer, conditionsAnswerSchema } from "@/lib/contract/conditions-api";
import { prepareConditions } from "@/lib/prepare/conditions";
import { publishedConditions } from "@/lib/prepare/conditions-published";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";
import { listPublished } from "./published";
import { listSuites, type SuiteListItem } from "./suites";

/** Prompt conditions and skills compared in pairs, on every suite version that has a pair, beside what was published. */
export async function getConditions(): Promise<ConditionsAnswer> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites);
  cacheLife("hours");
  const [suites, publications] = await Promise.all([listSuites(), listPublished()]);
  // a pair needs two boards
  const several = suites.filter(({ boards }) => boards.length > 1);
  for (const slug of new Set(several.map((suite) => suite.slug))) cacheTag(cacheTags.board(slug));
  const compared = await Promise.all(several.map(compareConditions));
  return conditionsAnswerSchema.parse({
    suites: compared.filter((one) => one !== null),
    published: publishedConditions(publications),
  });
}

async function compareConditions({ slug, version }: SuiteListItem) {
  const { db } = getDatabase();
  const boards = await listBoardFacts(db, { suite: slug, version });
  if (!boards) return null;
  const ids = boards.flatMap(({ rows }) =>
    rows.filter(({ entry }) => entry.kind === "model").map(({ submissionId }) => submissionId),
  );
  const [runs, digests] = await Promise.all([findComparedRuns(db, ids), listSkillDigests(db)]);
  return prepareConditions({ boards, ...runs }, digests);
}
