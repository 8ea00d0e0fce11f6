import { z } from "zod";
import { boardRowSchema, boardSchema, shareSchema } from "./api";
import { interfacesFileSchema, manifestTestSchema } from "./task";
import { categories, promptConditions, properties, taskTypes, taskVerdicts, testKinds, tiers } from "./vocabulary";

/** What the ranked entries made of a task, over every board of the suite version. */
export const taskSolvingSchema = z.object({
  /** Ranked entries with per-task data; one without a grading of this task has not resolved it. */
  entries: z.int(),
  /** Share of these entries that resolve the task, means over attempts; null without entries. */
  resolved: shareSchema.nullable(),
  /** The same with official tests alone. */
  officialResolved: shareSchema.nullable(),
  /** Correlation of the task's score with the entry's mean over all other tasks, -1 to 1; null where none is defined. */
  discrimination: z.number().nullable(),
  /** The only ranked entry of several that resolves the task in any attempt; null where none or more do. */
  onlyBy: z.object({ slug: z.string(), model: z.string(), submissionId: z.uuid() }).nullable(),
});
export type TaskSolving = z.infer<typeof taskSolvingSchema>;

/** What one entry's shown submission made of one task. */
export const taskResultSchema = z.object({
  submissionId: z.uuid(),
  /** Whether the submission holds an attempt at the task, graded or not. */
  attempted: z.boolean(),
  entry: boardRowSchema.shape.entry,
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
  organization: z.string(),
  tier: z.enum(tiers),
  /** Shown and unranked: gradings are under way, or a host's fault awaits its rerun. */
  provisional: z.boolean(),
  /** Of the best attempt. */
  verdict: z.enum(taskVerdicts),
  /** Mean of resolved over the attempts, 0 to 1. */
  score: z.number(),
  requiredPassed: z.int().nullable(),
  requiredTotal: z.int().nullable(),
});
export type TaskResult = z.infer<typeof taskResultSchema>;

export const taskListItemSchema = z.object({
  slug: z.string(),
  title: z.string(),
  repo: z.string(),
  category: z.enum(categories),
  type: z.enum(taskTypes),
  /** GPUs and ranks of the standard launch. */
  gpus: z.int(),
  ranks: z.int(),
  /** Required official tests. */
  officialTests: z.int(),
  /** Required probes, and how many of them check which property. */
  probes: z.int(),
  probesByProperty: z.array(z.object({ property: z.enum(properties), count: z.int() })),
  solving: taskSolvingSchema,
  /** Gold, nop and mutants. */
  references: z.array(z.object({ submissionId: z.uuid(), name: z.string(), verdict: z.enum(taskVerdicts) })),
});
export type TaskListItem = z.infer<typeof taskListItemSchema>;

/** Tasks of a suite version in its order; none where a suite is known from a publication only. */
export const taskListSchema = z.object({
  suite: boardSchema.shape.suite.omit({ tasks: true }),
  /** Ranked entries with per-task data. */
  entries: z.int(),
  /** Their slugs, in no order. */
  ranked: z.array(z.string()),
  tasks: z.array(taskListItemSchema),
});
export type TaskList = z.infer<typeof taskListSchema>;

/** A test of a task. Of a hidden probe: id, property and whether it is required; everything else is null. */
export const taskTestSchema = z.object({
  id: z.string(),
  kind: z.enum(testKinds),
  property: z.enum(properties),
  required: z.boolean(),
  hidden: z.boolean(),
  expectation: manifestTestSchema.shape.expectation.nullable(),
  condition: z.string().nullable(),
  ranks: manifestTestSchema.shape.ranks.nullable(),
  needs: manifestTestSchema.shape.needs.nullable(),
  notRequiredReason: z.string().nullable(),
  requirement: z.string().nullable(),
  limit: manifestTestSchema.shape.limit,
  /** Ranked entries that pass it, in any of their attempts. */
  passedBy: z.int(),
  /** Reference sets by name, with whether they pass it; those without a grading are left out. */
  references: z.array(z.object({ name: z.string(), passed: z.boolean() })),
});
export type TaskTest = z.infer<typeof taskTestSchema>;

/** One task of a suite version. */
export const taskDetailSchema = z.object({
  suite: boardSchema.shape.suite.pick({ slug: true, version: true, title: true, probes: true, taskCount: true }),
  task: taskListItemSchema
    .pick({ slug: true, title: true, repo: true, category: true, type: true, gpus: true, ranks: true })
    .extend({
      baseCommit: z.string().nullable(),
      baseTree: z.string(),
      gradingDigest: z.string(),
      protectedPaths: z.array(z.string()),
    }),
  prompts: z.array(
    z.object({
      condition: z.enum(promptConditions),
      isDefault: z.boolean(),
      /** sha256 of the text that an agent gets. */
      digest: z.string(),
      /** Null where the text is upstream's own, which is read from `source`. */
      text: z.string().nullable(),
      source: z.string().nullable(),
    }),
  ),
  interfaces: interfacesFileSchema,
  tests: z.array(taskTestSchema),
  solving: taskSolvingSchema,
  /** Ranked entries and provisional ones. */
  results: z.array(taskResultSchema),
  references: z.array(taskResultSchema),
});
export type TaskDetail = z.infer<typeof taskDetailSchema>;
