import { z } from "zod";
import { gitOidSchema, relativePathSchema, sha256Schema, slugSchema, suiteVersionSchema } from "./scalars";
import {
  categories,
  entryKinds,
  expectations,
  isolations,
  launchers,
  meters,
  networkPolicies,
  probesVisibilities,
  promptConditions,
  properties,
  taskTypes,
  testKinds,
} from "./vocabulary";

/** A test id: `tests/...` for what is laid over the repository, `probes/...` for probes; pytest's node id after it. */
export const testIdSchema = z
  .string()
  .max(400)
  .regex(/^[^\p{Cc}]+$/u, "control characters are not allowed in a test id");

/** Which ranks must pass: all of the launch, a list, or any one. */
export const ranksSchema = z.union([z.literal("all"), z.literal("any"), z.array(z.int().min(0)).min(1)]);
export type Ranks = z.infer<typeof ranksSchema>;

export const resourceLimitSchema = z.object({
  resource: z.string().max(80),
  unit: z.string().max(20),
  value: z.number(),
  relative_to: z.enum(["base", "gold"]).nullable().default(null),
  /**
   * Who measures. By default the test, inside its process (`check_resource`). Any other meter stands outside: the
   * grader measures while the test runs, and decides after it, whatever the test said. With `relative_to`, `value` is
   * the greatest ratio to what base or gold takes on the same host in the same grading.
   */
  meter: z.enum(meters).exclude(["test"]).optional(),
  /** Measurements behind the value, for outside meters; at least five where times are compared. */
  repeats: z.int().min(1).max(100).optional(),
});

/** `tests/tests.json` of a task directory. SWE-bench's two keys, and ours per test. */
export const testsFileSchema = z.object({
  FAIL_TO_PASS: z.array(testIdSchema),
  PASS_TO_PASS: z.array(testIdSchema),
  tests: z.record(
    testIdSchema,
    z.object({
      kind: z.enum(testKinds),
      group: slugSchema,
      property: z.enum(properties),
      condition: z.string().max(200).optional(),
      ranks: ranksSchema.default("all"),
      needs: z.object({ ranks: z.int().min(1).default(1), gpus: z.int().min(0).default(0) }).prefault({}),
      required: z.boolean().default(true),
      not_required_reason: z.string().max(400).optional(),
      requirement: z.string().max(600).optional(),
      limit: resourceLimitSchema.optional(),
    }),
  ),
});
export type TestsFile = z.infer<typeof testsFileSchema>;

export const interfaceSchema = z.object({
  symbol: z.string().max(300),
  kind: z.enum(["function", "class", "method", "attribute", "module", "constant"]),
  signature: z.string().max(600),
  used_by: z.array(testIdSchema),
});
export const interfacesFileSchema = z.array(interfaceSchema);
export type InterfaceEntry = z.infer<typeof interfaceSchema>;

export const groupSchema = z.object({
  id: slugSchema,
  launcher: z.enum(launchers),
  nproc: z.int().min(1).max(1024),
  isolation: z.enum(isolations),
  timeout_sec: z.number().positive(),
  test_timeout_sec: z.number().positive(),
  /** Variables of the launch's environment beside the grader's own, for example NCCL's. */
  env: z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), z.string().max(400)).optional(),
  /** Folder of the repository above which no conftest.py is loaded (pytest's `--confcutdir`); by default all are. */
  conftest_root: relativePathSchema.optional(),
});
export type Group = z.infer<typeof groupSchema>;

/**
 * `[metadata.infradev.upstream]`: a task made from a public pull request. Nothing of the pull request stands in the task
 * directory: base tree, official tests, reference change and the pull request's description are read at run time from a
 * clone or mirror, checked by commit and digest.
 */
export const upstreamSchema = z.object({
  repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, "expected owner/name"),
  base_commit: gitOidSchema,
  /** Its first parent is `base_commit`. The reference change is its diff without `official_tests` and `left_out`. */
  merge_commit: gitOidSchema,
  /** Files as they stand in the merge commit. */
  official_tests: z.array(z.object({ path: relativePathSchema, sha256: sha256Schema })).min(1),
  /** Globs (`*` within a name, `**` over folders) of what is part of neither the base nor the reference change. */
  left_out: z.array(z.string().min(1).max(200)).max(100).default([]),
  /** sha256 of the merge commit's message. Where it is given, that message is the prompt `pr-description`. */
  pr_description_sha256: sha256Schema.optional(),
});
export type UpstreamMetadata = z.infer<typeof upstreamSchema>;

/** `[metadata.infradev]` of task.toml. Harbor's own keys stand beside it and are kept as they are. */
export const taskMetadataSchema = z.object({
  format: z.literal("1"),
  slug: slugSchema,
  repo: z.string().regex(/^[\w.-]+\/[\w.-]+$/, "expected owner/name"),
  category: z.enum(categories),
  type: z.enum(taskTypes),
  /** Bundled code base, relative to the task directory. Either this or `upstream`. */
  base_path: z.string().optional(),
  upstream: upstreamSchema.optional(),
  base_commit: gitOidSchema.optional(),
  base_tree: z.union([gitOidSchema, z.literal("")]),
  pr: z.int().positive().optional(),
  env_key: z.string(),
  gpus_agent: z.int().min(0),
  gpus_grade: z.int().min(0),
  min_gpu_memory_mb: z.int().min(0),
  protected_paths: z.array(z.string()),
  prompts: z
    .array(z.object({ id: z.enum(promptConditions), file: relativePathSchema, default: z.boolean().default(false) }))
    .min(1),
  groups: z.array(groupSchema).min(1),
});
export type TaskMetadata = z.infer<typeof taskMetadataSchema>;

