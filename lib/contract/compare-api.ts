import { z } from "zod";
import { boardRowSchema, boardSchema } from "./api";
import { slugSchema, suiteVersionSchema } from "./scalars";
import { categories, promptConditions, taskTypes, taskVerdicts } from "./vocabulary";

/** Query of a comparison, as its page spells it too. */
export const compareQuerySchema = z.object({
  a: slugSchema.optional().describe("Slug of the first entry; without both entries, pairs worth a look are listed."),
  b: slugSchema.optional().describe("Slug of the second entry."),
  suite: slugSchema.optional().describe("The suite; the first one that both entries ran by default."),
  version: suiteVersionSchema.optional().describe("Its version; the newest that both ran by default."),
});

/** Figures of an agent's run that are compared task by task. */
export const deltaMetrics = ["time", "cost", "tokens", "steps"] as const;
export type DeltaMetric = (typeof deltaMetrics)[number];

/** Who resolves a task; of several attempts, who resolves it more often. */
const taskGroups = ["only-a", "only-b", "both", "neither"] as const;
export type TaskGroup = (typeof taskGroups)[number];

const comparedEntrySchema = boardRowSchema.shape.entry.extend({
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
});
export type ComparedEntry = z.infer<typeof comparedEntrySchema>;

/** A paired test of two entries, with all that the data say about its p-value. */
const pairedTestSchema = z.object({
  method: z.enum(["mcnemar", "sign-flip", "bounds"]),
  /** Tasks by who resolves them; null where one side has no per-task data. */
  counts: z.object({ both: z.int(), onlyA: z.int(), onlyB: z.int(), neither: z.int() }).nullable(),
  /** Smallest and largest p-value that the data allow, looked at alone; equal where the data determine it. */
  p: z.tuple([z.number(), z.number()]),
  /** The same after Holm's adjustment over the pairs of the board; null where the two are not ranked on one board. */
  adjusted: z.object({ p: z.tuple([z.number(), z.number()]), pairs: z.int() }).nullable(),
  /** By the adjusted p-value where there is one, else by the raw one. */
  verdict: z.enum(["separated", "not-separated", "cannot-tell"]),
});
export type PairedTest = z.infer<typeof pairedTestSchema>;

const comparedCellSchema = z.object({
  verdict: z.enum(taskVerdicts),
  /** Means over attempts, 0 to 1. */
  score: z.number(),
  officialScore: z.number(),
  requiredPassed: z.int().nullable(),
  requiredTotal: z.int().nullable(),
  /** Whether there is an attempt to look at. */
  attempted: z.boolean(),
  /** Means over attempts of the agent's run; null where it is not stated. */
  timeMin: z.number().nullable(),
  costUsd: z.number().nullable(),
  tokensM: z.number().nullable(),
  steps: z.number().nullable(),
});
export type ComparedCell = z.infer<typeof comparedCellSchema>;

const comparedTaskSchema = z.object({
  task: z.string(),
  title: z.string(),
  category: z.enum(categories),
  type: z.enum(taskTypes),
  group: z.enum(taskGroups),
  a: comparedCellSchema,
  b: comparedCellSchema,
});
export type ComparedTask = z.infer<typeof comparedTaskSchema>;

const comparedSideSchema = z.object({
  row: boardRowSchema.omit({ tasks: true }),
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
});
export type ComparedSide = z.infer<typeof comparedSideSchema>;

/** Two entries on one suite version, task by task as far as the data go. */
const comparisonSchema = z.object({
  a: comparedSideSchema,
  b: comparedSideSchema,
  /** Of all required tests. */
  test: pairedTestSchema,
  /** Of the official tests alone; null without per-task data on both sides. */
  officialTest: pairedTestSchema.nullable(),
  /** Counts per category where one side has counts only: how many tasks both can have resolved at least and at most. */
  strata: z
    .array(
      z.object({
        category: z.enum(categories),
        total: z.int(),
        a: z.int(),
        b: z.int(),
        bothLeast: z.int(),
        bothMost: z.int(),
      }),
    )
    .nullable(),
  /** In the suite's order; null without per-task data on both sides. */
  tasks: z.array(comparedTaskSchema).nullable(),
  /** A minus B. Over the tasks that have the figure on both sides; without any, of the rows' means, without an interval. */
  deltas: z.array(
    z.object({
      metric: z.enum(deltaMetrics),
      tasks: z.int(),
      a: z.number(),
      b: z.number(),
      difference: z.number(),
      /** Bootstrap 95 % interval over the tasks. */
      interval: z.tuple([z.number(), z.number()]).nullable(),
    }),
  ),
  /** Attempts with at least one failing case of the type; null without per-task data on both sides. */
  failures: z
    .array(z.object({ class: z.string(), type: z.string(), title: z.string(), a: z.int(), b: z.int() }))
    .nullable(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

/** Why a pair is worth a look. */
const pairReasons = ["neighbours", "ends", "separated", "open", "skill", "condition", "reference", "chosen"] as const;
export type PairReason = (typeof pairReasons)[number];

const suggestedPairSchema = z.object({
  a: comparedEntrySchema,
  b: comparedEntrySchema,
  reason: z.enum(pairReasons),
  test: pairedTestSchema,
});
export type SuggestedPair = z.infer<typeof suggestedPairSchema>;

const ranEntrySchema = z.object({
  entry: comparedEntrySchema,
  /** Suite versions on which it has a published row. */
  suites: z.array(z.object({ slug: z.string(), version: z.string(), title: z.string() })),
});
export type RanEntry = z.infer<typeof ranEntrySchema>;

/** `GET /api/v1/compare`. */
export const compareAnswerSchema = z.object({
  /** `pairs`: an entry is still to choose; `same`: one entry twice; `apart`: no suite version has both. */
  state: z.enum(["pairs", "same", "apart", "compared"]),
  suite: boardSchema.shape.suite.omit({ tasks: true }),
  a: comparedEntrySchema.nullable(),
  b: comparedEntrySchema.nullable(),
  /** What can be chosen on this suite version: ranked entries best first, provisional ones, reference sets. */
  entries: z.array(comparedEntrySchema.extend({ provisional: z.boolean(), resolvedPct: z.number() })),
  /** Pairs worth a look; none beside a comparison. */
  pairs: z.array(suggestedPairSchema),
  /** Where the two chosen entries ran, if apart. */
  ran: z.object({ a: ranEntrySchema, b: ranEntrySchema }).nullable(),
  comparison: comparisonSchema.nullable(),
});
export type CompareAnswer = z.infer<typeof compareAnswerSchema>;
