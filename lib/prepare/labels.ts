import type {
  Category,
  EvidenceKind,
  GradingStatus,
  LaunchPurpose,
  Meter,
  NetworkPolicy,
  OutcomeStatus,
  PromptCondition,
  Property,
  TaskType,
  TaskVerdict,
  TestKind,
  Tier,
} from "@/lib/contract/vocabulary";

export const categoryLabels: Record<Category, string> = { training: "Training", inference: "Inference", rl: "RL" };

export const taskTypeLabels: Record<TaskType, string> = {
  feature: "feature",
  performance: "performance",
  refactor: "refactor",
  bugfix: "bug fix",
};

export const conditionLabels: Record<PromptCondition, string> = {
  interface: "interface prompt",
  "pr-description": "pull-request description",
};

/** Network that the agent had while it worked. */
export const networkLabels: Record<NetworkPolicy, string> = {
  none: "none",
  "model-endpoint-only": "model endpoint only",
  open: "open",
  "not-stated": "not stated",
};

export const propertyLabels: Record<Property, string> = {
  value: "value",
  "shape-layout-dtype": "shape, layout, dtype",
  "state-lifecycle": "state, lifecycle",
  "resource.memory": "memory",
  "resource.speed": "speed",
  "resource.traffic": "traffic",
  condition: "condition",
};

/** Who measured a resource. */
export const meterLabels: Record<Meter, string> = {
  test: "the test itself",
  "wall-clock": "the grader's clock",
  "gpu-memory": "NVML",
  "host-memory": "the kernel, of the whole launch",
  transport: "the kernel, on loopback",
  nvlink: "NVLink counters",
  nccl: "NCCL's profiler",
};

export const purposeLabels: Record<LaunchPurpose, string> = {
  verdict: "for the verdict",
  profile: "to measure",
  timing: "to take the time",
  reference: "of the reference",
};

export const evidenceLabels: Record<EvidenceKind, string> = {
  "torch-error-file": "torch's error file",
  "flight-recorder": "flight recorder",
  "stack-dump": "stacks",
  "nccl-log": "NCCL's warnings",
  "host-event": "host",
};

export const verdictLabels: Record<TaskVerdict, string> = {
  resolved: "resolved",
  "probe-rejected": "official tests pass, probes reject",
  failed: "fails official tests",
  missing: "no grading",
};

export const testKindLabels: Record<TestKind, string> = { official: "official tests", probe: "probes" };

export const statusLabels: Record<OutcomeStatus, string> = {
  passed: "passed",
  failed: "failed",
  error: "error",
  crashed: "crashed",
  hung: "hung",
  skipped: "skipped",
  "not-run": "not run",
};

export const gradingStatusLabels: Record<GradingStatus, string> = {
  completed: "completed",
  "patch-rejected": "patch rejected",
  "candidate-timeout": "candidate's time-out",
  infra: "host's fault",
  tampered: "tampered",
  canceled: "canceled",
};

/** What each tier of provenance rests on. */
export const tierMeanings: Record<Tier, string> = {
  reported: "Figures copied from a publication, with citation; no evidence here to check.",
  signed: "The vendor's own signed bundles: digests, arithmetic and manifest checked, not re-executed here.",
  verified: "Graded by a host that the benchmark trusts, bound to a lease and its nonce.",
  reproduced: "Trusted hosts of two operators graded the same patches and every outcome agrees.",
};
