import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findBoardFacts } from "@/db/queries/board";
import { findProbesFacts } from "@/db/queries/probes";
import { listPublications } from "@/db/queries/published";
import { type ProbesAnswer, probesAnswerSchema } from "@/lib/contract/probes-api";
import type { PromptCondition } from "@/lib/contract/vocabulary";
import { prepareBoard } from "@/lib/prepare/board";
import { prepareProbes } from "@/lib/prepare/probes";
import { publishedProbes } from "@/lib/prepare/probes-published";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

/** What the probes of a board reject, beside what publications say; null where there is no such suite version. */
export async function getProbes(
  suite: string,
  version: string,
  promptCondition: PromptCondition,
  skill: string | null,
): Promise<ProbesAnswer | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.published, cacheTags.board(suite));
  cacheLife("hours");
  const { db } = getDatabase();
  const facts = await findBoardFacts(db, { suite, version, promptCondition, skill });
  if (!facts) return null;
  const submissionIds = facts.rows.map((row) => row.submissionId);
  const [found, publications] = await Promise.all([
    findProbesFacts(db, { suite, version, submissionIds }),
    listPublications(db),
  ]);
  return probesAnswerSchema.parse({
    ...prepareProbes({ board: prepareBoard(facts), ...found }),
    published: publishedProbes(publications),
  });
}
