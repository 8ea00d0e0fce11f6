import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findEntryFacts, findEntryRun, listEntryFacts } from "@/db/queries/entry-facts";
import { type EntryDetail, type EntryList, entryDetailSchema, entryListSchema } from "@/lib/contract/entry-api";
import type { EntryFacts } from "@/lib/contract/entry-facts";
import { slugSchema } from "@/lib/contract/scalars";
import { entryRow, prepareEntry, type StandingFacts } from "@/lib/prepare/entry";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";
import { getBoard } from "./board";
import { listPublished } from "./published";

/** One entry over every suite version that it stands on; null where none of its submissions is published. */
export async function getEntry(slug: string): Promise<EntryDetail | null> {
  return slugSchema.safeParse(slug).success ? cachedEntry(slug) : null;
}

async function cachedEntry(slug: string): Promise<EntryDetail | null> {
  "use cache";
  // A first submission on another suite, and a withdrawal, tell the suites; a label changes what it fails by.
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.labels);
  cacheLife("hours");
  const facts = await findEntryFacts(getDatabase().db, slug);
  if (!facts) return null;
  cacheTag(...new Set(facts.suites.map(({ suite }) => cacheTags.board(suite.slug))));
  const [standings, publications] = await Promise.all([
    Promise.all(facts.suites.map(({ suite }) => readStanding(facts, suite))),
    listPublished(),
  ]);
  return entryDetailSchema.parse(prepareEntry(facts, standings, publications));
}

async function readStanding(entry: EntryFacts, suite: EntryFacts["suites"][number]["suite"]): Promise<StandingFacts> {
  const { promptCondition, skill } = entry.candidate;
  const board = await getBoard({
    suite: suite.slug,
    version: suite.version,
    promptCondition,
    skill: skill?.name ?? null,
  });
  if (!board) throw new Error(`suite ${suite.slug} ${suite.version} of entry ${entry.slug} is missing`);
  const row = entryRow(board, entry.slug);
  return { board, run: row && row.tier !== "reported" ? await findEntryRun(getDatabase().db, row.submissionId) : null };
}

/** Entries with a published submission; of one suite, or one version of it, where these are named. */
export async function listEntries(suite: string | null = null, version: string | null = null): Promise<EntryList> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites);
  cacheLife("hours");
  const listed = await listEntryFacts(getDatabase().db, { suite: suite ?? undefined, version: version ?? undefined });
  const suites = listed.flatMap((entry) => entry.suites.map(({ slug }) => slug));
  for (const slug of new Set([...suites, ...(suite ? [suite] : [])])) cacheTag(cacheTags.board(slug));
  return entryListSchema.parse({ entries: listed });
}
