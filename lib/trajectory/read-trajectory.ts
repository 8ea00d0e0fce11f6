import type { z } from "zod";
import { InfraDevError, problemFromZod } from "../contract/errors";
import {
  type TrajectoryFacts,
  type TrajectoryRoot,
  type TrajectoryStep,
  trajectoryFigures,
  trajectoryRootSchema,
  trajectoryStepSchema,
  trajectoryVersions,
} from "../contract/trajectory";
import { StepSplitter } from "./step-splitter";

const remedy = "write the trajectory as ATIF; Harbor's trajectory validator names what is wrong";

const refuse = (code: string, where: string, message: string, rule: string) =>
  new InfraDevError("invalid", { code, message, where, rule, remedy });

function parse(bytes: Uint8Array, where: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message.slice(0, 200)}` : "";
    const problem = {
      code: "trajectory.json",
      message: `the text is not JSON in UTF-8${why}`,
      where,
      rule: "a trajectory is one JSON document",
      remedy,
    };
    throw new InfraDevError("invalid", problem, { cause });
  }
}

function conform<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
  what: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const rule = `the Agent Trajectory Interchange Format, ${trajectoryVersions[0]} to ${trajectoryVersions.at(-1)}`;
  const problem = problemFromZod(parsed.error, { code: "trajectory.form", what, where, rule, remedy });
  const field = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
  const place = where.includes("#") && field !== "" ? `${where}.${field}` : problem.where;
  throw new InfraDevError("invalid", { ...problem, ...(place === undefined ? {} : { where: place }) });
}

/** A step as it was read: as far as the format goes, and whole. */
export interface ReadStep {
  step: TrajectoryStep;
  /** The object as it stands in the file. */
  raw: unknown;
}

/** What `readTrajectory` returns after the last step. */
export interface ReadEnd {
  facts: TrajectoryFacts;
  /** The document as it stands in the file, without its steps. */
  root: Record<string, unknown>;
}

/**
 * Reads a trajectory step by step, however large it is, and returns what it says of its run. Throws a refusal that
 * names the file, the place in the document, the rule and the remedy; `where` names the file.
 */
export async function* readTrajectory(
  chunks: AsyncIterable<Uint8Array>,
  where: string,
): AsyncGenerator<ReadStep, ReadEnd> {
  const splitter = new StepSplitter(where);
  const run = new RunFacts();
  let number = 0;
  for await (const chunk of chunks) {
    for (const bytes of splitter.push(chunk)) {
      const place = `${where}#steps.${number}`;
      number += 1;
      const raw = parse(bytes, place);
      const step = conform(trajectoryStepSchema, raw, place, `step ${number} does not have the form of ATIF`);
      if (step.step_id !== number)
        throw refuse(
          "trajectory.step-id",
          `${place}.step_id`,
          `the step has the id ${step.step_id} and is number ${number}`,
          "step ids count from 1",
        );
      run.add(step);
      yield { step, raw };
    }
  }
  const { rest, steps, lists } = splitter.end();
  const document = parse(rest, where);
  const root = conform(trajectoryRootSchema, document, where, "the document does not have the form of ATIF");
  const { steps: places, ...others } = document as { steps?: unknown } & Record<string, unknown>;
  if (!Array.isArray(places) || places.length !== steps || lists !== 1)
    throw refuse(
      "trajectory.form",
      `${where}#steps`,
      Array.isArray(places) ? "steps holds something that is no object, or stands there twice" : "steps is no array",
      "steps is one array of step objects",
    );
  if (steps === 0)
    throw refuse("trajectory.form", `${where}#steps`, "there is no step", "a trajectory has at least one step");
  return { facts: run.facts(root), root: others };
}

/** Ends a reading before its end, and with it the stream under it; after the end it does nothing. */
export async function closeReader(reader: AsyncGenerator<ReadStep, ReadEnd>): Promise<void> {
  // What a generator returns when it is ended is never looked at.
  await reader.return(undefined as never);
}

type Figure = (typeof trajectoryFigures)[number];

