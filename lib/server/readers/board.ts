import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findBoardFacts } from "@/db/queries/board";
import { type Board, boardSchema } from "@/lib/contract/api";
import type { PromptCondition } from "@/lib/contract/vocabulary";
import { prepareBoard } from "@/lib/prepare/board";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

export type BoardRequest = {
  suite: string;
  /** The newest where left out. */
  version?: string | undefined;
  /** `interface` where left out. */
  promptCondition?: PromptCondition | undefined;
  skill?: string | null | undefined;
};

/** The board of a suite version under one prompt condition and skill; null where there is no such suite. */
export async function getBoard(request: BoardRequest): Promise<Board | null> {
  return cachedBoard(
    request.suite,
    request.version ?? null,
    request.promptCondition ?? "interface",
    request.skill ?? null,
  );
}

// Plain arguments: the cache's key is their spelling, so equal requests must be spelled alike.
async function cachedBoard(
  suite: string,
  version: string | null,
  promptCondition: PromptCondition,
  skill: string | null,
): Promise<Board | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.board(suite));
  cacheLife("hours");
  const facts = await findBoardFacts(getDatabase().db, {
    suite,
    version: version ?? undefined,
    promptCondition,
    skill,
  });
  return facts && boardSchema.parse(prepareBoard(facts));
}
