import {
  bigint,
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  serial,
  text,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import {
  categories,
  entryKinds,
  gradingStatuses,
  networkPolicies,
  promptConditions,
  taskVerdicts,
  tiers,
} from "../../lib/contract/vocabulary";
import { instant, oneOf } from "./columns";
import { organizations } from "./organizations";
import { publishedSources } from "./published";
import { searchVector } from "./search-vector";
import { suites, tasks } from "./suites";

/** Model + agent + prompt condition + skill + network policy + execution budget: what the leaderboard ranks. */
export const entries = pgTable(
  "entry",
  {
    id: serial("id").primaryKey(),
    slug: text("slug").notNull().unique(),
    kind: text("kind", { enum: entryKinds }).notNull(),
    model: text("model").notNull(),
    agent: text("agent"),
    agentVersion: text("agent_version"),
    reasoningEffort: text("reasoning_effort"),
    promptCondition: text("prompt_condition", { enum: promptConditions }).notNull(),
    skillName: text("skill_name"),
    skillDigest: text("skill_digest"),
    networkPolicy: text("network_policy", { enum: networkPolicies }).notNull(),
    budgetTimeMin: doublePrecision("budget_time_min"),
    budgetCostUsd: doublePrecision("budget_cost_usd"),
    budgetTokensM: doublePrecision("budget_tokens_m"),
    budgetSteps: integer("budget_steps"),
    /** sha256 over the fields above in a fixed order: the same configuration is the same entry. */
    configDigest: text("config_digest").notNull().unique(),
  },
  (table) => [
    // search: entries whose model, agent, effort, skill or slug hold a word
    index("entry_search").using("gin", searchVector("entry")),
    oneOf("entry_kind_word", table.kind, entryKinds),
    oneOf("entry_condition_word", table.promptCondition, promptConditions),
    oneOf("entry_network_word", table.networkPolicy, networkPolicies),
  ],
);

/** One entry's attempts at one suite version, by one organization. */
export const submissions = pgTable(
  "submission",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    suiteId: integer("suite_id")
      .notNull()
      .references(() => suites.id),
    entryId: integer("entry_id")
      .notNull()
      .references(() => entries.id),
    organizationId: integer("organization_id")
      .notNull()
      .references(() => organizations.id),
    /** Set on reported rows: the publication the figures were copied from. */
    sourceId: integer("source_id").references(() => publishedSources.id),
    /** Footnotes as [{key, text}]. */
    footnotes: jsonb("footnotes").$type<{ key: string; text: string }[]>().notNull().default([]),
    createdAt: instant("created_at").notNull().defaultNow(),
    publishedAt: instant("published_at"),
    withdrawnAt: instant("withdrawn_at"),
  },
  (table) => [
    // board: the newest published submission of each entry of a suite
    index("submission_board").on(table.suiteId, table.entryId, table.publishedAt),
  ],
);

/** One try at one task. */
export const attempts = pgTable(
  "attempt",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    submissionId: uuid("submission_id")
      .notNull()
      .references(() => submissions.id, { onDelete: "cascade" }),
    taskId: integer("task_id")
      .notNull()
      .references(() => tasks.id),
    ordinal: integer("ordinal").notNull().default(1),
    label: text("label"),
    patchSha256: text("patch_sha256").notNull(),
    patchBytes: integer("patch_bytes").notNull(),
    timeMin: doublePrecision("time_min"),
    costUsd: doublePrecision("cost_usd"),
    steps: integer("steps"),
    inputTokens: bigint("input_tokens", { mode: "number" }),
    cacheReadTokens: bigint("cache_read_tokens", { mode: "number" }),
    cacheWriteTokens: bigint("cache_write_tokens", { mode: "number" }),
    outputTokens: bigint("output_tokens", { mode: "number" }),
    reasoningTokens: bigint("reasoning_tokens", { mode: "number" }),
    createdAt: instant("created_at").notNull().defaultNow(),
  },
  (table) => [
    unique("attempt_submission_task_ordinal").on(table.submissionId, table.taskId, table.ordinal),
    // a task's page: every attempt at it
    index("attempt_task").on(table.taskId),
  ],
);

/** Which grading of an attempt counts, and what it says. Recomputed by ingest in the transaction that touches it. */
export const attemptSummaries = pgTable(
  "attempt_summary",
  {
    attemptId: uuid("attempt_id")
      .primaryKey()
      .references(() => attempts.id, { onDelete: "cascade" }),
    submissionId: uuid("submission_id")
      .notNull()
      .references(() => submissions.id, { onDelete: "cascade" }),
    taskId: integer("task_id")
      .notNull()
      .references(() => tasks.id),
    gradingId: uuid("grading_id").notNull(),
    tier: text("tier", { enum: tiers }).notNull(),
    status: text("status", { enum: gradingStatuses }).notNull(),
    verdict: text("verdict", { enum: taskVerdicts }).notNull(),
    requiredTotal: integer("required_total").notNull(),
    requiredPassed: integer("required_passed").notNull(),
    officialTotal: integer("official_total").notNull(),
    officialPassed: integer("official_passed").notNull(),
    resolved: boolean("resolved").notNull(),
    officialResolved: boolean("official_resolved").notNull(),
  },
  (table) => [
    // board and submission page: a submission's verdicts
    index("attempt_summary_submission").on(table.submissionId),
    oneOf("attempt_summary_tier_word", table.tier, tiers),
    oneOf("attempt_summary_status_word", table.status, gradingStatuses),
    oneOf("attempt_summary_verdict_word", table.verdict, taskVerdicts),
  ],
);

/** A board row's figures. Copied for reported rows, recomputed by ingest for all others. */
export const submissionSummaries = pgTable(
  "submission_summary",
  {
    submissionId: uuid("submission_id")
      .primaryKey()
      .references(() => submissions.id, { onDelete: "cascade" }),
    tier: text("tier", { enum: tiers }).notNull(),
    taskCount: integer("task_count").notNull(),
    gradedCount: integer("graded_count").notNull(),
    /** Mean over attempts where a task has several; an integer where each has one. Null where only a percentage was published. */
    resolvedCount: doublePrecision("resolved_count"),
    resolvedPct: doublePrecision("resolved_pct").notNull(),
    officialResolvedCount: doublePrecision("official_resolved_count"),
    /** Attempts that pass every official test and that the probes reject. */
    probeRejectedCount: integer("probe_rejected_count"),
    officialResolvedAttempts: integer("official_resolved_attempts"),
    passedPct: doublePrecision("passed_pct"),
    timeMin: doublePrecision("time_min"),
    costUsd: doublePrecision("cost_usd"),
    tokensM: doublePrecision("tokens_m"),
    steps: doublePrecision("steps"),
    provisional: boolean("provisional").notNull().default(false),
    updatedAt: instant("updated_at").notNull().defaultNow(),
  },
  (table) => [oneOf("submission_summary_tier_word", table.tier, tiers)],
);

export const submissionCategorySummaries = pgTable(
  "submission_category_summary",
  {
    submissionId: uuid("submission_id")
      .notNull()
      .references(() => submissions.id, { onDelete: "cascade" }),
    category: text("category", { enum: categories }).notNull(),
    taskCount: integer("task_count").notNull(),
    resolvedCount: doublePrecision("resolved_count").notNull(),
    officialResolvedCount: doublePrecision("official_resolved_count"),
  },
  (table) => [
    primaryKey({ columns: [table.submissionId, table.category] }),
    oneOf("submission_category_summary_category_word", table.category, categories),
  ],
);
