import { randomUUID } from "node:crypto";
import { access, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import type { HostFacts, Result } from "@/lib/contract/result";
import type { VerificationKey } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import { type GpuGrant, gpusInWords } from "../gpus/grant";
import type { RunnerExecutor } from "../grade-to-bundle";
import { gradeTask, type ProgressEvent } from "../grading/grade";
import { collectHostFacts } from "../grading/host";
import type { PythonRuntime } from "../grading/python-runtime";
import { processOwner } from "../processes/owner";
import { runnerVersion } from "../version";
import { sha256Hex } from "./files";
import type { LoadedTask } from "./load";
import { readReferencePatch, referenceCandidate } from "./reference";
import { holdReport, readSignedReport, writeSignedReport } from "./signed-report";
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

/** Writes a report as a signed envelope, whole or not at all. */
export const writeValidation = (path: string, report: Validation, signer: Signer): Promise<void> =>
  writeSignedReport(path, validationPayloadType, report, signer);

/** Reads a report that one of `keys` signed. Throws what `readSignedReport` throws (`validation.*`). */
export const readValidation = (path: string, keys: readonly VerificationKey[]): Promise<Validation> =>
  readSignedReport(path, keys, {
    prefix: "validation",
    payloadType: validationPayloadType,
    schema: validationSchema,
    remedy: "name a file that 'runner task validate' or 'runner host-run' wrote, or remove it",
  });

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
  /** Whoever signed with one of these is gone on from; the whole report is then this signer's. */
  keys: readonly VerificationKey[];
  /** The report; gradings that stand in it already are not made again. */
  out: string;
  signal: AbortSignal;
  /** What the self-test says, given what the report has of it already. */
  exploits: (known: Validation["exploits"]) => Promise<Validation["exploits"]>;
  onGrading: (item: GateItem, event: ProgressEvent) => void;
  onGraded: (grading: GateGrading, done: number, total: number) => void | Promise<void>;
  /** GPUs of each grading, 0 where it has none. */
  gpus?: number;
  /** Waits until a grading's GPUs are free, and locks them; null where the gate's time is over first. */
  acquireGpus?: (count: number) => Promise<GpuGrant | null>;
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
 * is gone on with. Nobody else writes there meanwhile (`report.in-use`).
 */
export async function runGate(task: LoadedTask, options: GateOptions): Promise<Validation> {
  const held = await holdReport(options.out);
  try {
    return await makeGradings(task, options);
  } finally {
    await held.release();
  }
}

async function makeGradings(task: LoadedTask, options: GateOptions): Promise<Validation> {
  const items = itemsOfShard(gateItems(task, options.repeats), options.shard);
  let report = await beginReport(task, options);
  const made = new Set(report.gradings.map(({ patch, repeat }) => `${patch}#${repeat}`));
  const open = items.filter(({ patch, repeat }) => !made.has(`${patch}#${repeat}`));
  const work = await mkdtemp(join(tmpdir(), `infradev-gate-${processOwner}-`));
  let writing: Promise<void> = Promise.resolve();
  let longestMs = Math.max(0, ...report.gradings.map(({ durationMs }) => durationMs));
  let left = options.maxGradings ?? Number.POSITIVE_INFINITY;
  const inTime = (): boolean =>
    options.untilMs === undefined || performance.now() + (longestMs || (options.expectMs?.() ?? 0)) <= options.untilMs;
  const worker = async (): Promise<void> => {
    for (let item = open.shift(); item !== undefined; item = open.shift()) {
      left -= 1;
      if (left < 0 || !inTime()) return;
      const gpus = options.gpus ? ((await options.acquireGpus?.(options.gpus)) ?? null) : null;
      if (options.gpus && gpus === null) return;
      const startedMs = performance.now();
      let grading: GateGrading;
      try {
        options.signal.throwIfAborted();
        if (!inTime()) return;
        grading = await gradeItem(task, item, gpus, options, join(work, `${item.patch}-${item.repeat}`));
      } finally {
        await gpus?.release();
      }
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      report = { ...report, finishedAt: new Date().toISOString(), gradings: [...report.gradings, grading] };
      writing = writing.then(() => writeValidation(options.out, report, options.signer));
      await writing;
      await options.onGraded(grading, report.gradings.length, items.length);
    }
  };
  try {
    const workers = await Promise.allSettled(Array.from({ length: options.parallel ?? 1 }, worker));
    const failed = workers.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    if (options.shard.index === 1) report = { ...report, exploits: await options.exploits(report.exploits) };
    // Without a grading it says nothing, and what may stand there does.
    const isFirst = await access(options.out).then(
      () => false,
      () => true,
    );
    if (report.gradings.length > 0 || isFirst) await writeValidation(options.out, report, options.signer);
    return report;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What says whether a report that is there is gone on with. */
type ReportOptions = Pick<GateOptions, "out" | "keys" | "repeats" | "executor" | "gpus">;

/**
 * The report at `out`, with the gradings that need not be made again: not those of a reference patch that is another
 * one now, nor those that ended as the host's fault. Null where there is none, or one of the task as it was before.
 * Throws `validation.profile` where its gradings had other GPUs, another executor or runner, `validation.repeats` where
 * gold was graded more often than is asked for, and `validation.*` where the file is no report that one of `keys` signed.
 */
export async function readEarlier(task: LoadedTask, options: ReportOptions): Promise<Validation | null> {
  const { out, keys, repeats, executor, gpus = 0 } = options;
  const earlier = await readValidation(out, keys).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (earlier === null || earlier.gradings.length === 0) return null;
  const conflict = (code: string, message: string, remedy: string): InfraDevError =>
    new InfraDevError("conflict", { code, message, where: out, rule: "what was made is not thrown away", remedy });
  if (earlier.task !== task.metadata.slug) {
    throw conflict("validation.task", `the report there is of ${earlier.task}`, "name another --out");
  }
  if (earlier.gradingDigest !== task.manifest.digests.grading) return null;
  refuseOtherProfile("validation.profile", earlier, { gpus, executor, runnerVersion }, out);
  const planned = new Set(gateItems(task, 1).map(({ patch }) => patch));
  const gradings: GateGrading[] = [];
  for (const grading of earlier.gradings) {
    if (!planned.has(grading.patch) || grading.status === "infra") continue;
    const digest = sha256Hex(await readReferencePatch(task, grading.patch));
    if (grading.patchSha256 === undefined || grading.patchSha256 === digest) gradings.push(grading);
  }
  const made = Math.max(0, ...gradings.map(({ repeat }) => repeat));
  if (made > repeats) {
    const message = `gold was graded ${made} times in the report there; ${repeats} times are asked for`;
    throw conflict("validation.repeats", message, `ask for --repeats ${made}, or name another --out`);
  }
  return { ...earlier, gradings, repeats };
}

type Profile = Pick<Validation, "gpus" | "executor" | "runnerVersion">;

/** Throws a conflict of this code where the report at `where` had other GPUs, another executor or runner than asked for. */
export function refuseOtherProfile(code: string, earlier: Profile, asked: Profile, where: string): void {
  const inWords = ({ gpus, executor, runnerVersion: runner }: Profile): string =>
    `${gpusInWords(gpus)} a grading, executor ${executor}, runner ${runner}`;
  const [before, now] = [inWords(earlier), inWords(asked)];
  if (before === now) return;
  throw new InfraDevError("conflict", {
    code,
    message: `the report there is of ${before}; this one would be of ${now}`,
    where,
    rule: "what was made is not thrown away",
    remedy: "ask for the same, or name another --out",
  });
}

/** What decides verdicts on a host: gradings with other software are no repeats of each other. */
const softwareOf = ({ torch, nccl, python, gpus }: HostFacts, usesGpus: boolean): string =>
  [
    `Python ${python}, torch ${torch ?? "none"}`,
    ...(usesGpus
      ? [`NCCL ${nccl ?? "none"}`, ...new Set(gpus.map((gpu) => `${gpu.model}, driver ${gpu.driver}`))]
      : []),
  ].join(", ");

/** Throws `validation.software` where the report at `where` was made with other software or GPUs than this host has. */
export function refuseOtherSoftware(earlier: { host: HostFacts; gpus: number }, host: HostFacts, where: string): void {
  const [before, now] = [softwareOf(earlier.host, earlier.gpus > 0), softwareOf(host, earlier.gpus > 0)];
  if (before === now) return;
  throw new InfraDevError("conflict", {
    code: "validation.software",
    message: `the report there was made with ${before}; this host has ${now}`,
    where,
    rule: "all gradings of a report were made with the same software and GPUs",
    remedy: "name another --out",
  });
}

async function beginReport(task: LoadedTask, options: GateOptions): Promise<Validation> {
  const earlier = await readEarlier(task, options);
  const host = await collectHostFacts(options.python);
  if (earlier !== null) {
    refuseOtherSoftware(earlier, host, options.out);
    return earlier;
  }
  return {
    format: "infradev-validation/1",
    suite: { slug: task.suite.slug, version: task.suite.version },
    task: task.metadata.slug,
    gradingDigest: task.manifest.digests.grading,
    promptDigests: task.manifest.digests.prompts,
    runnerVersion,
    executor: options.executor,
    host,
    startedAt: new Date().toISOString(),
    finishedAt: new Date().toISOString(),
    gpus: options.gpus ?? 0,
    repeats: options.repeats,
    gradings: [],
    exploits: null,
  };
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
