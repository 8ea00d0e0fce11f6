import { z } from "zod";
import { instantSchema, slugSchema, suiteVersionSchema, uuidSchema } from "./scalars";
import { testIdSchema } from "./task";
import {
  confidences,
  evidenceKinds,
  executors,
  expectations,
  gradingStatuses,
  isolations,
  launchers,
  launchPurposes,
  meters,
  outcomeStatuses,
  properties,
  testKinds,
} from "./vocabulary";

/** One frame of a traceback, innermost last. `origin` says whose code it is; paths are relative to that place. */
export const frameSchema = z.object({
  file: z.string(),
  line: z.int().nonnegative(),
  function: z.string(),
  origin: z.enum(["project", "test", "probe", "other"]),
  code: z.string().max(400).nullable(),
});
export type Frame = z.infer<typeof frameSchema>;

export const phases = ["collect", "setup", "call", "teardown", "launch"] as const;

/** Why a test did not pass on one rank. */
export const failureDetailSchema = z.object({
  phase: z.enum(phases),
  /** Qualified exception type, `null` for a crash or a hang that left no exception. */
  exceptionType: z.string().max(300).nullable(),
  /** Method resolution order of the exception's class, qualified, without `object`. */
  mro: z.array(z.string().max(300)),
  message: z.string().max(20_000),
  frames: z.array(frameSchema).max(200),
  /** Property of the `checks(...)` block that was active, if any. */
  activeCheck: z.enum(properties).nullable(),
  /** Rank whose earlier failure explains this one (a lost peer, a collective's time-out), else null. */
  secondaryOf: z.int().nullable(),
  /** What the frameworks and the host left beside the failure: a file of the payload, and the lines that matter. */
  evidence: z
    .array(z.object({ kind: z.enum(evidenceKinds), file: z.string().max(300), excerpt: z.string().max(4000) }))
    .max(20)
    .optional(),
});
export type FailureDetail = z.infer<typeof failureDetailSchema>;

/** A measured resource against its limit. Lower is better; `met` is value <= limit. */
export const resourceSchema = z.object({
  name: z.string().max(80),
  rank: z.int().nonnegative(),
  property: z.enum(properties).nullable(),
  value: z.number(),
  limit: z.number(),
  unit: z.string().max(20),
  repeats: z.int().min(1),
  met: z.boolean(),
  /** Who measured; the test itself where absent. */
  meter: z.enum(meters).optional(),
  /** Least and greatest of the repeats, in `unit`. */
  spread: z.object({ min: z.number(), max: z.number() }).optional(),
  /** For a ratio: what it is relative to, and both sides' medians in `sideUnit`. */
  relative: z
    .object({ to: z.enum(["base", "gold"]), reference: z.number(), measured: z.number(), sideUnit: z.string().max(20) })
    .optional(),
  /** How far the value may be off, and why, in a sentence. */
  accuracy: z.string().max(300).optional(),
});
export type Resource = z.infer<typeof resourceSchema>;

/**
 * What a launch took, or a test in the launch that decided it. Measured outside of the candidate's process, except for
 * `allocatorPeakMib`, which torch's allocator says of itself. Null: not measured.
 */
export const usageSchema = z.object({
  /** The slowest rank's call. */
  wallClockS: z.number().nonnegative().nullable(),
  /** Peak above what the GPU held before the launch, on the GPU where it is greatest. */
  gpuPeakMib: z.number().nonnegative().nullable(),
  allocatorPeakMib: z.number().nonnegative().nullable(),
  hostPeakMib: z.number().nonnegative().nullable(),
  /** Bytes on the launch's own loopback interface. */
  transportBytes: z.number().nonnegative().nullable(),
  /** Payload that the launch's GPUs sent over NVLink. */
  nvlinkBytes: z.number().nonnegative().nullable(),
});
export type Usage = z.infer<typeof usageSchema>;

/** What one test did on one rank. */
export const rankOutcomeSchema = z.object({
  rank: z.int().nonnegative(),
  status: z.enum(outcomeStatuses),
  /** Index into `launches`, null when nothing was launched. */
  launch: z.int().nonnegative().nullable(),
  startedAt: instantSchema.nullable(),
  durationMs: z.number().nonnegative().nullable(),
  failure: failureDetailSchema.nullable(),
  /** First line (1-based) of this test's output in the rank's stdout log of the launch, where known. */
  logLine: z.int().positive().nullable(),
});
export type RankOutcome = z.infer<typeof rankOutcomeSchema>;

