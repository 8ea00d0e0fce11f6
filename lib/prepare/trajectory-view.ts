import { uuidSchema } from "@/lib/contract/scalars";
import { type ShownStep, type TrajectoryFacts, trajectoryPageSteps } from "@/lib/contract/trajectory";
import { formatNumber, formatUsd, plural } from "@/lib/format/numbers";
import { formatDuration } from "@/lib/format/times";
import { colourSequence, visibleText } from "@/lib/format/visible-text";
import { lastRange, rangesAround } from "./ranges";

/** What the address of a trajectory asks for. */
export interface TrajectoryView {
  attemptId: string;
  /** First step shown, from 1. */
  from: number;
  /** The step that stands open; null for none. */
  step: number | null;
}

/** Steps shown above the one that a link names. */
const contextSteps = 3;

function stepNumber(text: string | null | undefined): number | null {
  return text && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : null;
}

/** The address of a trajectory, opened at a step where one is named. */
export function trajectoryHref(view: { attemptId: string; from?: number | null; step?: number | null }): string {
  const address = `/trajectories/${view.attemptId}`;
  if (view.step) return `${address}?step=${view.step}#S${view.step}`;
  return view.from && view.from > 1 ? `${address}?from=${view.from}` : address;
}

/**
 * The internal path under which a view of a trajectory is rendered (see `viewPath` of boards), from the address's path,
 * as the browser wrote it, and its query. Numbers that no step has ask for nothing.
 */
export function trajectoryViewPath(pathname: string, query: URLSearchParams): string {
  const step = stepNumber(query.get("step"));
  const from = stepNumber(query.get("from")) ?? Math.max(1, (step ?? 1) - contextSteps);
  return `/trajectory-view/${from}/${step ?? 0}${pathname.replace(/^\/trajectories/, "")}`;
}

/** Reads the segments after `/trajectory-view`, or after `/trajectories` with 1 and 0 before them; null where they are none. */
export function parseTrajectoryView(segments: readonly string[]): TrajectoryView | null {
  const [first, open, attemptId, ...rest] = segments;
  const from = stepNumber(first);
  const step = open === "0" ? null : stepNumber(open);
  const id = uuidSchema.safeParse(attemptId);
  if (from === null || (step === null && open !== "0") || !id.success || rest.length > 0) return null;
  return { attemptId: id.data.toLowerCase(), from, step };
}

/** First step of the last page. */
export const lastStepPage = (steps: number) => lastRange(steps, trajectoryPageSteps);

/** First steps of the pages before and after, of the first and of the last; null where there is none. */
export const trajectorySteps = ({ from, steps }: { from: number; steps: number }) =>
  rangesAround({ from, total: steps, size: trajectoryPageSteps });

const lineChars = 160;

/** The first line of a text that says something, without colours; what else a terminal would act on is shown as signs. */
export function firstLine(text: string): string {
  // More than a line's worth of colours is not looked behind.
  const plain = text.slice(0, 64 * lineChars).replaceAll(colourSequence, "");
  const line = /\S[^\n]*/.exec(plain)?.[0].trimEnd() ?? "";
  const visible = visibleText(line.slice(0, 2 * lineChars));
  // No character is cut in two.
  return visible.length > lineChars ? `${visible.slice(0, lineChars - 1).replace(/[\ud800-\udbff]$/, "")}…` : visible;
}

/** Arguments in a line: those that are no command are an object over several lines. */
const argumentLine = (text: string) =>
  firstLine(text.startsWith("{\n") ? text.slice(0, 4 * lineChars).replaceAll(/\s*\n\s*/g, " ") : text);

/** What a step says and calls, each in a line. */
export function stepLines(step: Pick<ShownStep, "message" | "calls">): {
  line: string;
  calledTools: { tool: string; line: string }[];
} {
  return {
    line: firstLine(step.message.text),
    calledTools: step.calls.map((call) => ({ tool: firstLine(call.tool), line: argumentLine(call.arguments.text) })),
  };
}

const millions = (tokens: number) => (tokens >= 1e6 ? `${formatNumber(tokens / 1e6, 2)} M` : formatNumber(tokens));

/** ATIF counts what came out of a cache among the input; some agents write it beside it. */
const cachedBeside = ({ promptTokens, cachedTokens }: TrajectoryFacts): boolean =>
  promptTokens !== null && cachedTokens !== null && cachedTokens > promptTokens;

/** What a trajectory says of its run, as short facts in their order; what it does not state is left out. */
export function trajectoryFactWords(facts: TrajectoryFacts): string[] {
  const { agentSteps, toolCalls, promptTokens, cachedTokens, completionTokens, costUsd, startedAt, endedAt } = facts;
  const share = cachedBeside(facts) ? "" : " of them";
  const cached = cachedTokens === null || cachedTokens === 0 ? "" : `, ${millions(cachedTokens)}${share} cached`;
  return [
    `${formatNumber(agentSteps)} model ${plural(agentSteps, "turn")}`,
    `${formatNumber(toolCalls)} tool ${plural(toolCalls, "call")}`,
    ...(startedAt && endedAt && startedAt !== endedAt
      ? [formatDuration(Date.parse(endedAt) - Date.parse(startedAt))]
      : []),
    ...(promptTokens === null ? [] : [`${millions(promptTokens)} input tokens${cached}`]),
    ...(completionTokens === null ? [] : [`${millions(completionTokens)} output tokens`]),
    ...(costUsd === null ? [] : [`${formatUsd(costUsd)} US dollars as the agent states it`]),
  ];
}

const figureWords: Record<TrajectoryFacts["differing"][number], string> = {
  promptTokens: "input tokens",
  completionTokens: "output tokens",
  cachedTokens: "cached tokens",
  costUsd: "cost",
};

/** What has to be said beside a trajectory's figures. */
export function trajectoryNotes(facts: TrajectoryFacts): string[] {
  const { differing, subagents } = facts;
  return [
    ...(cachedBeside(facts)
      ? ["It states more cached tokens than input tokens, among which its format counts them; neither was changed."]
      : []),
    ...(differing.length > 0
      ? [
          `Its totals and its steps differ in ${differing.map((figure) => figureWords[figure]).join(", ")}; the totals are shown.`,
        ]
      : []),
    ...(subagents > 0
      ? [
          `The file holds the trajectories of ${formatNumber(subagents)} ${plural(subagents, "subagent")} too, which are neither shown nor counted.`,
        ]
      : []),
  ];
}
