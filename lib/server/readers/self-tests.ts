import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { listSelfTestFacts } from "@/db/queries/self-tests";
import { type SelfTestsAnswer, selfTestsAnswerSchema } from "@/lib/contract/self-tests-api";
import { prepareSelfTests } from "@/lib/prepare/self-tests";
import { selfTestRulesVersion } from "@/lib/self-tests/rules";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";
import { listPublished } from "./published";

/** What the tests check that attempts add, by kind of entry and by entry. */
export async function getSelfTests(): Promise<SelfTestsAnswer> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.failures, cacheTags.published);
  cacheLife("hours");
  const [facts, publications] = await Promise.all([listSelfTestFacts(getDatabase().sql), listPublished()]);
  return selfTestsAnswerSchema.parse(prepareSelfTests(facts, publications, selfTestRulesVersion));
}