/** What a label was read from: a part of one field of the failure. `from` and `to` count UTF-16 units, `to` excluded. */
export const evidenceSpanSchema = z.object({
  /** `function` and `code` are a frame's; `mro`: a class's name; `property`: what the manifest declares for the test. */
  field: z.enum(["status", "exceptionType", "mro", "message", "function", "code", "activeCheck", "property"]),
  /** Which frame or class, else null. */
  index: z.int().nonnegative().nullable(),
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
});
export type EvidenceSpan = z.infer<typeof evidenceSpanSchema>;

/** Label of a failure by rule (see lib/taxonomy). Types are data: plain strings here. */
export const ruleLabelSchema = z.object({
  class: z.string(),
  type: z.string(),
  rule: z.string(),
  rulesVersion: z.string(),
  tags: z.array(z.string()),
  /** Absent in bundles of older runners. */
  confidence: z.enum(confidences).optional(),
  evidence: evidenceSpanSchema.nullable().optional(),
});
export type RuleLabel = z.infer<typeof ruleLabelSchema>;

/** What one test did in this grading, merged over its required ranks. */
export const testOutcomeSchema = z.object({
  id: testIdSchema,
  kind: z.enum(testKinds),
  expectation: z.enum(expectations),
  group: slugSchema,
  required: z.boolean(),
  status: z.enum(outcomeStatuses),
  durationMs: z.number().nonnegative().nullable(),
  ranks: z.array(rankOutcomeSchema),
  /** Rank of the earliest failure by wall clock; null where the test passed or no rank reported. */
  rootRank: z.int().nonnegative().nullable(),
  resources: z.array(resourceSchema),
  /** Absent where nothing was launched. */
  usage: usageSchema.optional(),
  label: ruleLabelSchema.nullable(),
});
export type TestOutcome = z.infer<typeof testOutcomeSchema>;

export const launchSchema = z.object({
  group: slugSchema,
  launcher: z.enum(launchers),
  isolation: z.enum(isolations),
  nproc: z.int().min(1),
  tests: z.array(testIdSchema),
  startedAt: instantSchema,
  durationMs: z.number().nonnegative(),
  /** Why the parent ended it, null when every rank ended by itself; `rank-lost`: the others waited for one that died. */
  killed: z.enum(["test-timeout", "group-timeout", "rank-lost", "canceled", "output-limit"]).nullable(),
  exits: z.array(z.object({ rank: z.int(), code: z.int().nullable(), signal: z.string().nullable() })),
  /** UUIDs of the GPUs that the launch saw, in the order of its ranks; absent where it saw none. */
  gpus: z.array(z.string().max(80)).optional(),
  /** `verdict` where absent. Only those decide outcomes by themselves. */
  purpose: z.enum(launchPurposes).optional(),
  /** Absent where it was not measured. */
  usage: usageSchema.optional(),
  /** How many launches of the same tests preceded it, each ended before all of them had an outcome; absent for none. */
  relaunch: z.int().min(1).optional(),
});
export type Launch = z.infer<typeof launchSchema>;

/** Facts of the host: no host name, no user, no path. */
export const hostFactsSchema = z.object({
  os: z.string(),
  kernel: z.string(),
  arch: z.string(),
  cpuModel: z.string(),
  cpuCount: z.int().positive(),
  memoryMb: z.int().positive(),
  gpus: z.array(
    z.object({
      uuid: z.string(),
      model: z.string(),
      memoryMb: z.int(),
      driver: z.string(),
      mig: z.enum(["enabled", "disabled"]).optional(),
      /** Uncorrected ECC errors since the driver was loaded. */
      eccUncorrected: z.int().nonnegative().optional(),
      numaNode: z.int().optional(),
      pciBus: z.string().max(40).optional(),
    }),
  ),
  topology: z.string().nullable(),
  cuda: z.string().nullable(),
  nccl: z.string().nullable(),
  python: z.string(),
  pytest: z.string(),
  torch: z.string().nullable(),
  node: z.string(),
});
export type HostFacts = z.infer<typeof hostFactsSchema>;

