import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { dsseEnvelopeSchema } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import type { Result } from "@/lib/contract/result";
import { decodeUtf8 } from "@/lib/evidence/bytes";
import { type VerificationKey, verifyEnvelope } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import type { GpuGrant } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask, type ProgressEvent } from "../grading/grade";
import { collectHostFacts } from "../grading/host";
import type { PythonRuntime } from "../grading/python-runtime";
import { processOwner } from "../processes/owner";
import { runnerVersion } from "../version";
import { sha256Hex } from "./files";
import type { LoadedTask } from "./load";
import { readReferencePatch, referenceCandidate } from "./reference";
import { writeSignedReport } from "./signed-report";
import {
  type GateGrading,
  type GateItem,
  gateGradingOf,
  gateItems,
  itemsOfShard,
  type Shard,
  type Validation,
  validationPayloadType,
  validationSchema,
} from "./validate";

const envelopeSchema = dsseEnvelopeSchema.extend({ payloadType: z.literal(validationPayloadType) });

/** Writes a report as a signed envelope, whole or not at all. */
export const writeValidation = (path: string, report: Validation, signer: Signer): Promise<void> =>
  writeSignedReport(path, validationPayloadType, report, signer);

/** Reads a report that one of `keys` signed. Throws `validation.form` and DSSE's problems (`validation.*`). */
export async function readValidation(path: string, keys: readonly VerificationKey[]): Promise<Validation> {
  const form = (cause?: unknown): InfraDevError =>
    new InfraDevError(
      "invalid",
      {
        code: "validation.form",
        message: "the file is no signed validation report of this version",
        where: path,
        rule: `one DSSE envelope of type ${validationPayloadType}`,
        remedy: "name a file that 'runner task validate' wrote, or remove it",
      },
      { cause },
    );
  let document: unknown;
  try {
    document = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== undefined) throw cause;
    throw form(cause);
  }
  const envelope = envelopeSchema.safeParse(document);
  if (!envelope.success) throw form(envelope.error);
  const verdict = await verifyEnvelope(envelope.data, keys, "validation");
  if (!verdict.ok)
    throw new InfraDevError("invalid", { ...verdict.problem, where: `${path} (${verdict.problem.where})` });
  const report = validationSchema.safeParse(JSON.parse(decodeUtf8(verdict.body)));
  if (!report.success) throw form(report.error);
  return report.data;
}

const reportEvent = z.object({ event: z.literal("report"), id: z.string(), peak_rss_kb: z.number() });
const launchResources = z.object({
  memoryPeakMb: z.number().nullable(),
  ranks: z.array(z.object({ peakRssKb: z.number() })),
  outside: z.object({
    gpus: z.array(z.object({ gpu: z.int(), peakMib: z.number().nullable() })),
  }),
});

