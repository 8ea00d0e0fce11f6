import { z } from "zod";
import { boardRowSchema, gradingSummarySchema } from "./api";
import {
  evidenceSpanSchema,
  frameSchema,
  launchSchema,
  rankOutcomeSchema,
  resourceSchema,
  usageSchema,
} from "./result";
import {
  displayNameSchema,
  printableSchema,
  sha256Schema,
  slugSchema,
  suiteVersionSchema,
  uuidSchema,
  wholeNumberSchema,
} from "./scalars";
import { testIdSchema } from "./task";
import {
  categories,
  confidences,
  entryKinds,
  gradingStatuses,
  outcomeStatuses,
  promptConditions,
  properties,
  taskTypes,
  testKinds,
} from "./vocabulary";

/** What failures are grouped by. */
export const failureGroupings = ["repository", "category", "entry", "model", "taskType", "condition", "suite"] as const;
export type FailureGrouping = (typeof failureGroupings)[number];

/** Rows on one page of a list of failures, and of clusters. */
export const failurePageSize = 50;

/** Most cases that the CSV holds; more are refused, never cut. */
export const failureCsvLimit = 100_000;

/** Type, and class, of what no rule decides and no person has labelled. */
export const unclassified = "unclassified";

/** Classes and types of the taxonomy in every version of it, and what no rule decides. */
export const failureClasses = ["structural", "behavioral", unclassified] as const;
export const failureTypes = [
  "execution-api",
  "shape-layout-dtype",
  "state-lifecycle",
  "resource",
  "condition-specific",
  "value",
  unclassified,
] as const;

/** One of these words; a string to those who read rows, since the taxonomy is data. */
const wordOf = (words: readonly string[]) =>
  z
    .string()
    .refine((word) => words.includes(word), `expected ${words.join(", ")}`)
    .meta({ enum: words });

/** Which failures: every filter that is left out lets everything through. */
export const failureFilterSchema = z.object({
  suite: slugSchema.optional().describe("The suite; every suite by default."),
  version: suiteVersionSchema
    .optional()
    .describe("Its version; by default that of the submission, and the newest of each suite where none is named."),
  entryKind: z
    .enum(entryKinds)
    .optional()
    .describe("Models' entries, or reference patch sets; models by default, reference sets where no model is graded."),
  repository: z
    .string()
    .max(200)
    .regex(/^[\w.-]+\/[\w.-]+$/, "expected owner/name")
    .optional()
    .describe("Repository of the task, owner/name."),
  category: z.enum(categories).optional().describe("Category of the task."),
  taskType: z.enum(taskTypes).optional().describe("Type of the task."),
  task: slugSchema.optional().describe("The task."),
  entry: slugSchema.optional().describe("The entry, by its slug."),
  model: displayNameSchema.optional().describe("The model, by its name."),
  condition: z.enum(promptConditions).optional().describe("The prompt condition."),
  submission: uuidSchema.optional().describe("The submission."),
  class: wordOf(failureClasses).optional().describe("Class of the failure."),
  type: wordOf(failureTypes).optional().describe("Type of the failure."),
  property: z.enum(properties).optional().describe("The property that the test declares."),
  kind: z.enum(testKinds).optional().describe("Official tests, or probes."),
  status: z.enum(outcomeStatuses).exclude(["passed"]).optional().describe("What the test did."),
  tag: printableSchema(80).min(1).optional().describe("A tag of the label, such as `oom`."),
  signature: sha256Schema.optional().describe("The cluster."),
  reviewed: z
    .enum(["yes", "no"])
    .optional()
    .describe("Whether the label that counts is a person's; the rule's counts where people disagree."),
});
export type FailureFilter = z.infer<typeof failureFilterSchema>;

/** Query of a list: a filter and a page of it. */
export const failureListQuerySchema = failureFilterSchema.extend({
  page: wholeNumberSchema(1, 999_999).optional().describe(`The page, ${failurePageSize} to a page; 1 by default.`),
});

const entrySchema = boardRowSchema.shape.entry.extend({
  promptCondition: z.enum(promptConditions),
  skill: z.string().nullable(),
});
export type FailureEntry = z.infer<typeof entrySchema>;