export const summarySchema = z.object({
  requiredTotal: z.int().nonnegative(),
  requiredPassed: z.int().nonnegative(),
  resolved: z.boolean(),
  officialTotal: z.int().nonnegative(),
  officialPassed: z.int().nonnegative(),
  officialResolved: z.boolean(),
});
export type Summary = z.infer<typeof summarySchema>;

/** `result.json` of a bundle. */
export const resultSchema = z.object({
  format: z.literal("infradev-result/1"),
  gradingId: uuidSchema,
  suite: z.object({ slug: slugSchema, version: suiteVersionSchema }),
  task: slugSchema,
  status: z.enum(gradingStatuses),
  /** Evidence for any status but `completed`: a stable code, a sentence, and what was seen. */
  reason: z.object({ code: z.string(), message: z.string(), evidence: z.array(z.string()) }).nullable(),
  executor: z.enum(executors),
  sandboxed: z.boolean(),
  startedAt: instantSchema,
  finishedAt: instantSchema,
  durationMs: z.number().nonnegative(),
  summary: summarySchema,
  launches: z.array(launchSchema),
  tests: z.array(testOutcomeSchema),
  /** Tests that reported and that the manifest does not list: kept as information, never counted. */
  extraTests: z.array(z.object({ id: testIdSchema, status: z.enum(outcomeStatuses) })),
});
export type Result = z.infer<typeof resultSchema>;

/** `run.lock.json`: what a replay needs. */
export const runLockSchema = z.object({
  format: z.literal("infradev-run-lock/1"),
  suite: z.object({ slug: slugSchema, version: suiteVersionSchema }),
  task: z.object({ slug: slugSchema, gradingDigest: z.string(), baseTree: z.string() }),
  patchSha256: z.string(),
  environment: z.object({
    key: z.string(),
    executor: z.enum(executors),
    python: z.string(),
    pytest: z.string(),
    digests: z.array(z.string()),
  }),
  runner: z.object({ version: z.string() }),
  launches: z.array(
    z.object({ group: slugSchema, argv: z.array(z.string()), nproc: z.int(), env: z.record(z.string(), z.string()) }),
  ),
  seeds: z.record(z.string(), z.int()),
  limits: z.object({
    memoryMb: z.int().nullable(),
    /** Size of a launch's own /dev/shm, where its executor makes one. */
    shmMb: z.int().positive().optional(),
    outputBytes: z.int(),
    timeoutSec: z.number(),
  }),
});
export type RunLock = z.infer<typeof runLockSchema>;

/** `guard.json`: what watched over the grading. */
export const guardSchema = z.object({
  format: z.literal("infradev-guard/1"),
  /** Known-fail and known-pass items that the grader placed among the tests, and whether they reported as they must. */
  canaries: z.array(
    z.object({
      launch: z.int(),
      rank: z.int(),
      expected: z.enum(["passed", "failed"]),
      observed: z.enum(outcomeStatuses),
    }),
  ),
  /** Paths that the patch touched and that were restored to the task's own bytes. */
  restoredPaths: z.array(z.string()),
  /** Findings of scans, each a stable code and a sentence. */
  findings: z.array(z.object({ code: z.string(), message: z.string() })),
  /**
   * Tests that passed, launched again with another expected value or with something false asserted at their end: one
   * that passes like that shows that its pass says nothing. Absent where none was launched.
   */
  controls: z
    .array(
      z.object({
        group: slugSchema,
        test: testIdSchema,
        change: z.enum(["expectation", "end"]),
        observed: z.enum(outcomeStatuses),
      }),
    )
    .optional(),
});
export type Guard = z.infer<typeof guardSchema>;

/**
 * The one arithmetic of a grading: a required test counts when its merged status is `passed`. Anything but a completed
 * grading resolves nothing.
 */
export function summarize(
  tests: readonly Pick<TestOutcome, "kind" | "required" | "status">[],
  completed: boolean,
): Summary {
  const required = tests.filter((test) => test.required);
  const official = required.filter((test) => test.kind === "official");
  const requiredPassed = required.filter((test) => test.status === "passed").length;
  const officialPassed = official.filter((test) => test.status === "passed").length;
  return {
    requiredTotal: required.length,
    requiredPassed,
    resolved: completed && required.length > 0 && requiredPassed === required.length,
    officialTotal: official.length,
    officialPassed,
    officialResolved: completed && official.length > 0 && officialPassed === official.length,
  };
}
