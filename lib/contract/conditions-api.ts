import { z } from "zod";
import { boardRowSchema, boardSchema, shareSchema } from "./api";
import { compareAnswerSchema } from "./compare-api";
import { promptConditions, tiers } from "./vocabulary";

const comparisonSchema = compareAnswerSchema.shape.comparison.unwrap();

/** What two entries of a pair differ in; in everything else they are the same. */
export const conditionDifferences = ["prompt", "skill"] as const;
export type ConditionDifference = (typeof conditionDifferences)[number];

const conditionSideSchema = z.object({
  slug: z.string(),
  submissionId: z.uuid(),
  tier: z.enum(tiers),
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
  resolved: shareSchema,
  officialResolved: shareSchema,
});
export type ConditionSide = z.infer<typeof conditionSideSchema>;

/** A mean over tasks of paired differences, in percentage points of the suite's tasks. */
const pointsSchema = z.object({
  points: z.number(),
  /** Seeded bootstrap over tasks, 95 %; null with a single task. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

/** One configuration graded twice on one suite version. Differences are `changed` minus `base`. */
export const conditionPairSchema = z.object({
  differs: z.enum(conditionDifferences),
  entry: boardRowSchema.shape.entry.omit({ slug: true, kind: true }),
  /** The interface prompt; no skill. */
  base: conditionSideSchema,
  /** The pull request's description; the skill. */
  changed: conditionSideSchema,
  resolved: pointsSchema,
  official: pointsSchema,
  /** Paired exact test of all required tests; side `a` is `changed`. */
  test: comparisonSchema.shape.test.pick({ method: true }).extend({
    counts: z.object({ both: z.int(), onlyBase: z.int(), onlyChanged: z.int(), neither: z.int() }),
    p: z.number(),
    /** Holm's adjustment over the suite version's pairs. */
    pAdjusted: z.number(),
  }),
  /** In the suite's order; side `a` is `changed`. */
  tasks: comparisonSchema.shape.tasks.unwrap(),
  /** Paired per-task differences of the agent's run, over the tasks that state the figure under both. */
  deltas: comparisonSchema.shape.deltas,
});
export type ConditionPair = z.infer<typeof conditionPairSchema>;

/** `GET /api/v1/conditions`: prompt conditions and skills, compared in pairs of gradings. */
export const conditionsAnswerSchema = z.object({
  suites: z.array(
    z.object({
      suite: boardSchema.shape.suite.pick({ slug: true, version: true, title: true, taskCount: true }),
      pairs: z.array(conditionPairSchema),
      /** Pairs of which a side is provisional: no test before its gradings are in. */
      waiting: z.int(),
    }),
  ),
  /** What publications state of prompt conditions and skills, as printed. Nothing here is recomputed. */
  published: z.array(
    z.object({
      differs: z.enum(conditionDifferences),
      statement: z.string(),
      printed: z.string(),
      unit: z.string(),
      title: z.string(),
      url: z.string(),
      /** The table that it stands in, on `/published`. */
      table: z.string(),
    }),
  ),
});
export type ConditionsAnswer = z.infer<typeof conditionsAnswerSchema>;
