import { z } from "zod";
import { printableSchema, wholeNumberSchema } from "./scalars";

/** Versions of the Agent Trajectory Interchange Format (ATIF) that are read; each adds optional fields to the last. */
export const trajectoryVersions = [
  "ATIF-v1.0",
  "ATIF-v1.1",
  "ATIF-v1.2",
  "ATIF-v1.3",
  "ATIF-v1.4",
  "ATIF-v1.5",
  "ATIF-v1.6",
  "ATIF-v1.7",
] as const;

/** Refused beyond these while streaming: a trajectory is never held in memory whole, a step is. */
export const trajectoryLimits = {
  fileBytes: 256 * 1024 * 1024,
  stepBytes: 16 * 1024 * 1024,
  /** Everything beside the steps. */
  rootBytes: 8 * 1024 * 1024,
  steps: 100_000,
  depth: 64,
} as const;

/** Of a step: so small that what every step states still adds up to a whole number. */
const count = z.int().nonnegative().max(1e10).nullish();
const cost = z.number().nonnegative().max(1e9).nullish();
const total = z.int().nonnegative().max(1e15).nullish();
const name = printableSchema(200).min(1);

/** Text, or since v1.6 parts of text and images; an image is named and never loaded. */
const contentSchema = z.union([
  z.string(),
  z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({ type: z.literal("image"), source: z.object({ path: z.string() }) }),
    ]),
  ),
]);
export type TrajectoryContent = z.infer<typeof contentSchema>;

/** A step, as far as it is read; other fields (token ids, log probabilities, `extra`) are let through unread. */
export const trajectoryStepSchema = z.object({
  step_id: z.int().positive(),
  /** ISO 8601; without an offset it is UTC. */
  timestamp: z.iso
    .datetime({ offset: true, local: true })
    .regex(/^(?:19[7-9]|[2-8]\d\d)\d-/, "expected a year from 1970 to 8999")
    .nullish(),
  source: z.enum(["system", "user", "agent"]),
  model_name: z.string().max(200).nullish(),
  message: contentSchema,
  reasoning_content: z.string().nullish(),
  tool_calls: z
    .array(
      z.object({
        tool_call_id: z.string().max(400),
        function_name: z.string().max(200),
        arguments: z.record(z.string(), z.unknown()),
      }),
    )
    .nullish(),
  observation: z
    .object({
      results: z.array(z.object({ source_call_id: z.string().max(400).nullish(), content: contentSchema.nullish() })),
    })
    .nullish(),
  metrics: z.object({ prompt_tokens: count, completion_tokens: count, cached_tokens: count, cost_usd: cost }).nullish(),
  /** Since v1.5: repeats a step of an earlier trajectory as context. */
  is_copied_context: z.boolean().nullish(),
  /** Since v1.7: calls of the model that the step stands for; 0 where none was made. */
  llm_call_count: z.int().nonnegative().nullish(),
});
export type TrajectoryStep = z.infer<typeof trajectoryStepSchema>;

/** The document beside its steps. */
export const trajectoryRootSchema = z.object({
  schema_version: z.enum(trajectoryVersions),
  agent: z.object({ name, version: name, model_name: printableSchema(200).nullish() }),
  final_metrics: z
    .object({
      total_prompt_tokens: total,
      total_completion_tokens: total,
      total_cached_tokens: total,
      total_cost_usd: cost,
    })
    .nullish(),
  subagent_trajectories: z.array(z.unknown()).nullish(),
});
export type TrajectoryRoot = z.infer<typeof trajectoryRootSchema>;

/** Figures of a run that a trajectory states twice: in `final_metrics` and in its steps. */
export const trajectoryFigures = ["promptTokens", "completionTokens", "cachedTokens", "costUsd"] as const;

