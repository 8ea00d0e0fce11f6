import "server-only";
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SqlRunner } from "@/db/queries/queue";
import { recordCommandChecks } from "@/db/queries/self-tests";
import { findTrajectory, recordTrajectory, type TrajectoryPlace } from "@/db/queries/trajectories";
import { InfraDevError } from "@/lib/contract/errors";
import { uuidSchema } from "@/lib/contract/scalars";
import { type ShownStep, shownStepSchema, type TrajectoryFacts } from "@/lib/contract/trajectory";
import { type CommandChecks, CommandReader } from "@/lib/self-tests/commands";
import { selfTestRulesVersion } from "@/lib/self-tests/rules";
import { closeReader, type ReadEnd, type ReadStep, readTrajectory } from "@/lib/trajectory/read-trajectory";
import { redactDocument, redactedTrajectory, redactTokens } from "@/lib/trajectory/redact";
import { shownStep } from "@/lib/trajectory/shown-step";
import type { ServerContext } from "./context";
import { readLines } from "./logs/read-lines";

type Store = Pick<ServerContext, "blobs" | "dataDir">;

/** A trajectory whose bytes are in the blob store, read whole once. */
export interface TakenTrajectory {
  sha256: string;
  bytes: number;
  stepsSha256: string;
  stepsBytes: number;
  facts: TrajectoryFacts;
  commands: CommandChecks;
}

/** A step on its line is at most this long: `shownStep` bounds its texts. */
const stepLineBytes = 1 << 20;

/**
 * Reads a trajectory that lies in the blob store and puts its steps, as pages show them, beside it: one a line, so that
 * any of them is one range read. Throws a refusal that names `where`, also where a text looks like a secret: what a
 * signature covers cannot be mended here.
 */
export async function takeTrajectory(
  { blobs, dataDir }: Store,
  { sha256, bytes }: { sha256: string; bytes: number },
  where: string,
): Promise<TakenTrajectory> {
  const commands = new CommandReader();
  let end: ReadEnd | null = null;
  async function* lines() {
    const reader = readTrajectory(await blobs.read(sha256), where);
    try {
      for (;;) {
        const next = await reader.next();
        if (next.done) {
          refuseSecrets(next.value.root, where);
          end = next.value;
          return;
        }
        const { step, raw } = next.value;
        refuseSecrets(raw, `${where}#steps.${step.step_id - 1}`);
        commands.add(step);
        yield `${JSON.stringify(shownStep(step))}\n`;
      }
    } finally {
      await closeReader(reader);
    }
  }
  const steps = await adoptText({ blobs, dataDir }, lines());
  if (end === null) throw new Error(`trajectory ${sha256} has no end`);
  const { facts } = end as ReadEnd;
  return { sha256, bytes, stepsSha256: steps.sha256, stepsBytes: steps.bytes, facts, commands: commands.result() };
}

/** Puts a trajectory's file into the blob store without what looks like a token, and reads it. */
export async function storeTrajectory(context: Store, path: string): Promise<TakenTrajectory> {
  const reader: AsyncGenerator<ReadStep, ReadEnd> = readTrajectory(createReadStream(path), path);
  const stored = await adoptText(context, redactedTrajectory(reader, redactTokens));
  return takeTrajectory(context, stored, path);
}

/** Keeps a trajectory and what its commands check, for an attempt that has none; another one is refused. */
export async function keepTrajectory(tx: SqlRunner, attemptId: string, taken: TakenTrajectory): Promise<void> {
  const kept = await recordTrajectory(tx, { attemptId, ...taken });
  if (kept !== taken.sha256) {
    throw new InfraDevError("conflict", {
      code: "trajectory.differs",
      message: `the attempt has the trajectory ${kept} already, this one is ${taken.sha256}`,
      where: `attempt ${attemptId}`,
      rule: "an attempt has one trajectory; gradings of one patch are of one attempt",
      remedy: "grade again with the same trajectory, or without one",
    });
  }
  await recordCommandChecks(tx, { attemptId, rulesVersion: selfTestRulesVersion, found: taken.commands });
}

/** What the commands of a kept trajectory check; null where its bytes are not here. */
export async function readCommandChecks(
  { blobs }: Pick<Store, "blobs">,
  sha256: string,
): Promise<CommandChecks | null> {
  const commands = new CommandReader();
  try {
    for await (const { step } of readTrajectory(await blobs.read(sha256), sha256)) commands.add(step);
  } catch {
    return null;
  }
  return commands.result();
}

/** The trajectory of an attempt. Throws `trajectory.unknown`. */
export async function requireTrajectory(
  { database }: Pick<ServerContext, "database">,
  attemptId: string,
): Promise<TrajectoryPlace> {
  const found = uuidSchema.safeParse(attemptId).success
    ? await findTrajectory(database.sql, attemptId.toLowerCase())
    : null;
  if (found) return found;
  throw new InfraDevError("not-found", {
    code: "trajectory.unknown",
    message: "there is no attempt of this id with a trajectory",
    where: attemptId.slice(0, 80),
    rule: "a trajectory is named by its attempt's UUID, and most attempts have none",
    remedy: "see the attempts of /api/v1/submissions/{id}",
  });
}

/** Steps `from` to `from + count - 1` of a trajectory, by ranges; none beyond its end. */
export async function readSteps(
  context: Store,
  place: Pick<TrajectoryPlace, "steps">,
  range: { from: number; count: number },
): Promise<ShownStep[]> {
  const { lines } = await readLines(context, place.steps, { ...range, limitBytes: stepLineBytes });
  return lines.map(({ text }) => shownStepSchema.parse(JSON.parse(text)));
}

function refuseSecrets(document: unknown, where: string): void {
  let found = false;
  redactDocument(document, (text) => {
    found ||= redactTokens(text) !== text;
    return text;
  });
  if (found) {
    throw new InfraDevError("invalid", {
      code: "trajectory.secret",
      message: "a text looks like a token or a private key",
      where,
      rule: "trajectories are public and hold no secrets",
      remedy: "grade with 'runner grade --trajectory', which takes them out; revoke what was a secret",
    });
  }
}

/** Text as it is made, as a blob. */
async function adoptText(
  { blobs, dataDir }: Store,
  text: AsyncIterable<string>,
): Promise<{ sha256: string; bytes: number }> {
  const folder = join(dataDir, "ingest", randomUUID());
  const path = join(folder, "text");
  const hash = createHash("sha256");
  let bytes = 0;
  async function* counted() {
    for await (const part of text) {
      const piece = Buffer.from(part, "utf8");
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  await mkdir(folder, { recursive: true });
  try {
    await pipeline(Readable.from(counted()), createWriteStream(path));
    const sha256 = hash.digest("hex");
    await blobs.adopt(path, sha256);
    return { sha256, bytes };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
