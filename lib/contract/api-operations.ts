import { z } from "zod";
import {
  attemptDetailSchema,
  boardAnswerSchema,
  boardRowSchema,
  gradingSummarySchema,
  liveLogAnswerSchema,
  logAnswerSchema,
  publishedAnswerSchema,
  shareSchema,
  submissionDetailSchema,
  suitesAnswerSchema,
  taskCellSchema,
} from "./api";
import { dsseEnvelopeSchema, publishedKeysSchema } from "./bundle";
import { compareAnswerSchema, compareQuerySchema } from "./compare-api";
import { conditionPairSchema, conditionsAnswerSchema } from "./conditions-api";
import { entryDetailSchema, entryListQuerySchema, entryListSchema, entryStandingSchema } from "./entry-api";
import { problemResponseSchema } from "./errors";
import { evidenceResponseSchema } from "./evidence-api";
import {
  failureClusterListSchema,
  failureDetailAnswerSchema,
  failureFilterSchema,
  failureListQuerySchema,
  failureListSchema,
  failureOverviewSchema,
  failureRowSchema,
} from "./failures-api";
import { exportedLabelSchema, labelAgreementSchema } from "./labels-api";
import { logRecordSchema } from "./log";
import { logLinesAnswerSchema, logLinesQuerySchema } from "./log-lines";
import { probesAnswerSchema, probesQuerySchema } from "./probes-api";
import { hostFactsSchema, launchSchema, summarySchema, testOutcomeSchema } from "./result";
import {
  displayNameSchema,
  mostOffset,
  slugSchema,
  suiteVersionSchema,
  uuidSchema,
  wholeNumberSchema,
} from "./scalars";
import { searchAnswerSchema } from "./search-api";
import { selfTestsAnswerSchema } from "./self-tests-api";
import { manifestTestSchema } from "./task";
import { taskDetailSchema, taskListSchema } from "./task-api";
import { shownStepSchema, trajectoryAnswerSchema, trajectoryQuerySchema } from "./trajectory";
import { uploadAnnounceResponseSchema, uploadAnnounceSchema, uploadFinishResponseSchema } from "./upload";
import {
  boardColumns,
  boardTests,
  categories,
  paretoAxes,
  promptConditions,
  sortDirections,
  sortKeys,
  taskChoices,
  tiers,
} from "./vocabulary";

/** Most records that one answer of `GET /api/v1/log` holds. */
export const logPageSize = 1000;

/** Words of a list, joined by commas. */
const wordList = (words: readonly string[]) =>
  z.string().regex(new RegExp(`^(?:${words.join("|")})(?:,(?:${words.join("|")}))*$`), `expected ${words.join(", ")}`);

/** Parameters that are such lists: each word may also stand in a parameter of its own, as a form sends them. */
export const listParameters: readonly string[] = ["tier", "cols"];

/** Query of a board, as the board's page spells it too. The pages of a long board are the page's alone. */
export const boardQuerySchema = z.object({
  suite: slugSchema.optional().describe("The suite; the site's first one by default."),
  version: suiteVersionSchema.optional().describe("Its version; the newest by default."),
  condition: z.enum(promptConditions).optional().describe("The prompt condition; `interface` by default."),
  skill: displayNameSchema.optional().describe("Name of the skill; the board without a skill by default."),
  category: z.enum(categories).optional().describe("Order and Pareto points by this category's tasks."),
  sort: z.enum(sortKeys).optional().describe("What the rows are ordered by; `resolved` by default."),
  dir: z.enum(sortDirections).optional().describe("Direction; each column has its own by default."),
  tests: z.enum(boardTests).optional().describe("Order by all required tests (`all`, the default) or `official` ones."),
  model: displayNameSchema.optional().describe("Only models whose name contains this, in any case."),
  organization: displayNameSchema.optional().describe("Only rows of this organization."),
  agent: displayNameSchema.optional().describe("Only rows of this agent."),
  effort: displayNameSchema.optional().describe("Only rows of this reasoning effort."),
  tier: wordList(tiers).optional().describe("Only rows of these tiers, joined by commas or given once for each."),
  data: z.literal("per-task").optional().describe("Only rows with per-task data."),
  configuration: z
    .enum(["standard", "custom"])
    .optional()
    .describe("Only rows that keep to the suite's standard configuration, or that do not."),
  cols: wordList([...boardColumns, "none"])
    .optional()
    .describe(
      "Columns of the table beside rank, model and % resolved, joined by commas or given once for each; all by default.",
    ),
  view: z
    .enum(["table", "pareto", "matrix"])
    .optional()
    .describe("`pareto` adds the points of the Pareto view, `matrix` its tasks in order."),
  x: z.enum(paretoAxes).optional().describe("Figure of the Pareto view's x axis; `cost` by default."),
  tasks: z.enum(taskChoices).optional().describe("Tasks of the matrix: `all` by default."),
});

