import { z } from "zod";
import { boardRowSchema, boardSchema, publishedAnswerSchema } from "./api";
import { displayNameSchema, slugSchema, suiteVersionSchema } from "./scalars";
import { categories, entryKinds, promptConditions, properties } from "./vocabulary";

/** Query of what the probes reject, as its page spells it too. */
export const probesQuerySchema = z.object({
  suite: slugSchema.optional().describe("The suite; the first one whose tasks are published by default."),
  version: suiteVersionSchema.optional().describe("Its version; the newest by default."),
  condition: z.enum(promptConditions).optional().describe("The prompt condition; `interface` by default."),
  skill: displayNameSchema.optional().describe("Name of the skill; the board without a skill by default."),
});

const rejectionSchema = z.object({
  /** Attempts that pass every official test, and those of them that a probe rejects. */
  officialResolved: z.int(),
  rejected: z.int(),
});

/**
 * Rejection of one row's attempts, in per cent with a 95 % interval: Wilson's, or a bootstrap over tasks where one has
 * several attempts; nulls where none passes the official tests.
 */
const rejectedShareSchema = rejectionSchema.extend({
  pct: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

const probedRowSchema = boardRowSchema
  .pick({
    entry: true,
    submissionId: true,
    tier: true,
    provisional: true,
    rankSet: true,
    officialRankSet: true,
    resolved: true,
    officialResolved: true,
  })
  .extend({
    /** Null where the source does not state it. */
    rejected: rejectedShareSchema.nullable(),
  });
export type ProbedRow = z.infer<typeof probedRowSchema>;

/** Rejection pooled over rows, with a bootstrap 95 % interval over tasks in per cent. */
const pooledSchema = rejectedShareSchema.extend({ rows: z.int() });
export type PooledRejection = z.infer<typeof pooledSchema>;

const propertyCountsSchema = z.object({
  /** Rejected attempts with at least one failing probe of the property, and those that fail probes of no other. */
  attempts: z.int(),
  alone: z.int(),
});

const probedTaskSchema = z.object({
  task: z.string(),
  title: z.string(),
  category: z.enum(categories),
  ranked: rejectedShareSchema,
  references: rejectedShareSchema,
  /** Properties whose probes reject attempts at this task, by how many. */
  properties: z.array(z.object({ property: z.enum(properties), attempts: z.int() })),
  /** Submissions with a rejected attempt: ranked ones in the board's order, then reference sets. */
  rejected: z.array(z.object({ submissionId: z.uuid(), model: z.string(), kind: z.enum(entryKinds) })),
});
export type ProbedTask = z.infer<typeof probedTaskSchema>;

/** A publication's table of official tests against official tests and probes, as printed, apart from what is graded here. */
const publishedProbesSchema = z.object({
  source: publishedAnswerSchema.shape.publications.element.shape.source.pick({
    title: true,
    url: true,
    published: true,
  }),
  table: publishedAnswerSchema.shape.publications.element.shape.tables.element,
  /** Names of what the table lacks, by its keys. */
  missingNames: z.record(z.string(), z.string()),
  /** Counts behind the printed percentages; null where they do not determine them. */
  recomputed: rejectionSchema.extend({ rows: z.int(), tasks: z.int() }).nullable(),
  /** The share that the text states, per cent as printed; null where it states none. */
  statedPct: z.string().nullable(),
});
export type PublishedProbes = z.infer<typeof publishedProbesSchema>;

/** `GET /api/v1/probes`: what the probes of a board reject. */
export const probesAnswerSchema = z.object({
  suite: boardSchema.shape.suite.omit({ tasks: true }),
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
  /** Ranked rows by % resolved, then provisional ones. */
  rows: z.array(probedRowSchema),
  references: z.array(probedRowSchema),
  /** Over the ranked rows that have per-task data. */
  pooled: pooledSchema,
  /** Over the reference sets of wrong changes that every official test lets pass. */
  mutants: pooledSchema,
  properties: z.array(
    z.object({
      property: z.enum(properties),
      /** Required probes of the suite that check it, and tasks that have one. */
      probes: z.int(),
      tasks: z.int(),
      ranked: propertyCountsSchema,
      references: propertyCountsSchema,
    }),
  ),
  tasks: z.array(probedTaskSchema),
  published: z.array(publishedProbesSchema),
});
export type ProbesAnswer = z.infer<typeof probesAnswerSchema>;
