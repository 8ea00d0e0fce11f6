import type { Guard, HostFacts, Result, RuleLabel } from "../../lib/contract/result";
import type { Manifest } from "../../lib/contract/task";
import type { Executor, GradingStatus, Tier } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";
import { storableJson, storableText } from "./storable";

export interface ExistingGrading {
  id: string;
  attemptId: string;
  submissionId: string;
  leaseId: string | null;
  late: boolean;
  tier: Tier;
  bundleSha256: string;
  receipt: string | null;
}

/** The grading that a bundle was accepted as, or that has this id. */
export async function findAcceptedGrading(
  sql: SqlRunner,
  by: { bundleSha256: string } | { gradingId: string },
): Promise<ExistingGrading | null> {
  const [row] = await sql<ExistingGrading[]>`
    select grading.id, grading.attempt_id as "attemptId", attempt.submission_id as "submissionId",
           grading.lease_id as "leaseId", grading.late, grading.tier, grading.bundle_sha256 as "bundleSha256",
           grading.receipt
    from grading join attempt on attempt.id = grading.attempt_id
    where ${"gradingId" in by ? sql`grading.id = ${by.gradingId}` : sql`grading.bundle_sha256 = ${by.bundleSha256}`}`;
  return row ?? null;
}

export interface IngestTask {
  id: number;
  suiteId: number;
  suite: string;
  suiteVersion: string;
  slug: string;
  gradingDigest: string;
  gpus: number;
  ranks: number;
  manifest: Manifest;
}

const taskColumns = (sql: SqlRunner) => sql`
  task.id, task.suite_id as "suiteId", suite.slug as suite, suite.version as "suiteVersion", task.slug,
  task.grading_digest as "gradingDigest", task.gpus_grade as gpus, task.ranks, task.manifest
  from task join suite on suite.id = task.suite_id`;

export async function findTask(
  sql: SqlRunner,
  by: { id: number } | { suite: string; version: string; slug: string },
): Promise<IngestTask | null> {
  const [task] = await sql<IngestTask[]>`
    select ${taskColumns(sql)}
    where ${
      "id" in by
        ? sql`task.id = ${by.id}`
        : sql`suite.slug = ${by.suite} and suite.version = ${by.version} and task.slug = ${by.slug}`
    }`;
  return task ?? null;
}

export interface AttemptForGrading {
  id: string;
  submissionId: string;
  taskId: number;
  patchSha256: string;
  patchBytes: number;
  kind: "model" | "reference";
  model: string;
  agent: string | null;
  agentVersion: string | null;
  reasoningEffort: string | null;
  promptCondition: "interface" | "pr-description";
  promptDigest: string | null;
  skillName: string | null;
  skillDigest: string | null;
  networkPolicy: "none" | "model-endpoint-only" | "open" | "not-stated";
  budgetTimeMin: number | null;
  budgetCostUsd: number | null;
  budgetTokensM: number | null;
  budgetSteps: number | null;
}

/** An attempt with what its entry is: what a job says about its candidate. */
export async function findAttemptForGrading(sql: SqlRunner, attemptId: string): Promise<AttemptForGrading | null> {
  const [attempt] = await sql<AttemptForGrading[]>`
    select attempt.id, attempt.submission_id as "submissionId", attempt.task_id as "taskId",
           attempt.patch_sha256 as "patchSha256", attempt.patch_bytes as "patchBytes", entry.kind, entry.model,
           entry.agent, entry.agent_version as "agentVersion", entry.reasoning_effort as "reasoningEffort",
           entry.prompt_condition as "promptCondition", task_prompt.digest as "promptDigest",
           entry.skill_name as "skillName", entry.skill_digest as "skillDigest",
           entry.network_policy as "networkPolicy", entry.budget_time_min as "budgetTimeMin",
           entry.budget_cost_usd as "budgetCostUsd", entry.budget_tokens_m as "budgetTokensM",
           entry.budget_steps as "budgetSteps"
    from attempt
    join submission on submission.id = attempt.submission_id
    join entry on entry.id = submission.entry_id
    left join task_prompt on task_prompt.task_id = attempt.task_id and task_prompt.condition = entry.prompt_condition
    where attempt.id = ${attemptId}`;
  return attempt ?? null;
}

