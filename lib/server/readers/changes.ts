import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { type Change, listChanges } from "@/db/queries/changes";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

/** Changes that one answer holds at most. */
const mostChanges = 100;

/** What changed of published submissions, newest first, at most a few minutes old; withdrawals are taken out at once. */
export async function listRecentChanges(): Promise<Change[]> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites);
  cacheLife("minutes");
  return listChanges(getDatabase().sql, mostChanges);
}
