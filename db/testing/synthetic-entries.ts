import { createHash, randomUUID } from "node:crypto";
import type postgres from "postgres";
import type { SuiteStandard } from "../../lib/contract/task";
import type { Category, NetworkPolicy, PromptCondition, Tier } from "../../lib/contract/vocabulary";
import { recomputeSubmission } from "../queries/summaries";

/** What a synthetic attempt comes to; a failed one fails by `failures`, a rejected one by a resource. */
interface SyntheticAttempt {
  verdict: "resolved" | "rejected" | "failed" | "infra" | "not-graded";
  timeMin?: number;
  costUsd?: number;
  /** Types of failure, `<class>/<type>`; one of execution by default. */
  failures?: string[];
}

interface SyntheticSubmission {
  tier?: Exclude<Tier, "reported" | "reproduced">;
  /** Days before now. */
  age?: number;
  published?: boolean;
  /** By task, in the suite's order. */
  attempts: SyntheticAttempt[][];
}

export interface SyntheticEntry {
  slug: string;
  model: string;
  agent?: string;
  promptCondition?: PromptCondition;
  skill?: string;
  networkPolicy?: NetworkPolicy;
  budgetTimeMin?: number;
  submissions: SyntheticSubmission[];
}

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

const host = {
  os: "synthetic",
  kernel: "synthetic",
  arch: "x86_64",
  cpuModel: "Synthetic CPU",
  cpuCount: 4,
  memoryMb: 1024,
  gpus: [
    { uuid: "GPU-synthetic-0", model: "Synthetic GPU", memoryMb: 1024, driver: "1.0" },
    { uuid: "GPU-synthetic-1", model: "Synthetic GPU", memoryMb: 1024, driver: "1.0" },
  ],
};

/**
 * Fills a test's database with a synthetic suite of one task per given category and with synthetic entries, graded by a
 * synthetic host. Every name says so.
 */
export async function fillSyntheticEntries(
  sql: postgres.Sql,
  options: { categories: readonly Category[]; standard?: SuiteStandard; entries: readonly SyntheticEntry[] },
): Promise<void> {
  const { categories, entries } = options;
  const of = (category: Category) => categories.filter((one) => one === category).length;
  const [organization] = await sql<{ id: number }[]>`
    insert into organization (slug, name) values ('synthetic', 'Synthetic organization') returning id`;
  const [suite] = await sql<{ id: number }[]>`
    insert into suite (slug, version, title, summary, probes, task_count, training_count, inference_count, rl_count,
                       standard)
    values ('synthetic', '1.0', 'Synthetic suite', 'Made for a test.', 'open', ${categories.length}, ${of("training")},
            ${of("inference")}, ${of("rl")}, ${options.standard ? sql.json(options.standard) : null})
    returning id`;
  const taskIds: number[] = [];
  for (const [index, category] of categories.entries()) {
    const [task] = await sql<{ id: number }[]>`
      insert into task (suite_id, slug, title, repo, category, type, position, base_tree, gpus_grade, ranks,
                        grading_digest, manifest, interfaces)
      values (${suite?.id ?? 0}, ${`synthetic-${index + 1}`}, ${`Synthetic task ${index + 1}`}, 'synthetic/synthetic',
              ${category}, 'feature', ${index}, ${"a".repeat(40)}, 2, 2, ${digestOf(`task ${index}`)}, '{}', '[]')
      returning id`;
    taskIds.push(task?.id ?? 0);
  }
  const hostId = randomUUID();
  const keyid = digestOf("synthetic key");
  await sql`
    insert into host (id, name, organization_id, credential_hash, facts, runner_version, trusted_at)
    values (${hostId}, 'synthetic host', ${organization?.id ?? 0}, ${digestOf("credential")}, ${sql.json(host)}, '9.9.9',
            now())`;
  await sql`
    insert into signing_key (keyid, role, owner, spki, host_id)
    values (${keyid}, 'runner', 'synthetic', ${Buffer.from("synthetic")}, ${hostId})`;
  const place = { suiteId: suite?.id ?? 0, organizationId: organization?.id ?? 0, taskIds, hostId, keyid };
  for (const entry of entries) await insertEntry(sql, entry, place);
}

