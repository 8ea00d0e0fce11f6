import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { searchEntries, searchTasks, searchTests } from "@/db/queries/search";
import { type SearchAnswer, searchAnswerSchema, searchGroupLimit } from "@/lib/contract/search-api";
import { searchedDocuments } from "@/lib/prepare/documents";
import { excerptOf, matchTexts, searchWords } from "@/lib/prepare/search";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";
import { listSuites } from "./suites";

const none = { count: 0, hits: [] };

/** What a query finds, by group; `query` as `readSearchQuery` gives it. */
export async function search(query: string): Promise<SearchAnswer> {
  "use cache";
  const suites = await listSuites();
  cacheTag(cacheTags.everything, cacheTags.suites, ...new Set(suites.map(({ slug }) => cacheTags.board(slug))));
  cacheLife("hours");
  const words = searchWords(query);
  if (words.length === 0) return { query, words, entries: none, tasks: none, tests: none, documents: none };
  const { sql } = getDatabase();
  const [entries, tasks, tests] = await Promise.all([
    searchEntries(sql, words, query),
    searchTasks(sql, words),
    searchTests(sql, words),
  ]);
  const documents = matchTexts(searchedDocuments, ({ title, summary, also }) => [title, summary, also], words);
  return searchAnswerSchema.parse({
    query,
    words,
    entries,
    tasks: {
      count: tasks.count,
      hits: tasks.hits.map(({ piece, before, after, ...hit }) => ({
        ...hit,
        excerpt: piece === null ? null : excerptOf(piece, { before: before ?? false, after: after ?? false }),
      })),
    },
    tests,
    documents: { count: documents.length, hits: documents.slice(0, searchGroupLimit) },
  });
}
