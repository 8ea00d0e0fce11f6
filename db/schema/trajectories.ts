import { bigint, doublePrecision, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { type trajectoryFigures, trajectoryVersions } from "../../lib/contract/trajectory";
import { instant, oneOf } from "./columns";
import { attempts } from "./submissions";

/** The trajectory that came with an attempt, and what it says of its run. */
export const attemptTrajectories = pgTable(
  "attempt_trajectory",
  {
    attemptId: uuid("attempt_id")
      .primaryKey()
      .references(() => attempts.id, { onDelete: "cascade" }),
    /** The document, a blob. */
    sha256: text("sha256").notNull(),
    bytes: bigint("bytes", { mode: "number" }).notNull(),
    /** Its steps as pages show them, one a line; made from the document. */
    stepsSha256: text("steps_sha256").notNull(),
    stepsBytes: bigint("steps_bytes", { mode: "number" }).notNull(),
    version: text("version", { enum: trajectoryVersions }).notNull(),
    agent: text("agent").notNull(),
    agentVersion: text("agent_version").notNull(),
    model: text("model"),
    steps: integer("steps").notNull(),
    agentSteps: integer("agent_steps").notNull(),
    toolCalls: integer("tool_calls").notNull(),
    subagents: integer("subagents").notNull(),
    startedAt: instant("started_at"),
    endedAt: instant("ended_at"),
    promptTokens: bigint("prompt_tokens", { mode: "number" }),
    completionTokens: bigint("completion_tokens", { mode: "number" }),
    cachedTokens: bigint("cached_tokens", { mode: "number" }),
    costUsd: doublePrecision("cost_usd"),
    /** Figures that its totals and its steps state differently. */
    differing: text("differing").array().$type<(typeof trajectoryFigures)[number][]>().notNull(),
  },
  (table) => [oneOf("attempt_trajectory_version_word", table.version, trajectoryVersions)],
);
