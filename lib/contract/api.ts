import { z } from "zod";
import { candidateSchema, dsseEnvelopeSchema } from "./bundle";
import { logRecordSchema } from "./log";
import { guardSchema, hostFactsSchema, launchSchema, summarySchema, testOutcomeSchema } from "./result";
import { manifestTestSchema, suiteStandardSchema } from "./task";
import { keptTrajectorySchema } from "./trajectory";
import {
  boardColumns,
  boardTests,
  categories,
  entryKinds,
  executors,
  gradingStatuses,
  jobStates,
  paretoAxes,
  probesVisibilities,
  promptConditions,
  sortDirections,
  sortKeys,
  taskChoices,
  taskTypes,
  taskVerdicts,
  tiers,
} from "./vocabulary";

/** A share as counts, so that every reader can recompute it; `null` counts mean that only the percentage was published. */
export const shareSchema = z.object({
  resolved: z.int().nullable(),
  total: z.int(),
  /** Per cent, unrounded where counts are known, as published otherwise. */
  pct: z.number(),
  /** Wilson 95 % interval in per cent, null without counts. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});
export type Share = z.infer<typeof shareSchema>;

export const taskCellSchema = z.object({
  task: z.string(),
  category: z.enum(categories),
  verdict: z.enum(taskVerdicts),
  /** Means over the task's attempts of `resolved` and of `official resolved`, 0 to 1. */
  score: z.number(),
  officialScore: z.number(),
  requiredPassed: z.int().nullable(),
  requiredTotal: z.int().nullable(),
  /** Null where the task has no grading. */
  status: z.enum(gradingStatuses).nullable(),
});
export type TaskCell = z.infer<typeof taskCellSchema>;

export const boardRowSchema = z.object({
  entry: z.object({
    slug: z.string(),
    kind: z.enum(entryKinds),
    model: z.string(),
    agent: z.string().nullable(),
    agentVersion: z.string().nullable(),
    reasoningEffort: z.string().nullable(),
    networkPolicy: z.string(),
    /** Limits of the agent's run, null where not stated. Absent: not stated at all. */
    budget: candidateSchema.shape.budget.optional(),
  }),
  submissionId: z.uuid(),
  organization: z.string(),
  tier: z.enum(tiers),
  /** An `infra` grading that no rerun replaced: shown, marked, unranked. */
  provisional: z.boolean(),
  /** `[best, worst]` of the rank set; null for reference and provisional rows. */
  rankSet: z.tuple([z.int(), z.int()]).nullable(),
  resolved: shareSchema,
  /** Null where the source does not say. */
  officialResolved: shareSchema.nullable(),
  /** The rank set by official tests alone, among the ranked rows that state them; null for every other row. */
  officialRankSet: z.tuple([z.int(), z.int()]).nullable(),
  /** Of the attempts that pass every official test, those that the probes reject. */
  probeRejected: z.object({ rejected: z.int(), officialResolved: z.int() }).nullable(),
  passedPct: z.number().nullable(),
  byCategory: z.array(z.object({ category: z.enum(categories), share: shareSchema })),
  /** The same with official tests alone; null where the source does not say. */
  officialByCategory: z.array(z.object({ category: z.enum(categories), share: shareSchema })).nullable(),
  timeMin: z.number().nullable(),
  costUsd: z.number().nullable(),
  tokensM: z.number().nullable(),
  steps: z.number().nullable(),
  /** Per-task verdicts in the suite's order; null for rows without per-task data. */
  tasks: z.array(taskCellSchema).nullable(),
  footnotes: z.array(z.string()),
  /** Tasks without a grading. */
  missing: z.int(),
  date: z.string(),
});
export type BoardRow = z.infer<typeof boardRowSchema>;

/** Most pairs that a board lists. With more, those that say most stand: told apart first, smallest p first. */
export const listedPairsMax = 1225;

const pairSchema = z.object({
  a: z.string(),
  b: z.string(),
  method: z.enum(["mcnemar", "sign-flip", "bounds"]),
  /** What can be said: separated, not separated, or not to be told from published counts. */
  verdict: z.enum(["separated", "not-separated", "cannot-tell"]),
  p: z.number().nullable(),
  pAdjusted: z.number().nullable(),
});