export interface NewGrading {
  id: string;
  attemptId: string;
  leaseId: string | null;
  nonce: string | null;
  hostId: string | null;
  keyid: string;
  tier: Tier;
  late: boolean;
  status: GradingStatus;
  executor: Executor;
  sandboxed: boolean;
  receivedAt: Date;
  runnerVersion: string;
  bundleSha256: string;
  bundleBytes: number;
  envelopes: string;
  sums: string;
  result: Result;
  host: HostFacts;
  guard: Guard;
  files: readonly { path: string; sha256: string; bytes: number }[];
  failures: readonly {
    testName: string;
    status: string;
    rootRank: number | null;
    exceptionType: string | null;
    message: string;
    line: string;
    signature: string;
    label: RuleLabel;
  }[];
}

/** Labels by rule, added to what is there. */
export async function recordRuleLabels(
  tx: SqlRunner,
  rows: readonly { gradingId: string; testId: number; label: RuleLabel }[],
): Promise<void> {
  await tx`
    insert into label (grading_id, test_id, class, type, source, rule, rules_version, tags, confidence, evidence)
    select grading_id, test_id, class, type, 'rule', rule, rules_version, tags::jsonb, confidence, evidence::jsonb
    from unnest(
      ${rows.map((row) => row.gradingId)}::uuid[], ${rows.map((row) => row.testId)}::int[],
      ${rows.map(({ label }) => label.class)}::text[], ${rows.map(({ label }) => label.type)}::text[],
      ${rows.map(({ label }) => label.rule)}::text[], ${rows.map(({ label }) => label.rulesVersion)}::text[],
      ${rows.map(({ label }) => JSON.stringify(label.tags))}::text[],
      ${rows.map(({ label }) => label.confidence ?? null)}::text[],
      ${rows.map(({ label }) => (label.evidence ? JSON.stringify(label.evidence) : null))}::text[]
    ) as row (grading_id, test_id, class, type, rule, rules_version, tags, confidence, evidence)`;
}

/**
 * Writes a grading with everything that hangs on it, one statement a table. `taskId` says whose tests the names are;
 * a name that the task does not have is an error of the caller.
 */
