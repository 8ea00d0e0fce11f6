/**
 * The field's words as constant tuples. The database's CHECK constraints, the zod schemas, the API and the site all
 * take their values from here, so a word has one spelling everywhere.
 */

export const categories = ["training", "inference", "rl"] as const;
export type Category = (typeof categories)[number];

export const taskTypes = ["feature", "performance", "refactor", "bugfix"] as const;
export type TaskType = (typeof taskTypes)[number];

/** `official` came with the pull request; `probe` enforces a requirement that the official tests leave unchecked. */
export const testKinds = ["official", "probe"] as const;
export type TestKind = (typeof testKinds)[number];

/** `f2p` fails before the change and passes after it; `p2p` passes before and after. */
export const expectations = ["f2p", "p2p"] as const;
export type Expectation = (typeof expectations)[number];

/** What a test's assertion checks. */
export const properties = [
  "value",
  "shape-layout-dtype",
  "state-lifecycle",
  "resource.memory",
  "resource.speed",
  "resource.traffic",
  "condition",
] as const;
export type Property = (typeof properties)[number];

export const promptConditions = ["interface", "pr-description"] as const;
export type PromptCondition = (typeof promptConditions)[number];

/** Network that the agent had while it worked. Grading never has any. */
export const networkPolicies = ["none", "model-endpoint-only", "open", "not-stated"] as const;
export type NetworkPolicy = (typeof networkPolicies)[number];

export const launchers = ["ranks", "torchrun", "pytest", "script"] as const;
export type Launcher = (typeof launchers)[number];

/** One launch per test, per file, or for the whole group. */
export const isolations = ["test", "file", "group"] as const;
export type Isolation = (typeof isolations)[number];

export const executors = ["bwrap", "process", "podman", "docker", "slurm"] as const;
export type Executor = (typeof executors)[number];

/** What one test did, on one rank or merged over its ranks. Only `passed` counts as passed. */
export const outcomeStatuses = ["passed", "failed", "error", "crashed", "hung", "skipped", "not-run"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];

export const gradingStatuses = [
  "completed",
  "patch-rejected",
  "candidate-timeout",
  "infra",
  "tampered",
  "canceled",
] as const;
export type GradingStatus = (typeof gradingStatuses)[number];

/** Provenance of a row, weakest to strongest; computed from evidence, never typed in. */
export const tiers = ["reported", "signed", "verified", "reproduced"] as const;
export type Tier = (typeof tiers)[number];

/** What an entry is: something ranked, or a reference patch set (gold, nop, mutants) shown apart and unranked. */
export const entryKinds = ["model", "reference"] as const;
export type EntryKind = (typeof entryKinds)[number];

export const probesVisibilities = ["open", "hidden"] as const;
export type ProbesVisibility = (typeof probesVisibilities)[number];

export const jobStates = ["queued", "leased", "preparing", "running", "uploading", "finished", "lost"] as const;
export type JobState = (typeof jobStates)[number];

/** Why a reader sees a task as it is: the four glyphs of the task strip. */
export const taskVerdicts = ["resolved", "probe-rejected", "failed", "missing"] as const;
export type TaskVerdict = (typeof taskVerdicts)[number];

export const keyRoles = ["runner", "vendor", "server"] as const;
export type KeyRole = (typeof keyRoles)[number];

/**
 * What measured a resource. `test`: the test itself, inside the candidate's process. The others stand outside of it:
 * `wall-clock` (the grader's own monotonic clock), `gpu-memory` (NVML), `host-memory` (cgroup or rusage), `transport`
 * (bytes that the kernel counted on the launch's own network interface), `nvlink` (hardware counters), `nccl`
 * (NCCL's profiler plugin).
 */
export const meters = ["test", "wall-clock", "gpu-memory", "host-memory", "transport", "nvlink", "nccl"] as const;
export type Meter = (typeof meters)[number];

/** What stands beside a failure in the bundle: see `failureDetailSchema`. */
export const evidenceKinds = ["torch-error-file", "flight-recorder", "stack-dump", "nccl-log", "host-event"] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

/**
 * How far a rule's word goes. `certain`: a fact of the record decides (status, active check). `likely`: the exception's
 * class, a sentence that a framework writes in this form, or the property that an asserting test declares. `weak`: words
 * that people choose freely (a message's, a function's name), or no sign at all. `none`: nothing decides.
 */
export const confidences = ["certain", "likely", "weak", "none"] as const;
export type Confidence = (typeof confidences)[number];

/** Why a launch ran: for verdicts, to measure with a profiler attached, to take times, or to take a reference's. */
export const launchPurposes = ["verdict", "profile", "timing", "reference"] as const;
export type LaunchPurpose = (typeof launchPurposes)[number];

/** What a board can be sorted by. */
export const sortKeys = [
  "resolved",
  "model",
  "official",
  "rejected",
  "training",
  "inference",
  "rl",
  "passed",
  "time",
  "cost",
  "tokens",
  "steps",
  "evidence",
  "date",
] as const;
export type SortKey = (typeof sortKeys)[number];

export const sortDirections = ["asc", "desc"] as const;
export type SortDirection = (typeof sortDirections)[number];

/** Figures that % resolved is set against. */
export const paretoAxes = ["cost", "time", "tokens"] as const;
export type ParetoAxis = (typeof paretoAxes)[number];

/** Tests that a board ranks by: all that are required, or the official ones alone. */
export const boardTests = ["all", "official"] as const;
export type BoardTests = (typeof boardTests)[number];

/** Columns of a board that a reader can choose; rank set, model and % resolved always stand. */
export const boardColumns = [
  "interval",
  "training",
  "inference",
  "rl",
  "tasks",
  "official",
  "rejected",
  "passed",
  "time",
  "cost",
  "tokens",
  "steps",
  "evidence",
  "date",
] as const;
export type BoardColumnKey = (typeof boardColumns)[number];

/** Tasks of a matrix: all, or those that some entries resolve and others do not. */
export const taskChoices = ["all", "discriminating"] as const;
export type TaskChoice = (typeof taskChoices)[number];