/** Offset in a file or in the log. */
const offsetSchema = wholeNumberSchema(0, mostOffset);

/** Query of the log. */
export const logQuerySchema = z.object({
  from: offsetSchema.optional().describe("Index of the first record; 0 by default."),
  limit: wholeNumberSchema(1, logPageSize)
    .optional()
    .describe(`Records at most; ${logPageSize} by default and at most.`),
});

/** Schemas that the document names; every other stands where it is used. */
export const namedSchemas = {
  BoardAnswer: boardAnswerSchema,
  BoardRow: boardRowSchema,
  Share: shareSchema,
  TaskCell: taskCellSchema,
  Suites: suitesAnswerSchema,
  Conditions: conditionsAnswerSchema,
  ConditionPair: conditionPairSchema,
  EntryList: entryListSchema,
  Entry: entryDetailSchema,
  EntryStanding: entryStandingSchema,
  Submission: submissionDetailSchema,
  Attempt: attemptDetailSchema,
  Grading: gradingSummarySchema,
  Summary: summarySchema,
  ManifestTest: manifestTestSchema,
  TestOutcome: testOutcomeSchema,
  Launch: launchSchema,
  HostFacts: hostFactsSchema,
  Comparison: compareAnswerSchema,
  Probes: probesAnswerSchema,
  TaskList: taskListSchema,
  Task: taskDetailSchema,
  FailureOverview: failureOverviewSchema,
  FailureList: failureListSchema,
  FailureRow: failureRowSchema,
  FailureClusters: failureClusterListSchema,
  Failure: failureDetailAnswerSchema,
  SelfTests: selfTestsAnswerSchema,
  Published: publishedAnswerSchema,
  SearchAnswer: searchAnswerSchema,
  Log: logAnswerSchema,
  LogRecord: logRecordSchema,
  LiveLog: liveLogAnswerSchema,
  Label: exportedLabelSchema,
  LabelAgreement: labelAgreementSchema,
  LogLines: logLinesAnswerSchema,
  Trajectory: trajectoryAnswerSchema,
  TrajectoryStep: shownStepSchema,
  Evidence: evidenceResponseSchema,
  Envelope: dsseEnvelopeSchema,
  PublishedKeys: publishedKeysSchema,
  UploadAnnouncement: uploadAnnounceSchema,
  UploadState: uploadAnnounceResponseSchema,
  UploadOffset: z.object({ offset: z.int(), complete: z.boolean() }),
  UploadResult: uploadFinishResponseSchema,
  Problem: problemResponseSchema,
} as const satisfies Record<string, z.ZodType>;
export type SchemaName = keyof typeof namedSchemas;

/** One operation of `/api/v1`: what it takes and what it answers. */
export interface ApiOperation {
  method: "get" | "post" | "patch";
  path: `/api/v1/${string}`;
  id: string;
  summary: string;
  /** By their names in the path. */
  pathParameters?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: SchemaName | "bytes";
  /** Media type of the answer, and its schema where it is JSON, of each line where it is JSON lines. */
  answer: { type: string; schema: SchemaName | null };
}