export async function recordGrading(tx: SqlRunner, taskId: number, grading: NewGrading): Promise<void> {
  const { result } = grading;
  const { summary } = result;
  await tx`
    insert into grading (id, attempt_id, lease_id, nonce, host_id, keyid, status, reason, executor, sandboxed, tier, late,
                         started_at, finished_at, duration_ms, received_at, required_total, required_passed,
                         official_total, official_passed, resolved, official_resolved, runner_version, bundle_sha256,
                         bundle_bytes, envelopes, sums, launches, host, guard, extra_tests)
    values (${grading.id}, ${grading.attemptId}, ${grading.leaseId}, ${grading.nonce}, ${grading.hostId},
            ${grading.keyid}, ${grading.status}, ${result.reason === null ? null : storableJson(result.reason)}::text::jsonb,
            ${grading.executor}, ${grading.sandboxed}, ${grading.tier}, ${grading.late}, ${result.startedAt},
            ${result.finishedAt}, ${result.durationMs}, ${grading.receivedAt}, ${summary.requiredTotal},
            ${summary.requiredPassed}, ${summary.officialTotal}, ${summary.officialPassed}, ${summary.resolved},
            ${summary.officialResolved}, ${grading.runnerVersion}, ${grading.bundleSha256}, ${grading.bundleBytes},
            ${grading.envelopes}, ${grading.sums}, ${storableJson(result.launches)}::text::jsonb,
            ${storableJson(grading.host)}::text::jsonb, ${storableJson(grading.guard)}::text::jsonb,
            ${storableJson(result.extraTests)}::text::jsonb)`;

  const names = await tx<{ id: number; name: string }[]>`select id, name from task_test where task_id = ${taskId}`;
  const idOf = new Map(names.map(({ id, name }) => [name, id]));
  const testId = (name: string) => {
    const id = idOf.get(name);
    if (id === undefined) throw new Error(`test ${name} is not among the tests of task ${taskId}`);
    return id;
  };

  const tests = result.tests.map((test) => ({ ...test, testId: testId(test.id) }));
  const outcomeRows = () => tx`
    insert into outcome (grading_id, test_id, status, duration_ms, root_rank, usage)
    select ${grading.id}, test_id, status, duration_ms, root_rank, usage::jsonb
    from unnest(
      ${tests.map((test) => test.testId)}::int[], ${tests.map((test) => test.status)}::text[],
      ${tests.map((test) => test.durationMs)}::float8[], ${tests.map((test) => test.rootRank)}::int[],
      ${tests.map((test) => (test.usage === undefined ? null : storableJson(test.usage)))}::text[]
    ) as row (test_id, status, duration_ms, root_rank, usage)`;

  const ranks = tests.flatMap((test) => test.ranks.map((rank) => ({ ...rank, testId: test.testId })));
  const rankRows = () => tx`
    insert into rank_outcome (grading_id, test_id, rank, status, launch, started_at, duration_ms, log_line, failure)
    select ${grading.id}, test_id, rank, status, launch, started_at, duration_ms, log_line, failure::jsonb
    from unnest(
      ${ranks.map((row) => row.testId)}::int[], ${ranks.map((row) => row.rank)}::int[],
      ${ranks.map((row) => row.status)}::text[], ${ranks.map((row) => row.launch)}::int[],
      ${ranks.map((row) => row.startedAt)}::timestamptz[], ${ranks.map((row) => row.durationMs)}::float8[],
      ${ranks.map((row) => row.logLine)}::int[],
      ${ranks.map((row) => (row.failure === null ? null : storableJson(row.failure)))}::text[]
    ) as row (test_id, rank, status, launch, started_at, duration_ms, log_line, failure)`;

  const measures = tests.flatMap((test) =>
    test.resources.map((resource, position) => ({ ...resource, testId: test.testId, position })),
  );
  const measureRows = () => tx`
    insert into resource_measure (grading_id, test_id, rank, position, name, property, value, limit_value, unit,
                                  repeats, met, meter, spread_min, spread_max, relative_to, reference_value,
                                  measured_value, side_unit, accuracy)
    select ${grading.id}, * from unnest(
      ${measures.map((row) => row.testId)}::int[], ${measures.map((row) => row.rank)}::int[],
      ${measures.map((row) => row.position)}::int[], ${measures.map((row) => row.name)}::text[],
      ${measures.map((row) => row.property)}::text[], ${measures.map((row) => row.value)}::float8[],
      ${measures.map((row) => row.limit)}::float8[], ${measures.map((row) => row.unit)}::text[],
      ${measures.map((row) => row.repeats)}::int[], ${measures.map((row) => String(row.met))}::text[]::bool[],
      ${measures.map((row) => row.meter ?? null)}::text[], ${measures.map((row) => row.spread?.min ?? null)}::float8[],
      ${measures.map((row) => row.spread?.max ?? null)}::float8[],
      ${measures.map((row) => row.relative?.to ?? null)}::text[],
      ${measures.map((row) => row.relative?.reference ?? null)}::float8[],
      ${measures.map((row) => row.relative?.measured ?? null)}::float8[],
      ${measures.map((row) => row.relative?.sideUnit ?? null)}::text[],
      ${measures.map((row) => (row.accuracy === undefined ? null : storableText(row.accuracy)))}::text[])`;

  const failures = grading.failures.map((failure) => ({ ...failure, testId: testId(failure.testName) }));
  const failureRows = () => tx`
    insert into failure (grading_id, test_id, status, root_rank, exception_type, message, line, signature, class, type,
                         tags, label_source)
    select ${grading.id}, test_id, status, root_rank, exception_type, message, line, signature, class, type,
           tags::jsonb, 'rule'
    from unnest(
      ${failures.map((row) => row.testId)}::int[], ${failures.map((row) => row.status)}::text[],
      ${failures.map((row) => row.rootRank)}::int[], ${failures.map((row) => row.exceptionType)}::text[],
      ${failures.map((row) => storableText(row.message))}::text[],
      ${failures.map((row) => storableText(row.line))}::text[], ${failures.map((row) => row.signature)}::text[],
      ${failures.map((row) => row.label.class)}::text[], ${failures.map((row) => row.label.type)}::text[],
      ${failures.map((row) => JSON.stringify(row.label.tags))}::text[]
    ) as row (test_id, status, root_rank, exception_type, message, line, signature, class, type, tags)`;
  const labelRows = () =>
    recordRuleLabels(
      tx,
      failures.map((row) => ({ gradingId: grading.id, testId: row.testId, label: row.label })),
    );

  const fileRows = () => tx`
    insert into payload_file (grading_id, path, sha256, bytes)
    select ${grading.id}, * from unnest(
      ${grading.files.map((file) => file.path)}::text[], ${grading.files.map((file) => file.sha256)}::text[],
      ${grading.files.map((file) => file.bytes)}::int[])`;

  // Sent one behind the other without waiting for each answer.
  await Promise.all([
    outcomeRows(),
    ...(ranks.length > 0 ? [rankRows()] : []),
    ...(measures.length > 0 ? [measureRows()] : []),
    ...(failures.length > 0 ? [failureRows(), labelRows()] : []),
    fileRows(),
  ]);
}