const rankingSchema = z.object({
  /** Pairwise facts behind the rank sets: every pair of at most 1225, else the 1225 that say most. */
  pairs: z.array(pairSchema),
  /** All pairs of ranked rows by what can be said, whether listed or not. */
  pairCounts: z.object({ all: z.int(), separated: z.int(), cannotTell: z.int(), notSeparated: z.int() }),
  /** Tasks that one of two entries must win, none lost, to be told apart on this board. */
  power: z.object({ pairs: z.int(), winsNeeded: z.int().nullable(), winsNeededSinglePair: z.int() }),
});

export const boardSchema = z.object({
  suite: z.object({
    slug: z.string(),
    version: z.string(),
    title: z.string(),
    summary: z.string(),
    probes: z.enum(probesVisibilities),
    taskCount: z.int(),
    categoryCounts: z.array(z.object({ category: z.enum(categories), count: z.int() })),
    tasks: z.array(
      z.object({ slug: z.string(), title: z.string(), category: z.enum(categories), type: z.enum(taskTypes) }),
    ),
    citation: z.object({ title: z.string(), url: z.string(), published: z.string(), extent: z.string() }).nullable(),
    /** The configuration that its rows are meant to share; absent where the suite states none. */
    standard: suiteStandardSchema.optional(),
  }),
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
  /** Ranked rows, then provisional ones; order by % resolved. */
  rows: z.array(boardRowSchema),
  /** Reference patch sets: gold, nop, mutants. Apart, unranked. */
  references: z.array(boardRowSchema),
  notes: z.record(z.string(), z.string()),
  ...rankingSchema.shape,
  /** The ranking by official tests alone; null where no ranked row states them. */
  official: rankingSchema.nullable(),
});
export type Board = z.infer<typeof boardSchema>;
export type BoardRanking = z.infer<typeof rankingSchema>;

/**
 * `GET /api/v1/board`: a board in one of its views. `rows` are those that its filters let through, in its order; every
 * other figure is of the whole board.
 */
export const boardAnswerSchema = boardSchema.extend({
  view: z.object({
    category: z.enum(categories).nullable(),
    tests: z.enum(boardTests),
    sort: z.enum(sortKeys),
    direction: z.enum(sortDirections),
    pareto: z.enum(paretoAxes).nullable(),
    matrix: z.enum(taskChoices).nullable(),
    /** Of the table. */
    columns: z.array(z.enum(boardColumns)),
    /** Query parameters of the filters that are set. */
    filters: z.record(z.string(), z.string()),
    /** Rows that the filters hide, and rows that do not state what the view ranks by. */
    hidden: z.int(),
    unstated: z.int(),
  }),
  /** The rows, then the reference sets, cell by cell under `columns`: what the CSV holds. Numbers are unrounded. */
  table: z.object({
    columns: z.array(
      z.object({ key: z.string(), label: z.string(), unit: z.string().nullable(), meaning: z.string() }),
    ),
    rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
  }),
  /** Null in the table's views. */
  pareto: z
    .object({
      axis: z.enum(paretoAxes),
      summary: z.string(),
      points: z.array(
        z.object({
          submissionId: z.uuid(),
          x: z.number(),
          y: z.number(),
          frontier: z.boolean(),
          dominatedBy: z.uuid().nullable(),
        }),
      ),
      /** Ranked rows whose source does not state the figure. */
      withoutFigure: z.array(z.uuid()),
    })
    .nullable(),
  /** The tasks of the matrix in its order; the rows' own `tasks` hold its cells. Null in other views. */
  matrix: z
    .object({
      /** Entries with per-task data, which solve rates are over. */
      entries: z.int(),
      tasks: z.array(z.object({ task: z.string(), resolvedBy: z.number() })),
      /** Tasks that the choice leaves out. */
      hiddenTasks: z.int(),
    })
    .nullable(),
});
export type BoardAnswer = z.infer<typeof boardAnswerSchema>;

/** `GET /api/v1/suites`: every suite version in the order of pickers. */
export const suitesAnswerSchema = z.object({
  suites: z.array(
    z.object({
      slug: z.string(),
      version: z.string(),
      title: z.string(),
      summary: z.string(),
      probes: z.enum(probesVisibilities),
      taskCount: z.int(),
      categoryCounts: z.array(z.object({ category: z.enum(categories), count: z.int() })),
      /** Known from a publication only: no tasks of its own here. */
      reported: z.boolean(),
      /** Boards that have a published row. */
      boards: z.array(z.object({ promptCondition: z.enum(promptConditions), skill: z.string().nullable() })),
    }),
  ),
});

