import type { Summary } from "../../lib/contract/result";
import type { GradingStatus, OutcomeStatus, ProbesVisibility } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";

export interface EvidenceRow {
  id: string;
  suite: string;
  suiteVersion: string;
  probes: ProbesVisibility;
  task: string;
  status: GradingStatus;
  summary: Summary;
  bundleSha256: string;
  bundleBytes: number;
  envelopes: string;
  sums: string;
  receipt: string | null;
  /** Paths of the payload's files, as SHA256SUMS lists them. */
  files: string[];
  tests: { id: string; status: OutcomeStatus }[];
}

/** A grading's evidence with the figures that pages show; null where there is none, or its submission was withdrawn. */
export async function findEvidence(sql: SqlRunner, gradingId: string): Promise<EvidenceRow | null> {
  const [grading] = await sql<(Omit<EvidenceRow, "files" | "tests" | "summary"> & Summary)[]>`
    select grading.id, suite.slug as suite, suite.version as "suiteVersion", suite.probes, task.slug as task,
           grading.status, grading.required_total as "requiredTotal", grading.required_passed as "requiredPassed",
           grading.resolved, grading.official_total as "officialTotal", grading.official_passed as "officialPassed",
           grading.official_resolved as "officialResolved", grading.bundle_sha256 as "bundleSha256",
           grading.bundle_bytes as "bundleBytes", grading.envelopes, grading.sums, grading.receipt
    from grading
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id
    join task on task.id = attempt.task_id
    join suite on suite.id = task.suite_id
    where grading.id = ${gradingId} and submission.withdrawn_at is null`;
  if (!grading) return null;
  const files = await sql<{ path: string }[]>`
    select path from payload_file where grading_id = ${gradingId} order by path collate "C"`;
  const tests = await sql<EvidenceRow["tests"]>`
    select task_test.name as id, outcome.status
    from outcome join task_test on task_test.id = outcome.test_id
    where outcome.grading_id = ${gradingId}
    order by task_test.position`;
  const { requiredTotal, requiredPassed, resolved, officialTotal, officialPassed, officialResolved, ...rest } = grading;
  return {
    ...rest,
    summary: { requiredTotal, requiredPassed, resolved, officialTotal, officialPassed, officialResolved },
    files: files.map((file) => file.path),
    tests: [...tests],
  };
}

export interface PayloadFileRow {
  path: string;
  sha256: string;
  bytes: number;
}

/** Digest of a grading's bundle with the files of its payload; null where there is none, or it was withdrawn. */
export async function findPayload(
  sql: SqlRunner,
  gradingId: string,
): Promise<{ bundleSha256: string; files: PayloadFileRow[] } | null> {
  const [grading] = await sql<{ bundleSha256: string }[]>`
    select grading.bundle_sha256 as "bundleSha256"
    from grading
    join attempt on attempt.id = grading.attempt_id
    join submission on submission.id = attempt.submission_id
    where grading.id = ${gradingId} and submission.withdrawn_at is null`;
  if (!grading) return null;
  const files = await sql<PayloadFileRow[]>`
    select path, sha256, bytes from payload_file where grading_id = ${gradingId}`;
  return { bundleSha256: grading.bundleSha256, files: [...files] };
}
