import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { listPublications, type PublicationView } from "@/db/queries/published";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

/** Publications whose figures stand here, each with its tables as printed. */
export async function listPublished(): Promise<PublicationView[]> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.published);
  cacheLife("days");
  return listPublications(getDatabase().db);
}
