import { createReadStream, createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { bundlePaths } from "@/lib/contract/bundle";
import type { TrajectoryFacts } from "@/lib/contract/trajectory";
import { readTrajectory } from "@/lib/trajectory/read-trajectory";
import { redactedTrajectory } from "@/lib/trajectory/redact";
import { createRedactor } from "./grading/redact";
import { requireFile } from "./input-file";

/** Reads an agent's trajectory (ATIF) through and answers what it says of its run. Throws what makes it none. */
export async function checkTrajectory(path: string): Promise<TrajectoryFacts> {
  await requireFile(path, {
    code: "usage.trajectory",
    rule: "--trajectory names a file in the form of ATIF",
    remedy: "name the trajectory.json that the agent wrote",
  });
  const reader = readTrajectory(createReadStream(path), path);
  for (;;) {
    const next = await reader.next();
    if (next.done) return next.value.facts;
  }
}

/**
 * Writes the trajectory into a payload: every text without tokens, values of this host's variables, home and name.
 * Gives how many texts it changed.
 */
export async function writeTrajectory(path: string, payloadDir: string): Promise<number> {
  const target = join(payloadDir, relative(bundlePaths.payload, bundlePaths.trajectory));
  await mkdir(dirname(target), { recursive: true });
  const redact = createRedactor(new Map());
  let changed = 0;
  const counted = (text: string): string => {
    const without = redact(text);
    if (without !== text) changed += 1;
    return without;
  };
  const text = redactedTrajectory(readTrajectory(createReadStream(path), path), counted);
  await pipeline(Readable.from(text), createWriteStream(target));
  return changed;
}