const fieldOf = {
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  cachedTokens: "cached_tokens",
  costUsd: "cost_usd",
} as const satisfies Record<Figure, string>;

/** A completed turn of the model: neither repeated context nor a dispatch that asked no model. */
const isTurn = (step: TrajectoryStep) =>
  step.source === "agent" && step.is_copied_context !== true && step.llm_call_count !== 0;

/** What ends at about the same time may be written in another order, by clocks of several machines. */
const clockSlackMs = 60_000;

class RunFacts {
  private steps = 0;
  private turns = 0;
  private toolCalls = 0;
  private first = Number.POSITIVE_INFINITY;
  private last = Number.NEGATIVE_INFINITY;
  /** Whether a clock was set back on the way: then no difference of times says how long the run took. */
  private setBack = false;
  private readonly stated = new Set<Figure>();
  /** Null once a turn does not state the figure. */
  private readonly sums: Record<Figure, number | null> = {
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    costUsd: 0,
  };

  add(step: TrajectoryStep): void {
    this.steps += 1;
    if (step.is_copied_context === true) return;
    const at = instantOf(step.timestamp);
    if (at !== null) {
      this.setBack ||= at < this.last - clockSlackMs;
      this.first = Math.min(this.first, at);
      this.last = Math.max(this.last, at);
    }
    this.toolCalls += step.tool_calls?.length ?? 0;
    if (!isTurn(step)) return;
    this.turns += 1;
    for (const figure of trajectoryFigures) {
      const stated = step.metrics?.[fieldOf[figure]] ?? null;
      // Where some turns state what came out of a cache, one that states its input alone took nothing from it.
      const value = stated ?? (figure === "cachedTokens" && step.metrics?.prompt_tokens != null ? 0 : null);
      if (stated !== null) this.stated.add(figure);
      const sum = this.sums[figure];
      this.sums[figure] = value === null || sum === null ? null : sum + value;
    }
  }

  facts(root: TrajectoryRoot): TrajectoryFacts {
    const stated = root.final_metrics;
    const totals: Record<Figure, number | null> = {
      promptTokens: stated?.total_prompt_tokens ?? null,
      completionTokens: stated?.total_completion_tokens ?? null,
      cachedTokens: stated?.total_cached_tokens ?? null,
      costUsd: stated?.total_cost_usd ?? null,
    };
    const summed = (figure: Figure) => {
      const sum = this.stated.has(figure) ? this.sums[figure] : null;
      // Ten cents a turn add up to dollars, not to 0.6000000000000003.
      return sum === null || figure !== "costUsd" ? sum : Number(sum.toPrecision(12));
    };
    const differs = (figure: Figure) => {
      const [total, sum] = [totals[figure], summed(figure)];
      return total !== null && sum !== null && Math.abs(total - sum) > 1e-6 + 0.001 * total;
    };
    const isoOf = (time: number) => (Number.isFinite(time) && !this.setBack ? new Date(time).toISOString() : null);
    return {
      version: root.schema_version,
      agent: root.agent.name,
      agentVersion: root.agent.version,
      model: root.agent.model_name ?? null,
      steps: this.steps,
      agentSteps: this.turns,
      toolCalls: this.toolCalls,
      subagents: root.subagent_trajectories?.length ?? 0,
      startedAt: isoOf(this.first),
      endedAt: isoOf(this.last),
      promptTokens: totals.promptTokens ?? summed("promptTokens"),
      completionTokens: totals.completionTokens ?? summed("completionTokens"),
      cachedTokens: totals.cachedTokens ?? summed("cachedTokens"),
      costUsd: totals.costUsd ?? summed("costUsd"),
      differing: trajectoryFigures.filter(differs),
    };
  }
}

/** Milliseconds since 1970 of a timestamp of ATIF; null where there is none. */
export function instantOf(timestamp: string | null | undefined): number | null {
  if (timestamp === null || timestamp === undefined) return null;
  return Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp) ? timestamp : `${timestamp}Z`);
}
