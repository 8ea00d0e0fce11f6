import { z } from "zod";
import { boardRowSchema, boardSchema, shareSchema, submissionDetailSchema } from "./api";
import { slugSchema, suiteVersionSchema } from "./scalars";
import { categories, executors, gradingStatuses, promptConditions, taskTypes, taskVerdicts, tiers } from "./vocabulary";

/** `GET /api/v1/entries`. */
export const entryListQuerySchema = z.object({
  suite: slugSchema.optional().describe("Only entries that stand on this suite; every entry by default."),
  version: suiteVersionSchema.optional().describe("Only on this version of the suite; any by default."),
});

const suiteNameSchema = boardSchema.shape.suite.pick({ slug: true, version: true, title: true });

/** Entries with a published submission, models first, by name. */
export const entryListSchema = z.object({
  entries: z.array(
    z.object({
      entry: boardRowSchema.shape.entry,
      promptCondition: z.enum(promptConditions),
      skill: z.string().nullable(),
      /** Suite versions that it stands on, each with the submission that counts there. */
      suites: z.array(
        suiteNameSchema.extend({
          submissionId: z.uuid(),
          tier: z.enum(tiers),
          provisional: z.boolean(),
          resolvedPct: z.number(),
          taskCount: z.int(),
        }),
      ),
    }),
  ),
});
export type EntryList = z.infer<typeof entryListSchema>;

/** One way in which an entry differs from its suite's standard. */
export const customReasonSchema = z.object({
  part: z.enum(["prompt", "skill", "network", "time", "cost", "tokens", "steps"]),
  stated: z.string(),
  standard: z.string(),
});
export type CustomReason = z.infer<typeof customReasonSchema>;

export const entryFigureKeys = [
  "resolved",
  "official",
  "rejected",
  "passed",
  "time",
  "cost",
  "tokens",
  "steps",
] as const;

/** A figure of the row with its 95 % interval, where the data allow one. */
export const entryFigureSchema = z.object({
  key: z.enum(entryFigureKeys),
  /** Per cent for shares; else minutes, US dollars, million tokens, turns: means per task. */
  value: z.number(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
  /** `wilson` for counts of yes and no, `bootstrap` over tasks for means and pooled shares; null without per-task data. */
  method: z.enum(["wilson", "bootstrap"]).nullable(),
  /** Tasks that the figure is over, and how many of the suite's. */
  tasks: z.int().nullable(),
});
export type EntryFigure = z.infer<typeof entryFigureSchema>;

/** One try at a task as its counting grading left it. */
export const entryAttemptSchema = z.object({
  ordinal: z.int(),
  verdict: z.enum(taskVerdicts),
  /** Null without a grading that counts. */
  gradingId: z.uuid().nullable(),
  status: z.enum(gradingStatuses).nullable(),
  tier: z.enum(tiers).nullable(),
  requiredPassed: z.int().nullable(),
  requiredTotal: z.int().nullable(),
  timeMin: z.number().nullable(),
  costUsd: z.number().nullable(),
  tokensM: z.number().nullable(),
  steps: z.number().nullable(),
});
export type EntryAttempt = z.infer<typeof entryAttemptSchema>;

export const entryTaskSchema = z.object({
  task: z.string(),
  title: z.string(),
  category: z.enum(categories),
  type: z.enum(taskTypes),
  /** Of the best attempt. */
  verdict: z.enum(taskVerdicts),
  /** Mean of resolved over the attempts, 0 to 1. */
  score: z.number(),
  /** In their order; none where the task was not attempted. */
  attempts: z.array(entryAttemptSchema),
});
export type EntryTask = z.infer<typeof entryTaskSchema>;

const sampledShareSchema = z.object({
  /** Per cent of the suite's tasks. */
  pct: z.number(),
  /** Seeded bootstrap over tasks, 95 %. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

/** What an entry's submission that counts on one suite version shows. */
export const entryStandingSchema = z.object({
  suite: boardSchema.shape.suite.omit({ tasks: true, citation: true }),
  /** Ranked rows of its board. */
  ranked: z.int(),
  /** The row as its board shows it; null while nothing is graded. */
  row: boardRowSchema.nullable(),
  /** Entries beside it on its board: at most two above and two below. */
  neighbours: z.array(boardRowSchema.shape.entry.pick({ slug: true, model: true })),
  custom: z.array(customReasonSchema),
  figures: z.array(entryFigureSchema),
  /** The suite's tasks; null where no per-task data was published. */
  tasks: z.array(entryTaskSchema).nullable(),
  /** pass@k and pass^k for each k up to the fewest attempts that an attempted task has; null where that is one. */
  repeats: z
    .object({
      fewest: z.int(),
      most: z.int(),
      byK: z.array(z.object({ k: z.int(), passAt: sampledShareSchema, passHat: sampledShareSchema })),
    })
    .nullable(),
  /** Attempts with at least one failing case of each type; an attempt may count under several types. */
  failures: z
    .object({
      /** Attempts whose counting grading judges them. */
      judged: z.int(),
      /** Of these, the attempts with a failure. */
      failing: z.int(),
      types: z.array(
        z.object({
          class: z.string(),
          type: z.string(),
          title: z.string(),
          /** Distinct attempts, and their share of the failing ones. */
          attempts: z.int(),
          share: shareSchema,
        }),
      ),
    })
    .nullable(),
  /** How the counting gradings were made; null where there is none. */
  made: z
    .object({
      gradings: z.int(),
      firstStartedAt: z.string(),
      lastFinishedAt: z.string(),
      runnerVersions: z.array(z.string()),
      executors: z.array(z.object({ executor: z.enum(executors), sandboxed: z.boolean(), gradings: z.int() })),
      /** Hardware as the hosts state it; GPUs where a host has any, else its CPU. */
      hosts: z.array(z.object({ hardware: z.string(), gradings: z.int() })),
      /** Organizations that operate these hosts; none where the vendor graded. */
      operators: z.array(z.string()),
    })
    .nullable(),
  /** Where the figures were published, what it states of this entry, and what not; null for graded rows. */
  published: z
    .object({
      title: z.string(),
      url: z.string(),
      published: z.string(),
      extent: z.string(),
      footnotes: z.array(z.string()),
      stated: z.array(z.string()),
      notStated: z.array(z.string()),
      /** Figures as printed in the publication's tables, in print order. */
      tables: z.array(
        z.object({
          key: z.string(),
          title: z.string(),
          repository: z.string().nullable(),
          cells: z.array(z.object({ column: z.string(), printed: z.string(), unit: z.string() })),
        }),
      ),
    })
    .nullable(),
  /** Published submissions on this suite version, newest first. */
  submissions: z.array(
    z.object({
      id: z.uuid(),
      organization: z.string(),
      /** Null while nothing of it is graded. */
      tier: z.enum(tiers).nullable(),
      publishedAt: z.string(),
      attempts: z.int(),
      graded: z.int(),
      resolved: shareSchema.pick({ resolved: true, pct: true, total: true }).nullable(),
      provisional: z.boolean(),
      /** Whether it stands for the entry on the board, and by which rule. */
      counts: z.boolean(),
      why: z.string(),
    }),
  ),
});
export type EntryStanding = z.infer<typeof entryStandingSchema>;

/** `GET /api/v1/entries/{entry}`: one entry over every suite version that it stands on. */
export const entryDetailSchema = z.object({
  slug: z.string(),
  candidate: submissionDetailSchema.shape.candidate,
  standings: z.array(entryStandingSchema),
});
export type EntryDetail = z.infer<typeof entryDetailSchema>;