interface Place {
  suiteId: number;
  organizationId: number;
  taskIds: number[];
  hostId: string;
  keyid: string;
}

async function insertEntry(sql: postgres.Sql, entry: SyntheticEntry, place: Place): Promise<void> {
  const { slug, model, agent = null, skill = null } = entry;
  const [row] = await sql<{ id: number }[]>`
    insert into entry (slug, kind, model, agent, prompt_condition, skill_name, skill_digest, network_policy,
                       budget_time_min, config_digest)
    values (${slug}, 'model', ${model}, ${agent}, ${entry.promptCondition ?? "interface"}, ${skill},
            ${skill && digestOf(skill)}, ${entry.networkPolicy ?? "none"}, ${entry.budgetTimeMin ?? null},
            ${digestOf(slug)})
    returning id`;
  for (const submission of entry.submissions) {
    const id = randomUUID();
    const at = new Date(Date.UTC(2026, 10, 20) - 86_400_000 * (submission.age ?? 0));
    await sql`
      insert into submission (id, suite_id, entry_id, organization_id, created_at, published_at)
      values (${id}, ${place.suiteId}, ${row?.id ?? 0}, ${place.organizationId}, ${at},
              ${submission.published === false ? null : at})`;
    for (const [index, attempts] of submission.attempts.entries())
      for (const [position, attempt] of attempts.entries())
        await insertAttempt(sql, attempt, {
          ...place,
          submissionId: id,
          taskId: place.taskIds[index] ?? 0,
          ordinal: position + 1,
          tier: submission.tier ?? "verified",
          at,
        });
    await sql.begin((tx) => recomputeSubmission(tx, id));
  }
}

async function insertAttempt(
  sql: postgres.Sql,
  attempt: SyntheticAttempt,
  place: Place & { submissionId: string; taskId: number; ordinal: number; tier: Tier; at: Date },
): Promise<void> {
  const { submissionId, taskId, ordinal, tier, at } = place;
  const attemptId = randomUUID();
  await sql`
    insert into attempt (id, submission_id, task_id, ordinal, patch_sha256, patch_bytes, time_min, cost_usd)
    values (${attemptId}, ${submissionId}, ${taskId}, ${ordinal}, ${digestOf(attemptId)}, 1, ${attempt.timeMin ?? null},
            ${attempt.costUsd ?? null})`;
  if (attempt.verdict === "not-graded") return;
  const gradingId = randomUUID();
  const official = attempt.verdict === "resolved" || attempt.verdict === "rejected";
  const resolved = attempt.verdict === "resolved";
  await sql`
    insert into grading (id, attempt_id, host_id, keyid, status, executor, sandboxed, tier, started_at, finished_at,
                         duration_ms, received_at, required_total, required_passed, official_total, official_passed,
                         resolved, official_resolved, runner_version, bundle_sha256, bundle_bytes, envelopes, sums,
                         launches, host, guard, extra_tests)
    values (${gradingId}, ${attemptId}, ${tier === "signed" ? null : place.hostId}, ${place.keyid},
            ${attempt.verdict === "infra" ? "infra" : "completed"}, 'bwrap', true, ${tier}, ${at},
            ${new Date(at.getTime() + 60_000)}, 60000, ${at}, 4, ${resolved ? 4 : official ? 3 : 1}, 2,
            ${official ? 2 : 0}, ${resolved}, ${official}, '9.9.9', ${digestOf(gradingId)}, 1, '', '', '[]',
            ${sql.json(host)}, '{}', '[]')`;
  const byDefault = {
    rejected: ["behavioral/resource"],
    failed: ["structural/execution-api"],
    resolved: [],
    infra: [],
  };
  for (const [index, label] of (attempt.failures ?? byDefault[attempt.verdict]).entries()) {
    const [failureClass = "", type = ""] = label.split("/");
    await sql`
      insert into failure (grading_id, test_id, status, message, line, signature, class, type, tags, label_source)
      values (${gradingId}, ${index + 1}, 'failed', 'synthetic', 'synthetic', ${digestOf(label)}, ${failureClass},
              ${type}, '[]', 'rule')`;
  }
}