/** Peak memory from a payload, in MiB: of the grading, by the end of each test, and of each GPU over what it held before. */
async function readMemory(payloadDir: string) {
  const ofTest = new Map<string, number>();
  const filesOf = async (folder: string): Promise<string[]> => {
    const entries = await readdir(join(payloadDir, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  };
  for (const file of await filesOf("events")) {
    for (const line of (await readFile(file, "utf8")).split("\n")) {
      if (!line.includes('"report"')) continue;
      const event = reportEvent.safeParse(JSON.parse(line));
      if (event.success)
        ofTest.set(event.data.id, Math.max(ofTest.get(event.data.id) ?? 0, event.data.peak_rss_kb / 1024));
    }
  }
  let peakMemoryMb: number | null = null;
  const ofGpu: (number | null)[] = [];
  for (const file of (await filesOf("resources")).filter((path) => path.endsWith(".json"))) {
    const launch = launchResources.safeParse(JSON.parse(await readFile(file, "utf8")));
    if (!launch.success) continue;
    const summed = launch.data.ranks.reduce((sum, rank) => sum + rank.peakRssKb / 1024, 0);
    peakMemoryMb = Math.max(peakMemoryMb ?? 0, launch.data.memoryPeakMb ?? summed);
    for (const { gpu, peakMib } of launch.data.outside.gpus) {
      const before = ofGpu[gpu] ?? null;
      ofGpu[gpu] = peakMib === null ? before : Math.max(before ?? 0, peakMib);
    }
  }
  return { peakMemoryMb, ofTest, ofGpu };
}

export type GateOptions = {
  repeats: number;
  shard: Shard;
  executor: RunnerExecutor;
  python: PythonRuntime;
  signer: Signer;
  /** The report; gradings that stand in it already are not made again. */
  out: string;
  signal: AbortSignal;
  /** What the self-test says, given what the report has of it already. */
  exploits: (known: Validation["exploits"]) => Promise<Validation["exploits"]>;
  onGrading: (item: GateItem, event: ProgressEvent) => void;
  onGraded: (grading: GateGrading, done: number, total: number) => void;
  /** GPUs of each grading, 0 where it has none. */
  gpus?: number;
  /** Waits until a grading's GPUs are free, and locks them. */
  acquireGpus?: (count: number) => Promise<GpuGrant>;
  /** Gradings at once; one by default. */
  parallel?: number;
  /** Milliseconds that a grading may take before one of this task was seen, for `untilMs`. */
  expectMs?: () => number;
  /** Ends a mutant's grading with the first probe that rejects it, where host time is short. */
  untilRejected?: boolean;
  /** Gradings that this call makes at most. */
  maxGradings?: number;
  /** No grading is started after this time of `performance.now()` that would not be over before it, as far as known. */
  untilMs?: number;
  /** Called before a grading; what it gives is called after it. For a run that has the host to itself. */
  watchHost?: (gpuUuids: readonly string[]) => Promise<() => Promise<NonNullable<GateGrading["leftovers"]>>>;
};

/**
 * Makes the gradings of one shard of the gate and writes the signed report after each, so that a run that ended early
 * is gone on with.
 */
export async function runGate(task: LoadedTask, options: GateOptions): Promise<Validation> {
  const items = itemsOfShard(gateItems(task, options.repeats), options.shard);
  let report = await beginReport(task, options);
  const made = new Set(report.gradings.map(({ patch, repeat }) => `${patch}#${repeat}`));
  const open = items.filter(({ patch, repeat }) => !made.has(`${patch}#${repeat}`));
  const work = await mkdtemp(join(tmpdir(), `infradev-gate-${processOwner}-`));
  let writing: Promise<void> = Promise.resolve();
  let longestMs = Math.max(0, ...report.gradings.map(({ durationMs }) => durationMs));
  let left = options.maxGradings ?? Number.POSITIVE_INFINITY;
  const worker = async (): Promise<void> => {
    for (let item = open.shift(); item !== undefined; item = open.shift()) {
      left -= 1;
      if (left < 0) return;
      const gpus = options.gpus ? ((await options.acquireGpus?.(options.gpus)) ?? null) : null;
      const startedMs = performance.now();
      let grading: GateGrading;
      try {
        options.signal.throwIfAborted();
        if (options.untilMs !== undefined && startedMs + (longestMs || (options.expectMs?.() ?? 0)) > options.untilMs) {
          return;
        }
        grading = await gradeItem(task, item, gpus, options, join(work, `${item.patch}-${item.repeat}`));
      } finally {
        await gpus?.release();
      }
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      report = { ...report, finishedAt: new Date().toISOString(), gradings: [...report.gradings, grading] };
      writing = writing.then(() => writeValidation(options.out, report, options.signer));
      await writing;
      options.onGraded(grading, report.gradings.length, items.length);
    }
  };
  try {
    const workers = await Promise.allSettled(Array.from({ length: options.parallel ?? 1 }, worker));
    const failed = workers.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    if (options.shard.index === 1) report = { ...report, exploits: await options.exploits(report.exploits) };
    await writeValidation(options.out, report, options.signer);
    return report;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What says whether a report that is there is gone on with. */
type ReportOptions = Pick<GateOptions, "out" | "signer" | "repeats" | "executor" | "gpus">;

/**
 * The report at `out` where the gate goes on with it, null where it begins anew. Throws `validation.repeats` where gold
 * was graded more often there than is asked for, and `validation.*` where the file is no report of this signer's.
 */
export async function readEarlier(task: LoadedTask, options: ReportOptions): Promise<Validation | null> {
  const { out, signer, repeats } = options;
  const earlier = await readValidation(out, [keyOf(signer)]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (earlier === null || !continues(earlier, task, options)) return null;
  const made = Math.max(0, ...earlier.gradings.map(({ repeat }) => repeat));
  if (made > repeats) {
    throw new InfraDevError("conflict", {
      code: "validation.repeats",
      message: `gold was graded ${made} times in the report there; ${repeats} times are asked for`,
      where: out,
      rule: "what was made is not thrown away",
      remedy: `ask for --repeats ${made}, or name another --out`,
    });
  }
  return earlier;
}

async function beginReport(task: LoadedTask, options: GateOptions): Promise<Validation> {
  const report: Validation = {
    format: "infradev-validation/1",
    suite: { slug: task.suite.slug, version: task.suite.version },
    task: task.metadata.slug,
    gradingDigest: task.manifest.digests.grading,
    promptDigests: task.manifest.digests.prompts,
    runnerVersion,
    executor: options.executor,
    host: await collectHostFacts(options.python),
    startedAt: new Date().toISOString(),
    finishedAt: new Date().toISOString(),
    gpus: options.gpus ?? 0,
    repeats: options.repeats,
    gradings: [],
    exploits: null,
  };
  const earlier = await readEarlier(task, options);
  if (earlier === null) return report;
  const planned = new Set(gateItems(task, options.repeats).map(({ patch }) => patch));
  const gradings: GateGrading[] = [];
  for (const grading of earlier.gradings.filter(({ patch }) => planned.has(patch))) {
    const digest = sha256Hex(await readReferencePatch(task, grading.patch));
    if (grading.patchSha256 === undefined || grading.patchSha256 === digest) gradings.push(grading);
  }
  return { ...earlier, gradings, repeats: report.repeats, finishedAt: report.finishedAt };
}

async function gradeItem(
  task: LoadedTask,
  item: GateItem,
  gpus: GpuGrant | null,
  options: GateOptions,
  workDir: string,
): Promise<GateGrading> {
  const untilRejected = (options.untilRejected ?? false) && item.patch.startsWith("mutant-");
  const leftovers = await options.watchHost?.(gpus?.uuids ?? []);
  const patch = await readReferencePatch(task, item.patch);
  const graded = await gradeTask({
    task,
    suite: task.suite,
    patch,
    candidate: referenceCandidate(item.patch),
    gradingId: randomUUID(),
    attemptId: null,
    lease: null,
    executor: options.executor,
    gpus,
    python: options.python,
    workDir,
    onProgress: (event) => options.onGrading(item, event),
    signal: options.signal,
    runnerVersion,
    stopWhenRejected: untilRejected,
  });
  options.signal.throwIfAborted();
  const memory = await readMemory(graded.payloadDir);
  const grading = {
    ...gateGradingOf(item, graded.result as Result, memory, untilRejected),
    patchSha256: sha256Hex(patch),
  };
  await rm(workDir, { recursive: true, force: true });
  return leftovers === undefined ? grading : { ...grading, leftovers: await leftovers() };
}

export const keyOf = (signer: Signer): VerificationKey => ({
  keyid: signer.keyid,
  spki: Buffer.from(signer.spki).toString("base64"),
});

const continues = (earlier: Validation, task: LoadedTask, { executor, gpus = 0 }: ReportOptions): boolean =>
  earlier.task === task.metadata.slug &&
  earlier.gradingDigest === task.manifest.digests.grading &&
  earlier.runnerVersion === runnerVersion &&
  earlier.executor === executor &&
  earlier.gpus === gpus;