/** A class and type of the taxonomy, in its order. */
const taxonomyTypeSchema = z.object({ class: z.string(), type: z.string(), title: z.string(), meaning: z.string() });

/**
 * Distinct attempts with at least one failing case, and the cases. An attempt counts under every type that it has a case
 * of, so attempts of types do not add up to those of their class.
 */
const countSchema = z.object({ attempts: z.int(), cases: z.int() });

const typeCountSchema = countSchema.extend({ class: z.string(), type: z.string() });
const classCountSchema = countSchema.extend({
  class: z.string(),
  /** Attempts of this class as a share of the failing attempts, in per cent; null where none fails. */
  pct: z.number().nullable(),
  /** Wilson 95 % interval of that share, in per cent. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

const tallySchema = z.object({
  /** Attempts whose counting grading judges the candidate, whatever the filters on tests and labels say. */
  graded: z.int(),
  /** Of these, attempts with at least one case that the filter lets through. */
  failing: z.int(),
  cases: z.int(),
  /** Every class of the taxonomy in its order, then `unclassified` where there is a case of it. */
  classes: z.array(classCountSchema),
  /** Every type of the taxonomy in its order, then `unclassified` where there is a case of it. */
  types: z.array(typeCountSchema),
});
export type FailureTally = z.infer<typeof tallySchema>;

const failureGroupSchema = tallySchema.extend({
  /** Value of the filter of the same name. */
  key: z.string(),
  label: z.string(),
  /** The entry, where entries are grouped. */
  entry: entrySchema.nullable(),
});
export type FailureGroup = z.infer<typeof failureGroupSchema>;

/**
 * `GET /api/v1/failures/overview`: the counts of the paper's table 7 and figure 4, of the submissions that boards show.
 * The groups by `entry` are the heat table of type and entry.
 */
export const failureOverviewSchema = z.object({
  filter: failureFilterSchema,
  entryKind: z.enum(entryKinds),
  /** The suite versions that are counted, in the order of pickers. */
  suites: z.array(z.object({ slug: z.string(), version: z.string(), title: z.string() })),
  rulesVersion: z.string(),
  taxonomy: z.object({ version: z.string(), types: z.array(taxonomyTypeSchema) }),
  total: tallySchema,
  /** Attempts whose grading says nothing about the candidate's code, which the table leaves out. */
  leftOut: z.array(z.object({ status: z.enum(gradingStatuses), attempts: z.int() })),
  groups: z.record(z.enum(failureGroupings), z.array(failureGroupSchema)),
});
export type FailureOverview = z.infer<typeof failureOverviewSchema>;

/** Where the page of a failure stands: `/failures/<grading>/<test>`, the test by its number in the manifest, from 1. */
const failureAddressSchema = z.object({ grading: z.uuid(), test: z.int().min(1) });

const labelSchema = z.object({
  class: z.string(),
  type: z.string(),
  tags: z.array(z.string()),
  source: z.enum(["rule", "person"]),
  /** Null for a person's label. */
  rule: z.string().nullable(),
  rulesVersion: z.string().nullable(),
  confidence: z.enum(confidences).nullable(),
  /** What the label was read from; null where nothing says it, and for hidden probes. */
  evidence: evidenceSpanSchema.nullable(),
});
export type FailureLabel = z.infer<typeof labelSchema>;

/** One failing case, as lists show it. Of a hidden probe: id, property, kind, status, root rank and label only. */
export const failureRowSchema = z.object({
  address: failureAddressSchema,
  submissionId: z.uuid(),
  attemptId: z.uuid(),
  entry: entrySchema,
  suite: z.object({ slug: z.string(), version: z.string() }),
  task: z.object({
    slug: z.string(),
    title: z.string(),
    repository: z.string(),
    category: z.enum(categories),
    type: z.enum(taskTypes),
  }),
  test: z.object({
    id: testIdSchema,
    kind: z.enum(testKinds),
    property: z.enum(properties),
    /** A probe whose suite hides its probes. */
    hidden: z.boolean(),
  }),
  status: z.enum(outcomeStatuses),
  rootRank: z.int().nullable(),
  exceptionType: z.string().nullable(),
  /** First line of the message that says something, at most 300 characters. */
  line: z.string().nullable(),
  signature: z.string().nullable(),
  /** The label that counts: a person's, else the rule's. */
  label: labelSchema,
});
export type FailureRow = z.infer<typeof failureRowSchema>;