const json = (schema: SchemaName) => ({ type: "application/json", schema });
const submission = z.object({ id: uuidSchema.describe("The submission.") });
const attempt = submission.extend({ task: slugSchema.describe("The task.") });
const entryParameter = z.object({ entry: slugSchema.describe("Slug of the entry.") });
const grading = z.object({ id: uuidSchema.describe("The grading.") });
const trajectoryOwner = z.object({ id: uuidSchema.describe("The attempt, as its submission lists it.") });
const upload = z.object({ id: uuidSchema.describe("The upload, as announced.") });

/** Every operation of the public interface. A route without a line here fails a test. */
export const apiOperations: readonly ApiOperation[] = [
  {
    method: "get",
    path: "/api/v1/suites",
    id: "listSuites",
    summary: "Suite versions, with the boards that each has.",
    answer: json("Suites"),
  },
  {
    method: "get",
    path: "/api/v1/board",
    id: "getBoard",
    summary: "A board in one of its views: rows with rank sets and intervals, pairwise tests, reference sets.",
    query: boardQuerySchema,
    answer: json("BoardAnswer"),
  },
  {
    method: "get",
    path: "/api/v1/board.csv",
    id: "getBoardAsCsv",
    summary: "The same rows and columns as CSV, numbers unrounded.",
    query: boardQuerySchema,
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/board.md",
    id: "getBoardAsMarkdown",
    summary: "The board as a Markdown table, rounded as on the page.",
    query: boardQuerySchema,
    answer: { type: "text/markdown", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/board.svg",
    id: "getBoardAsFigure",
    summary: "The board as a figure for papers: rank sets, % resolved, intervals, official tests alone.",
    query: boardQuerySchema,
    answer: { type: "image/svg+xml", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/board.bib",
    id: "getBoardCitation",
    summary: "The publication behind the board's reported rows as BibTeX.",
    query: boardQuerySchema,
    answer: { type: "application/x-bibtex", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/compare",
    id: "compareEntries",
    summary: "Two entries task by task, with the paired test; pairs worth a look until both are chosen.",
    query: compareQuerySchema,
    answer: json("Comparison"),
  },
  {
    method: "get",
    path: "/api/v1/compare.csv",
    id: "compareEntriesAsCsv",
    summary: "The same as CSV: a line per task, per category where counts are all there is, or per suggested pair.",
    query: compareQuerySchema,
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/compare.md",
    id: "compareEntriesAsMarkdown",
    summary: "The same as Markdown, with the page's sentences and roundings.",
    query: compareQuerySchema,
    answer: { type: "text/markdown", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/probes",
    id: "getProbes",
    summary: "What the probes of a board reject that every official test lets pass; published figures apart.",
    query: probesQuerySchema,
    answer: json("Probes"),
  },
  {
    method: "get",
    path: "/api/v1/probes.csv",
    id: "getProbesAsCsv",
    summary: "The rows as CSV: official tests alone, with probes, rejected share, both rank sets.",
    query: probesQuerySchema,
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/probes.md",
    id: "getProbesAsMarkdown",
    summary: "The rows as Markdown, rounded as on the page.",
    query: probesQuerySchema,
    answer: { type: "text/markdown", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/tasks",
    id: "listTasks",
    summary: "Tasks of a suite version: tests, probes, who resolves each, what the reference sets did.",
    query: boardQuerySchema.pick({ version: true }).extend({
      suite: slugSchema.optional().describe("The suite; the first one whose tasks are published by default."),
    }),
    answer: json("TaskList"),
  },
  {
    method: "get",
    path: "/api/v1/tasks/{suite}/{version}/{task}",
    id: "getTask",
    summary: "A task: prompts, interfaces, requirements, tests by kind and property, every entry's result.",
    pathParameters: z.object({
      suite: slugSchema.describe("The suite."),
      version: suiteVersionSchema.describe("Its version."),
      task: slugSchema.describe("The task."),
    }),
    answer: json("Task"),
  },
  {
    method: "get",
    path: "/api/v1/conditions",
    id: "getConditions",
    summary: "Prompt conditions and skills in pairs of gradings, task by task; apart from it what was published.",
    answer: json("Conditions"),
  },
  {
    method: "get",
    path: "/api/v1/entries",
    id: "listEntries",
    summary: "Entries with the suite versions that they stand on, and the submission that counts there.",
    query: entryListQuerySchema,
    answer: json("EntryList"),
  },
  {
    method: "get",
    path: "/api/v1/entries/{entry}",
    id: "getEntry",
    summary: "An entry over every suite version: rank set, figures with intervals, tasks, failures, how it was made.",
    pathParameters: entryParameter,
    answer: json("Entry"),
  },
  {
    method: "get",
    path: "/api/v1/entries/{entry}/tasks.csv",
    id: "getEntryTasksAsCsv",
    summary: "Its tasks, one line an attempt, with verdicts, tests passed and what the agent's run took.",
    pathParameters: entryParameter,
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/submissions/{id}",
    id: "getSubmission",
    summary: "A submission with its row and its attempts.",
    pathParameters: submission,
    answer: json("Submission"),
  },
  {
    method: "get",
    path: "/api/v1/submissions/{id}/{task}",
    id: "getAttempt",
    summary: "The newest attempt at a task: patch, outcome of each test on each rank, resources, launches, host.",
    pathParameters: attempt,
    answer: json("Attempt"),
  },
  {
    method: "get",
    path: "/api/v1/submissions/{id}/{task}/log",
    id: "getLiveLog",
    summary: "The log of a grading while it runs, from an offset on.",
    pathParameters: attempt,
    query: z.object({ offset: offsetSchema.optional().describe("Bytes already read; 0 by default.") }),
    answer: json("LiveLog"),
  },
  {
    method: "get",
    path: "/api/v1/attempts/{id}/trajectory",
    id: "getTrajectory",
    summary: "What the agent did in an attempt: its run's figures, and steps from one on; of long texts the beginning.",
    pathParameters: trajectoryOwner,
    query: trajectoryQuerySchema,
    answer: json("Trajectory"),
  },
  {
    method: "get",
    path: "/api/v1/attempts/{id}/trajectory/file",
    id: "getTrajectoryFile",
    summary: "The whole trajectory in the Agent Trajectory Interchange Format; ranges are served.",
    pathParameters: trajectoryOwner,
    answer: { type: "application/json", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/gradings/{id}/evidence",
    id: "getEvidence",
    summary: "Signatures, digests, receipt and log inclusion of a grading, and the figures that the pages show.",
    pathParameters: grading,
    answer: json("Evidence"),
  },
  {
    method: "get",
    path: "/api/v1/gradings/{id}/bundle",
    id: "getBundle",
    summary: "The signed bundle; ranges are served. Of suites with hidden probes it is not given out.",
    pathParameters: grading,
    answer: { type: "application/gzip", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/gradings/{id}/files/{path}",
    id: "getEvidenceFile",
    summary: "One file of a grading's payload, as the evidence lists it; ranges are served.",
    pathParameters: grading.extend({ path: z.string().describe("Path in the bundle; its slashes stand as they are.") }),
    answer: { type: "application/octet-stream", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/gradings/{id}/lines/{path}",
    id: "listLogLines",
    summary: "Lines of one file of a grading's payload, from a line on; of long lines the beginning.",
    pathParameters: grading.extend({ path: z.string().describe("Path in the bundle; its slashes stand as they are.") }),
    query: logLinesQuerySchema,
    answer: json("LogLines"),
  },
  {
    method: "get",
    path: "/api/v1/failures/overview",
    id: "getFailureOverview",
    summary: "Why attempts fail: distinct attempts and cases by class and type, together and by group.",
    query: failureFilterSchema,
    answer: json("FailureOverview"),
  },
  {
    method: "get",
    path: "/api/v1/failures",
    id: "listFailures",
    summary: "Failing cases: required tests that did not pass, each with its label.",
    query: failureListQuerySchema,
    answer: json("FailureList"),
  },
  {
    method: "get",
    path: "/api/v1/failures.csv",
    id: "getFailuresAsCsv",
    summary:
      "Every failing case as CSV, one line each. The table of failure types is the count of distinct values of `attempt` " +
      "in each `repository` and `type` (`type` alone for all repositories, `class` for 'any structural error').",
    query: failureFilterSchema,
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/failures/clusters",
    id: "listFailureClusters",
    summary: "Failing cases with the same root, over submissions, the largest cluster first.",
    query: failureListQuerySchema,
    answer: json("FailureClusters"),
  },
  {
    method: "get",
    path: "/api/v1/failures/{grading}/{test}",
    id: "getFailure",
    summary: "One failing case: message, frames, ranks, labels with their history, its cluster, the test elsewhere.",
    pathParameters: z.object({
      grading: uuidSchema.describe("The grading."),
      test: wholeNumberSchema(1, 999_999).describe("The test's number in the task's manifest, from 1."),
    }),
    answer: json("Failure"),
  },
  {
    method: "get",
    path: "/api/v1/self-tests",
    id: "getSelfTests",
    summary: "Which properties attempts' own tests and commands check, by kind of entry and by entry.",
    answer: json("SelfTests"),
  },
  {
    method: "get",
    path: "/api/v1/self-tests.csv",
    id: "getSelfTestsAsCsv",
    summary: "The same as CSV, one line an entry, source (patch or commands) and property.",
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/labels.csv",
    id: "getLabelsAsCsv",
    summary: "Every label of the failures that people have labelled, with what was taken back, as CSV, oldest first.",
    answer: { type: "text/csv", schema: null },
  },
  {
    method: "get",
    path: "/api/v1/labels.jsonl",
    id: "getLabelsAsJsonLines",
    summary: "The same as JSON, one label a line, with the evidence as an object and the tags as a list.",
    answer: { type: "application/jsonl", schema: "Label" },
  },
  {
    method: "get",
    path: "/api/v1/labels/agreement",
    id: "getLabelAgreement",
    summary: "Cohen's kappa of every pair of people who label, and of each with the rules, with n and an interval.",
    answer: json("LabelAgreement"),
  },
  {
    method: "get",
    path: "/api/v1/published",
    id: "listPublished",
    summary: "Figures of publications, digit for digit.",
    answer: json("Published"),
  },
  {
    method: "get",
    path: "/api/v1/search",
    id: "search",
    summary: "Entries, tasks, tests and documents that have every word of a query; of hidden probes id and property.",
    query: z.object({ q: z.string().optional().describe("The words; what is past 100 characters is cut.") }),
    answer: json("SearchAnswer"),
  },
  {
    method: "get",
    path: "/api/v1/log",
    id: "listLogRecords",
    summary: "Records of the append-only log in order. Proofs need /log/checkpoint and the tiles under /log/tile.",
    query: logQuerySchema,
    answer: json("Log"),
  },
  {
    method: "get",
    path: "/api/v1/openapi.json",
    id: "getOpenApi",
    summary: "This document.",
    answer: { type: "application/json", schema: null },
  },
  {
    method: "post",
    path: "/api/v1/uploads",
    id: "announceUpload",
    summary: "Announces a self-made bundle, signed by a registered vendor key, or asks how much of it has arrived.",
    body: "UploadAnnouncement",
    answer: json("UploadState"),
  },
  {
    method: "patch",
    path: "/api/v1/uploads/{id}",
    id: "appendUpload",
    summary: "Appends bytes at an offset.",
    pathParameters: upload,
    headers: z.object({ "Upload-Offset": offsetSchema.describe("Bytes that have arrived.") }),
    body: "bytes",
    answer: json("UploadOffset"),
  },
  {
    method: "post",
    path: "/api/v1/uploads/{id}/finish",
    id: "finishUpload",
    summary: "Verifies the bundle and records it.",
    pathParameters: upload,
    answer: json("UploadResult"),
  },
];
