import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findTrajectory } from "@/db/queries/trajectories";
import { uuidSchema } from "@/lib/contract/scalars";
import type { DrawnStep, Excerpt, ShownStep, ShownText, TrajectoryPage } from "@/lib/contract/trajectory";
import { lastStepPage, stepLines } from "@/lib/prepare/trajectory-view";
import { getDatabase, getServerContext } from "../context";
import { styledLine } from "../logs/styled-line";
import { cacheTags } from "../tags";
import { readSteps } from "../trajectories";

/** A page of an attempt's trajectory from step `from` on, the last page beyond its end; null where there is none. */
export async function getTrajectory(attemptId: string, from: number, count: number): Promise<TrajectoryPage | null> {
  return uuidSchema.safeParse(attemptId).success ? cachedTrajectory(attemptId.toLowerCase(), from, count) : null;
}

async function cachedTrajectory(attemptId: string, from: number, count: number): Promise<TrajectoryPage | null> {
  "use cache";
  cacheTag(cacheTags.everything);
  const place = await findTrajectory(getDatabase().sql, attemptId);
  // Of two lives the shorter one counts: each way names its own.
  if (!place) {
    cacheLife("minutes");
    // Each bundle that is taken in may bring the one that was not there.
    cacheTag(cacheTags.failures);
    return null;
  }
  cacheLife("hours");
  cacheTag(cacheTags.submission(place.submissionId));
  const { steps: blob, ...shown } = place;
  const total = place.trajectory.steps;
  const first = from > total ? lastStepPage(total) : from;
  const steps = await readSteps(await getServerContext(), { steps: blob }, { from: first, count });
  const start = place.trajectory.startedAt === null ? null : Date.parse(place.trajectory.startedAt);
  return { ...shown, steps: steps.map((step) => drawn(step, start)) };
}

function drawn({ message, reasoning, calls, results, ...step }: ShownStep, start: number | null): DrawnStep {
  return {
    ...step,
    ...stepLines({ message, calls }),
    sinceMs: step.at === null || start === null || step.copied ? null : Date.parse(step.at) - start,
    message: textOf(message),
    reasoning: reasoning && textOf(reasoning),
    calls: calls.map((call) => ({
      tool: call.tool,
      arguments: textOf(call.arguments),
      results: call.results.map(textOf),
    })),
    results: results.map(textOf),
  };
}

/** A text as pieces, its lines one after the other; neighbours that are dressed alike are one. */
function textOf({ text, chars }: Excerpt): ShownText {
  const pieces: ShownText["pieces"] = [];
  for (const [index, line] of text.trimEnd().split("\n").entries()) {
    for (const piece of [...(index === 0 ? [] : [{ text: "\n", classes: [] }]), ...styledLine(line)]) {
      const last = pieces.at(-1);
      if (last && last.classes.join(" ") === piece.classes.join(" ")) last.text += piece.text;
      else pieces.push({ text: piece.text, classes: [...piece.classes] });
    }
  }
  return { pieces, shown: text.length, chars };
}