/** `GET /api/v1/published`: publications with their tables as printed. */
export const publishedAnswerSchema = z.object({
  publications: z.array(
    z.object({
      source: z.object({
        key: z.string(),
        title: z.string(),
        url: z.string(),
        published: z.string(),
        extent: z.string(),
      }),
      tables: z.array(
        z.object({
          key: z.string(),
          title: z.string(),
          repository: z.string().nullable(),
          /** Rows that the copy lacks. */
          missing: z.array(z.string()),
          note: z.string().nullable(),
          columns: z.array(z.object({ key: z.string(), unit: z.string() })),
          rows: z.array(
            z.object({
              key: z.string(),
              label: z.string(),
              footnote: z.string().nullable(),
              cells: z.record(z.string(), z.object({ value: z.number(), printed: z.string(), unit: z.string() })),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** `GET /api/v1/log`: records of the append-only log, parsed; the bytes that were hashed are in the log's tiles. */
export const logAnswerSchema = z.object({
  /** Records that the log has. */
  size: z.int(),
  records: z.array(z.object({ index: z.int(), record: logRecordSchema })),
});

/** `GET /api/v1/submissions/{id}/{task}/log`: the next piece of a running grading's log. */
export const liveLogAnswerSchema = z.object({
  state: z.enum(jobStates),
  progress: z.string().nullable(),
  text: z.string(),
  /** Where to ask for the next piece. */
  offset: z.int(),
});

export const gradingSummarySchema = z.object({
  id: z.uuid(),
  status: z.enum(gradingStatuses),
  reason: z.object({ code: z.string(), message: z.string(), evidence: z.array(z.string()) }).nullable(),
  tier: z.enum(tiers),
  executor: z.enum(executors),
  sandboxed: z.boolean(),
  counts: z.boolean(),
  late: z.boolean(),
  startedAt: z.string(),
  durationMs: z.number(),
  receivedAt: z.string(),
  summary: summarySchema,
  bundleSha256: z.string(),
  bundleBytes: z.int(),
  keyid: z.string(),
});

export const submissionDetailSchema = z.object({
  id: z.uuid(),
  suite: z.object({ slug: z.string(), version: z.string(), title: z.string() }),
  organization: z.string(),
  candidate: candidateSchema.omit({ promptDigest: true }),
  entrySlug: z.string(),
  tier: z.enum(tiers),
  provisional: z.boolean(),
  createdAt: z.string(),
  source: z.object({ title: z.string(), url: z.string() }).nullable(),
  footnotes: z.array(z.string()),
  row: boardRowSchema,
  attempts: z.array(
    z.object({
      id: z.uuid(),
      task: z.string(),
      taskTitle: z.string(),
      category: z.enum(categories),
      label: z.string().nullable(),
      patchSha256: z.string(),
      patchBytes: z.int(),
      verdict: z.enum(taskVerdicts),
      jobState: z.string().nullable(),
      grading: gradingSummarySchema.nullable(),
    }),
  ),
});
export type SubmissionDetail = z.infer<typeof submissionDetailSchema>;

export const attemptDetailSchema = z.object({
  submission: submissionDetailSchema.omit({ attempts: true, row: true }),
  attempt: z.object({
    id: z.uuid(),
    label: z.string().nullable(),
    patch: z.string(),
    patchSha256: z.string(),
    patchTruncated: z.boolean(),
    /** What the agent did, where it came with the attempt; its steps are at `/api/v1/attempts/{id}/trajectory`. */
    trajectory: keptTrajectorySchema.nullable(),
  }),
  task: z.object({
    slug: z.string(),
    title: z.string(),
    repo: z.string(),
    category: z.enum(categories),
    type: z.enum(taskTypes),
    probes: z.enum(probesVisibilities),
  }),
  manifestTests: z.array(manifestTestSchema),
  grading: gradingSummarySchema.nullable(),
  otherGradings: z.array(gradingSummarySchema),
  /** Hidden probes are redacted: id, property and verdict only. */
  tests: z.array(testOutcomeSchema),
  launches: z.array(launchSchema),
  host: hostFactsSchema.nullable(),
  guard: guardSchema.nullable(),
  /** Per launch and rank log files: path in the bundle, bytes. */
  logs: z.array(
    z.object({
      path: z.string(),
      launch: z.int(),
      rank: z.int(),
      stream: z.enum(["stdout", "stderr"]),
      bytes: z.int(),
      sha256: z.string(),
    }),
  ),
  receipt: dsseEnvelopeSchema.nullable(),
});
export type AttemptDetail = z.infer<typeof attemptDetailSchema>;
