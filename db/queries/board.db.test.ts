import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { boardSchema } from "../../lib/contract/api";
import { prepareBoard } from "../../lib/prepare/board";
import { createTestDatabase, type TestDatabase } from "../testing";
import { findBoardFacts } from "./board";

let database: TestDatabase;
const submissionId = randomUUID();

/** One published submission with four attempts at its only task: resolved, probe-rejected, failed, not graded. */
beforeAll(async () => {
  database = await createTestDatabase(inject("testServerUrl"));
  const { sql } = database;
  await sql`insert into organization (id, slug, name) values (1, 'synthetic', 'Synthetic')`;
  await sql`
    insert into suite (id, slug, version, title, summary, probes, task_count, training_count, inference_count, rl_count)
    values (1, 'synthetic', '1.0', 'Synthetic suite', 'Made for a test.', 'open', 1, 1, 0, 0)`;
  await sql`
    insert into task (id, suite_id, slug, title, repo, category, type, position, base_tree, gpus_grade, ranks,
                      grading_digest, manifest, interfaces)
    values (1, 1, 'only', 'The only task', 'synthetic', 'training', 'feature', 1, ${"a".repeat(40)}, 0, 1,
            ${"b".repeat(64)}, '{}', '[]')`;
  await sql`
    insert into entry (id, slug, kind, model, prompt_condition, network_policy, config_digest)
    values (1, 'alpha', 'model', 'Alpha', 'interface', 'not-stated', ${"c".repeat(64)})`;
  await sql`
    insert into submission (id, suite_id, entry_id, organization_id, published_at)
    values (${submissionId}, 1, 1, 1, now())`;
  await sql`
    insert into submission_summary (submission_id, tier, task_count, graded_count, resolved_pct)
    values (${submissionId}, 'verified', 1, 1, 25)`;
  const graded = [
    { verdict: "resolved", passed: 5, official: true, resolved: true },
    { verdict: "probe-rejected", passed: 4, official: true, resolved: false },
    { verdict: "failed", passed: 1, official: false, resolved: false },
    null,
  ];
  for (const [index, grading] of graded.entries()) {
    const attemptId = randomUUID();
    await sql`
      insert into attempt (id, submission_id, task_id, ordinal, patch_sha256, patch_bytes)
      values (${attemptId}, ${submissionId}, 1, ${index + 1}, ${"d".repeat(64)}, 1)`;
    if (!grading) continue;
    await sql`
      insert into attempt_summary (attempt_id, submission_id, task_id, grading_id, tier, status, verdict, required_total,
                                   required_passed, official_total, official_passed, resolved, official_resolved)
      values (${attemptId}, ${submissionId}, 1, ${randomUUID()}, 'verified', 'completed', ${grading.verdict}, 5,
              ${grading.passed}, 3, ${grading.official ? 3 : 0}, ${grading.resolved}, ${grading.official})`;
  }
});
afterAll(() => database.drop());

it("takes means over every attempt, and counts the attempts that the probes reject", async () => {
  const facts = await findBoardFacts(database.db, { suite: "synthetic", promptCondition: "interface", skill: null });
  const evidence = facts?.rows[0]?.evidence;
  expect(evidence?.kind === "graded" ? evidence.tasks : null).toEqual([
    {
      task: "only",
      verdict: "resolved",
      score: 0.25,
      officialScore: 0.5,
      passedShare: 0.5,
      officialResolvedAttempts: 2,
      probeRejectedAttempts: 1,
      requiredPassed: 5,
      requiredTotal: 5,
      status: "completed",
    },
  ]);
});

it("gives a board of the contract's form though attempts differ in what they passed", async () => {
  const facts = await findBoardFacts(database.db, { suite: "synthetic", promptCondition: "interface", skill: null });
  if (!facts) throw new Error("the suite has no board");
  const [row] = boardSchema.parse(prepareBoard(facts)).rows;
  expect(row).toMatchObject({
    resolved: { resolved: null, total: 1, pct: 25, interval: null },
    probeRejected: { rejected: 1, officialResolved: 2 },
    passedPct: 50,
  });
});