/** What a trajectory says of its run. Figures that it does not state are null. */
export const trajectoryFactsSchema = z.object({
  version: z.enum(trajectoryVersions),
  agent: z.string(),
  agentVersion: z.string(),
  model: z.string().nullable(),
  /** Of every source. */
  steps: z.int().nonnegative(),
  /** Completed model turns: steps whose source is the agent, without copied ones and those that called no model. */
  agentSteps: z.int().nonnegative(),
  toolCalls: z.int().nonnegative(),
  /** Trajectories of subagents within the file; kept, not shown and not counted. */
  subagents: z.int().nonnegative(),
  /** First and last timestamp. */
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  /** Input of the model with what came out of a cache. */
  promptTokens: z.int().nonnegative().nullable(),
  completionTokens: z.int().nonnegative().nullable(),
  cachedTokens: z.int().nonnegative().nullable(),
  costUsd: z.number().nonnegative().nullable(),
  /** Figures whose total in `final_metrics`, which counts, is not what the steps add up to. */
  differing: z.array(z.enum(trajectoryFigures)),
});
export type TrajectoryFacts = z.infer<typeof trajectoryFactsSchema>;

/** Beginning of a text; `chars` is its whole length in UTF-16 units. */
const excerptSchema = z.object({ text: z.string(), chars: z.int().nonnegative() });
export type Excerpt = z.infer<typeof excerptSchema>;

/** A step as pages and API show it: long texts by their beginnings. */
export const shownStepSchema = z.object({
  /** From 1: its `step_id`. */
  number: z.int().positive(),
  source: z.enum(["system", "user", "agent"]),
  at: z.iso.datetime().nullable(),
  message: excerptSchema,
  reasoning: excerptSchema.nullable(),
  calls: z.array(
    z.object({
      tool: z.string(),
      /** The command of a shell's call, else its arguments as JSON. */
      arguments: excerptSchema,
      results: z.array(excerptSchema),
    }),
  ),
  /** Results that belong to no call of the step. */
  results: z.array(excerptSchema),
  /** Calls and results that are left out here. */
  leftOut: z.int().nonnegative(),
  copied: z.boolean(),
});
export type ShownStep = z.infer<typeof shownStepSchema>;

/** Most steps that one answer of `GET /api/v1/attempts/{id}/trajectory` holds. */
export const mostTrajectorySteps = 200;
/** Steps that a page shows, and an answer by default. */
export const trajectoryPageSteps = 50;

export const trajectoryQuerySchema = z.object({
  from: wholeNumberSchema(1, 10 ** 7 - 1)
    .optional()
    .describe("Number of the first step, from 1; 1 by default."),
  count: wholeNumberSchema(1, mostTrajectorySteps)
    .optional()
    .describe(`Steps at most; ${trajectoryPageSteps} by default, ${mostTrajectorySteps} at most.`),
});

/** What is known of an attempt's trajectory beside its steps. */
export const keptTrajectorySchema = trajectoryFactsSchema.extend({
  sha256: z.string(),
  bytes: z.int().nonnegative(),
});
export type KeptTrajectory = z.infer<typeof keptTrajectorySchema>;

/** `GET /api/v1/attempts/{id}/trajectory`. */
export const trajectoryAnswerSchema = z.object({
  attemptId: z.uuid(),
  submissionId: z.uuid(),
  suite: z.object({ slug: z.string(), version: z.string(), title: z.string() }),
  task: z.object({ slug: z.string(), title: z.string() }),
  model: z.string(),
  trajectory: keptTrajectorySchema,
  steps: z.array(shownStepSchema),
});
export type TrajectoryAnswer = z.infer<typeof trajectoryAnswerSchema>;

/** A text as pages draw it: pieces with the classes that dress them, and its whole length. */
export interface ShownText {
  pieces: { text: string; classes: string[] }[];
  shown: number;
  chars: number;
}

/** A step as pages draw it. */
export interface DrawnStep {
  number: number;
  source: ShownStep["source"];
  /** Milliseconds since the first step; null where either has no time. */
  sinceMs: number | null;
  at: string | null;
  /** What it says in a line: its message's first one, and what it calls. */
  line: string;
  calledTools: { tool: string; line: string }[];
  message: ShownText;
  reasoning: ShownText | null;
  calls: { tool: string; arguments: ShownText; results: ShownText[] }[];
  results: ShownText[];
  leftOut: number;
  copied: boolean;
}

/** A page of a trajectory. */
export interface TrajectoryPage extends Omit<TrajectoryAnswer, "steps"> {
  steps: DrawnStep[];
}