const pageSchema = z.object({ page: z.int(), pages: z.int(), pageSize: z.int(), total: z.int() });

/** `GET /api/v1/failures`: failing cases by suite, task, test and entry. */
export const failureListSchema = pageSchema.extend({
  filter: failureFilterSchema,
  entryKind: z.enum(entryKinds),
  failures: z.array(failureRowSchema),
});
export type FailureList = z.infer<typeof failureListSchema>;

/** What followed on other ranks once the root rank had failed, equal failures together. */
export const followedSchema = z.object({
  status: z.enum(outcomeStatuses),
  exceptionType: z.string().nullable(),
  line: z.string().nullable(),
  ranks: z.array(z.int()),
});
export type FollowedFailure = z.infer<typeof followedSchema>;

const clusterSizeSchema = z.object({
  signature: z.string(),
  cases: z.int(),
  attempts: z.int(),
  submissions: z.int(),
  entries: z.int(),
  tasks: z.int(),
});

/** Failures with the same root: one status, exception, folded message and in-project frames. */
export const failureClusterSchema = clusterSizeSchema.extend({
  status: z.enum(outcomeStatuses),
  exceptionType: z.string().nullable(),
  /** Labels of its members that count. */
  types: z.array(typeCountSchema),
  /** The newest member. */
  example: failureRowSchema,
  /** What followed the root on the example's other ranks. */
  followed: z.array(followedSchema),
});
export type FailureCluster = z.infer<typeof failureClusterSchema>;

/** `GET /api/v1/failures/clusters`: largest first. */
export const failureClusterListSchema = pageSchema.extend({
  filter: failureFilterSchema,
  entryKind: z.enum(entryKinds),
  /** Cases of hidden probes, which are in no cluster. */
  hiddenCases: z.int(),
  clusters: z.array(failureClusterSchema),
});
export type FailureClusterList = z.infer<typeof failureClusterListSchema>;

/** `GET /api/v1/failures/{grading}/{test}`: one failing case with everything behind it. */
export const failureDetailAnswerSchema = z.object({
  failure: failureRowSchema,
  grading: gradingSummarySchema.pick({
    id: true,
    status: true,
    tier: true,
    /** Whether it is the grading that counts for its attempt. */
    counts: true,
    late: true,
    startedAt: true,
    durationMs: true,
  }),
  /** Text of the requirement that the test enforces. */
  requirement: z.string().nullable(),
  message: z.string().nullable(),
  /** The exception's class and its bases. */
  mro: z.array(z.string()),
  frames: z.array(frameSchema),
  activeCheck: z.enum(properties).nullable(),
  /** Every rank's outcome of the test, with its failure; without failures where the probe is hidden. */
  ranks: z.array(rankOutcomeSchema),
  followed: z.array(followedSchema),
  resources: z.array(resourceSchema),
  usage: usageSchema.nullable(),
  /** The launches that the ranks' outcomes name, with their places in the result. */
  launches: z.array(launchSchema.extend({ index: z.int() })),
  /** Every label that it was ever given, newest first. */
  labels: z.array(
    labelSchema.extend({
      at: z.string(),
      effective: z.boolean(),
      /** Public name of the person; null for a rule's label. */
      person: z.string().nullable(),
      /** When the person took it back; it counts nowhere since. */
      withdrawnAt: z.string().nullable(),
    }),
  ),
  /** Null for a hidden probe. */
  cluster: clusterSizeSchema.extend({ elsewhere: z.array(failureRowSchema) }).nullable(),
  /** What the same test did for every entry that a board shows, passing ones too. */
  sameTest: z.array(
    z.object({
      entry: entrySchema,
      submissionId: z.uuid(),
      status: z.enum(outcomeStatuses).nullable(),
      /** Null where it passed or nothing graded it. */
      address: failureAddressSchema.nullable(),
      type: z.string().nullable(),
    }),
  ),
});
export type FailureDetailAnswer = z.infer<typeof failureDetailAnswerSchema>;
