import { z } from "zod";
import { categories, entryKinds, promptConditions, properties, testKinds } from "./vocabulary";

/** Most characters of a query that are looked at. */
export const searchQueryLimit = 100;

/** Hits that each group of an answer holds at most; its count is of all. */
export const searchGroupLimit = 20;

const group = <T extends z.ZodType>(hit: T) =>
  z.object({ count: z.int().describe("All that match."), hits: z.array(hit).describe("The best of them.") });

const taskPlace = { suite: z.string(), suiteVersion: z.string(), task: z.string(), taskTitle: z.string() };

export const taskHitSchema = z.object({
  ...taskPlace,
  suiteTitle: z.string(),
  repo: z.string(),
  category: z.enum(categories),
  excerpt: z.string().nullable().describe("Where a prompt of the task names one of the words."),
});
export type TaskHit = z.infer<typeof taskHitSchema>;

export const entryHitSchema = z.object({
  slug: z.string(),
  kind: z.enum(entryKinds),
  model: z.string(),
  agent: z.string().nullable(),
  agentVersion: z.string().nullable(),
  reasoningEffort: z.string().nullable(),
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
  suites: z.array(z.string()).describe("Titles and versions of the suites that it has a published submission on."),
});
export type EntryHit = z.infer<typeof entryHitSchema>;

/** Of a hidden probe as of every test: its id, kind and property. */
export const testHitSchema = z.object({
  ...taskPlace,
  id: z.string(),
  kind: z.enum(testKinds),
  property: z.enum(properties),
});
export type TestHit = z.infer<typeof testHitSchema>;

export const documentHitSchema = z.object({ href: z.string(), title: z.string(), summary: z.string() });
export type DocumentHit = z.infer<typeof documentHitSchema>;

export const searchAnswerSchema = z.object({
  query: z.string().describe("The query as it was read: one line, cut at 100 characters."),
  words: z.array(z.string()).describe("The words looked for; a hit has every one, or a longer word that begins so."),
  entries: group(entryHitSchema),
  tasks: group(taskHitSchema),
  tests: group(testHitSchema),
  documents: group(documentHitSchema),
});
export type SearchAnswer = z.infer<typeof searchAnswerSchema>;