export async function recordReceipt(tx: SqlRunner, params: { gradingId: string; receipt: string }): Promise<void> {
  await tx`update grading set receipt = ${params.receipt} where id = ${params.gradingId}`;
}

/** Where an organization's self-made bundle of one patch belongs. */
export interface VendorAttempt {
  submissionId: string;
  attemptId: string;
}

/**
 * The attempt at a task with this patch in the organization's open submission of an entry; both are made where they are
 * missing. A new submission is not published: a maintainer publishes it. Calls for one entry queue on its row.
 */
export async function ensureVendorAttempt(
  tx: SqlRunner,
  params: {
    suiteId: number;
    entryId: number;
    organizationId: number;
    taskId: number;
    patchSha256: string;
    patchBytes: number;
  },
): Promise<VendorAttempt> {
  const { suiteId, entryId, organizationId, taskId, patchSha256, patchBytes } = params;
  await tx`select 1 from entry where id = ${entryId} for update`;
  const [open] = await tx<{ id: string }[]>`
    select id from submission
    where suite_id = ${suiteId} and entry_id = ${entryId} and organization_id = ${organizationId}
      and published_at is null and withdrawn_at is null and source_id is null
    order by created_at desc limit 1`;
  const [made] = open
    ? [open]
    : await tx<{ id: string }[]>`
        insert into submission (suite_id, entry_id, organization_id)
        values (${suiteId}, ${entryId}, ${organizationId}) returning id`;
  if (!made) throw new Error("the submission was not recorded");
  const [same] = await tx<{ id: string }[]>`
    select id from attempt
    where submission_id = ${made.id} and task_id = ${taskId} and patch_sha256 = ${patchSha256}
    order by ordinal limit 1`;
  if (same) return { submissionId: made.id, attemptId: same.id };
  const [attempt] = await tx<{ id: string }[]>`
    insert into attempt (submission_id, task_id, ordinal, patch_sha256, patch_bytes)
    select ${made.id}, ${taskId}, coalesce(max(ordinal), 0) + 1, ${patchSha256}, ${patchBytes}::int
    from attempt where submission_id = ${made.id} and task_id = ${taskId}
    returning id`;
  if (!attempt) throw new Error("the attempt was not recorded");
  return { submissionId: made.id, attemptId: attempt.id };
}

export interface UploadRow {
  id: string;
  keyid: string;
  sha256: string;
  bytes: number;
}

/** An upload of a self-made bundle; the same announcement again finds it. */
export async function ensureUpload(
  tx: SqlRunner,
  params: { keyid: string; sha256: string; bytes: number },
): Promise<string> {
  const [known] = await tx<{ id: string }[]>`
    select id from upload where keyid = ${params.keyid} and sha256 = ${params.sha256} and bytes = ${params.bytes}
    order by created_at limit 1`;
  if (known) return known.id;
  const [made] = await tx<{ id: string }[]>`
    insert into upload (id, keyid, sha256, bytes)
    values (gen_random_uuid(), ${params.keyid}, ${params.sha256}, ${params.bytes}) returning id`;
  if (!made) throw new Error("the upload was not recorded");
  return made.id;
}

export async function findUpload(sql: SqlRunner, id: string): Promise<UploadRow | null> {
  const [row] = await sql<UploadRow[]>`
    select id, keyid, sha256, bytes from upload where id = ${id} and keyid is not null`;
  return row ?? null;
}