/** One test as graded: tests.json's entry with its expectation resolved. Hidden probes carry no requirement text. */
export const manifestTestSchema = z.object({
  id: testIdSchema,
  kind: z.enum(testKinds),
  expectation: z.enum(expectations),
  group: slugSchema,
  property: z.enum(properties),
  condition: z.string().nullable(),
  ranks: ranksSchema,
  needs: z.object({ ranks: z.int(), gpus: z.int() }),
  required: z.boolean(),
  notRequiredReason: z.string().nullable(),
  requirement: z.string().nullable(),
  limit: z
    .object({
      resource: z.string(),
      unit: z.string(),
      value: z.number(),
      relativeTo: z.enum(["base", "gold"]).nullable(),
      meter: z.enum(meters).exclude(["test"]).optional(),
      repeats: z.int().min(1).optional(),
    })
    .nullable(),
});
export type ManifestTest = z.infer<typeof manifestTestSchema>;

/** `manifest.json`: a task as graded. Its canonical bytes stand in the bundle, so completeness can be checked offline. */
export const manifestSchema = z.object({
  format: z.literal("infradev-manifest/1"),
  suite: z.object({ slug: slugSchema, version: suiteVersionSchema, probes: z.enum(probesVisibilities) }),
  task: z.object({
    slug: slugSchema,
    title: z.string(),
    repo: z.string(),
    category: z.enum(categories),
    type: z.enum(taskTypes),
    baseCommit: gitOidSchema.nullable(),
    baseTree: gitOidSchema,
    envKey: z.string(),
    gpusGrade: z.int(),
    protectedPaths: z.array(z.string()),
  }),
  /** Prompt digest per condition: sha256 of the prompt file. Grading digest: what decides a verdict (see runner/suites). */
  digests: z.object({ prompts: z.partialRecord(z.enum(promptConditions), sha256Schema), grading: sha256Schema }),
  groups: z.array(groupSchema),
  /** Where the launch had fewer GPUs than the task asks for: what `manifestForGpus` made of the standard manifest. */
  profile: z.object({ gpus: z.int().nonnegative() }).optional(),
  tests: z.array(manifestTestSchema).min(1),
});
export type Manifest = z.infer<typeof manifestSchema>;

/**
 * The manifest as it holds on a launch with `gpus` GPUs: tests that need more are not required, with the reason. The
 * standard manifest itself where the launch has what the task asks for. The grading digest does not depend on it.
 */
export function manifestForGpus(manifest: Manifest, gpus: number): Manifest {
  if (gpus >= manifest.task.gpusGrade) return manifest;
  return {
    ...manifest,
    profile: { gpus },
    tests: manifest.tests.map((test) =>
      test.needs.gpus <= gpus
        ? test
        : {
            ...test,
            required: false,
            notRequiredReason: `needs ${test.needs.gpus} GPU${test.needs.gpus === 1 ? "" : "s"}; this launch has ${gpus}`,
          },
    ),
  };
}

/**
 * `[standard]` of suite.toml: the configuration that the suite's rows are meant to share. An entry that states something
 * else is marked `custom`. What is left out is nobody's standard.
 */
export const suiteStandardSchema = z.strictObject({
  prompt_condition: z.enum(promptConditions).optional(),
  /** `none`: agents get no skill. */
  skill: z.literal("none").optional(),
  network_policy: z.enum(networkPolicies).exclude(["not-stated"]).optional(),
  /** Limits of the agent's run per task: minutes, US dollars, million tokens, completed model turns. */
  time_min: z.number().positive().optional(),
  cost_usd: z.number().positive().optional(),
  tokens_m: z.number().positive().optional(),
  steps: z.int().positive().optional(),
});
export type SuiteStandard = z.infer<typeof suiteStandardSchema>;

/** `suite.toml`. */
export const suiteFileSchema = z.object({
  slug: slugSchema,
  version: suiteVersionSchema,
  title: z.string(),
  summary: z.string(),
  probes: z.enum(probesVisibilities),
  /** Task slugs in their display order. */
  tasks: z.array(slugSchema).min(1),
  standard: suiteStandardSchema.optional(),
  /** Python distributions that its tests need beside pytest, as pip's requirements (`torch>=2.6`). */
  python_packages: z
    .array(z.string().regex(/^[A-Za-z0-9][\w.-]*([<>=!~]=?[\w.*]+(,[<>=!~]=?[\w.*]+)*)?$/))
    .max(20)
    .optional(),
});
export type SuiteFile = z.infer<typeof suiteFileSchema>;

/**
 * A packed suite: what `runner suite pack` writes and `admin suite import` reads. It carries what the site shows and
 * the reference patch sets; the tests themselves stay with the runner.
 */
export const packedSuiteSchema = z.object({
  format: z.literal("infradev-suite/1"),
  suite: suiteFileSchema,
  tasks: z.array(
    z.object({
      manifest: manifestSchema,
      prompts: z.array(z.object({ condition: z.enum(promptConditions), default: z.boolean(), text: z.string() })),
      interfaces: interfacesFileSchema,
    }),
  ),
  referenceSets: z.array(
    z.object({
      /** `gold`, `nop`, `mutant-1` ... */
      name: slugSchema,
      kind: z.enum(entryKinds).default("reference"),
      patches: z.array(z.object({ task: slugSchema, label: z.string(), patch: z.string() })),
    }),
  ),
});
export type PackedSuite = z.infer<typeof packedSuiteSchema>;
