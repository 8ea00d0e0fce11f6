import "server-only";
import { type HostRow, holdHostTrust, holdKey } from "@/db/queries/hosts";
import {
  type ExistingGrading,
  findAcceptedGrading,
  findAttemptForGrading,
  findTask,
  type IngestTask,
  type NewGrading,
  recordGrading,
  recordReceipt,
} from "@/db/queries/ingest";
import { findLease, finishLease, type LeaseRow, type SqlRunner } from "@/db/queries/queue";
import { recomputeSubmission } from "@/db/queries/summaries";
import { bundlePaths, type DsseEnvelope, dssePayloadType, type PublishedKey } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import type { FinishResponse } from "@/lib/contract/job";
import { summarize } from "@/lib/contract/result";
import { type Manifest, manifestForGpus } from "@/lib/contract/task";
import type { GradingStatus, Tier } from "@/lib/contract/vocabulary";
import { toHex, utf8 } from "@/lib/evidence/bytes";
import { serializeEnvelope, signEnvelope } from "@/lib/evidence/dsse";
import { keyProblemAt } from "@/lib/evidence/keys";
import { type BundleContents, verifyBundle } from "@/lib/evidence/node/verify-bundle";
import { buildReceiptStatement, differences } from "@/lib/evidence/statements";
import type { Expectation } from "@/lib/evidence/verify-evidence";
import { announceTags } from "../announce";
import { publishedKeyOf, publishedKeys, type ServerContext } from "../context";
import { appendToLog } from "../log/append";
import { candidateOf } from "../runners/candidate";
import { endJob } from "../runners/end-job";
import { keepSelfTests, readSelfTests } from "../self-tests";
import { failuresOf } from "./failures";
import { receiptOf } from "./receipt";
import { submissionTags } from "./submission-tags";

/** What a receipt says about how a bundle was judged. */
const policy = "infradev-ingest/1";

/**
 * Verifies what a lease delivers and records it in one transaction: outcomes, failures, labels, summaries, log record,
 * receipt, and the end of lease and job. Anything that does not hold is refused and nothing changes. The same bundle
 * for the same lease again gets the same answer; a lease that was lost gets its evidence kept as late, never scored.
 */
export async function ingestLeasedBundle(
  context: ServerContext,
  delivery: {
    host: HostRow;
    lease: LeaseRow;
    status: GradingStatus;
    bundleSha256: string;
    reason: string | null;
  },
): Promise<FinishResponse> {
  const { host, lease, bundleSha256 } = delivery;
  const { sql } = context.database;
  const existing = await findAcceptedGrading(sql, { bundleSha256 });
  if (existing) return acceptedBefore(existing, lease);

  const attempt = await findAttemptForGrading(sql, lease.attemptId);
  const task = await findTask(sql, { id: lease.taskId });
  if (!attempt || !task) throw new Error(`lease ${lease.id} has no attempt or task`);
  const receivedAt = new Date();
  const { contents, bytes, files } = await verifyUploaded(context, bundleSha256, receivedAt, {
    gradingId: lease.gradingId,
    attemptId: lease.attemptId,
    lease: { id: lease.id, nonce: lease.nonce },
    suite: { slug: task.suite },
    task: task.slug,
    gradingDigest: task.gradingDigest,
    patchSha256: attempt.patchSha256,
    candidate: candidateOf(attempt),
    keyid: host.keyid ?? "",
  });
  checkAgainstTask(contents, task);
  if (contents.result.status !== delivery.status) {
    throw new InfraDevError("invalid", {
      code: "finish.status-mismatch",
      message: `the request says '${delivery.status}', the bundle's result says '${contents.result.status}'`,
      where: "body#status",
      rule: "a lease ends with the status that its evidence shows",
      remedy: "finish with the status of result.json",
    });
  }

  const selfTests = await readSelfTests(context, attempt.patchSha256);
  const { answer, tags } = await context.database.sql
    .begin(async (tx) => {
      const held = await findLease(tx, lease.id, true);
      if (!held) throw new Error(`lease ${lease.id} vanished`);
      const raced = await findAcceptedGrading(tx, { bundleSha256 });
      if (raced) return { answer: acceptedBefore(raced, held), tags: [] };
      if (held.finishStatus !== null) {
        throw new InfraDevError("conflict", {
          code: "finish.differs",
          message: `the lease was finished as '${held.finishStatus}' meanwhile`,
          where: held.id,
          rule: "a lease is finished once",
          remedy: "keep the first result",
        });
      }
      await requireKeyInForce(tx, contents.key.keyid, receivedAt);
      const trusted = await holdHostTrust(tx, host.id);
      const late = held.state !== "active";
      await recordVerified(tx, task, contents, {
        attemptId: held.attemptId,
        leaseId: held.id,
        nonce: held.nonce,
        hostId: host.id,
        tier: trusted && contents.result.sandboxed ? "verified" : "signed",
        late,
        receivedAt,
        bundleSha256,
        bundleBytes: bytes,
        files,
      });
      await keepSelfTests(tx, held.attemptId, selfTests);
      const jobEnd = late
        ? "recorded"
        : await endJob(tx, held, {
            status: contents.result.status,
            reason: delivery.reason ?? contents.result.reason?.message ?? null,
          });
      const verdict = late ? "late" : jobEnd === "requeued" ? "requeued" : "accepted";
      await finishLease(tx, {
        leaseId: held.id,
        state: late ? (held.state === "ended" ? "ended" : "lost") : "finished",
        status: contents.result.status,
        bundleSha256,
        verdict,
      });
      const { receipt, touched } = await settle(context, tx, contents, {
        submissionId: held.submissionId,
        bundleSha256,
        receivedAt,
        verdict: late ? "late" : "accepted",
      });
      return { answer: { verdict, gradingId: held.gradingId, receipt } satisfies FinishResponse, tags: touched };
    })
    .catch(refuseUnstorable);
  context.expireTags(tags);
  return answer;
}

/** Refuses what a key signed that was revoked while its bundle was verified. Holds the key's row until the transaction ends. */
export async function requireKeyInForce(tx: SqlRunner, keyid: string, receivedAt: Date): Promise<void> {
  const key = await holdKey(tx, keyid);
  if (!key) throw new Error(`key ${keyid} vanished`);
  const problem = keyProblemAt(publishedKeyOf(key), receivedAt);
  if (problem) throw new InfraDevError("invalid", problem);
}

/** What a bundle holds that was verified against every expectation, and the files that may be given out. */
export async function verifyUploaded(
  context: ServerContext,
  bundleSha256: string,
  receivedAt: Date,
  expect: Omit<Expectation, "bundleSha256">,
): Promise<{ contents: BundleContents; bytes: number; files: NewGrading["files"] }> {
  const stored = await context.blobs.stat(bundleSha256);
  if (!stored) {
    throw new InfraDevError("conflict", {
      code: "finish.bundle-not-uploaded",
      message: "the bundle has not arrived",
      where: `sha256 ${bundleSha256}`,
      rule: "a bundle is uploaded whole before its lease is finished",
      remedy: "announce the bundle, send its bytes, then finish",
    });
  }
  const keys = (await publishedKeys(context)).keys.filter((key) => key.role !== "server");
  const report = await verifyBundle(await context.blobs.localPath(bundleSha256), {
    keys: keys satisfies PublishedKey[],
    receivedAt,
    expect: { ...expect, bundleSha256 },
  });
  if (!report.ok || !report.contents) {
    const failed = report.checks.find((check) => !check.ok)?.problem;
    throw new InfraDevError(
      failed?.code.startsWith("archive.") && failed.code.endsWith("size") ? "too-large" : "invalid",
      failed ?? { code: "bundle.unverified", message: "the bundle could not be verified" },
    );
  }
  const files = report.contents.files.filter((file) => file.path !== bundlePaths.sealed);
  return { contents: report.contents, bytes: stored.bytes, files };
}

/**
 * What decides a verdict, as the grading digest covers it. A title, a prompt, a requirement's wording or the suite's
 * version may differ: a runner claims by the grading digest alone. What a hidden suite keeps to itself is left out.
 */
function gradedPart({ suite, task, digests, groups, tests }: Manifest) {
  const { title: _title, category: _category, type: _type, ...graded } = task;
  const conceals = (test: Manifest["tests"][number]) => suite.probes === "hidden" && test.kind === "probe";
  return {
    suite: suite.slug,
    task: graded,
    grading: digests.grading,
    groups,
    tests: tests.map((test) => ({
      ...test,
      requirement: null,
      ...(conceals(test) ? { condition: null, limit: null } : {}),
    })),
  };
}

/** Compares the manifest inside the bundle with the task's own, and the sums with what its outcomes add up to. */
export function checkAgainstTask(contents: BundleContents, task: IngestTask): void {
  const { gpusGrade } = task.manifest.task;
  const gpus = Math.min(contents.manifest.profile?.gpus ?? gpusGrade, gpusGrade);
  const [difference] = differences(gradedPart(manifestForGpus(task.manifest, gpus)), gradedPart(contents.manifest));
  if (difference) {
    throw new InfraDevError("invalid", {
      code: "bundle.manifest-mismatch",
      message: `says ${difference.actual}, the suite's manifest says ${difference.expected}`,
      where: `${bundlePaths.manifest}#${difference.path}`,
      rule: "what a grading digest covers is the same in the bundle and on the server",
      remedy: `grade with suite ${task.suite} ${task.suiteVersion} as this server has it`,
    });
  }
  if (gpus < gpusGrade) {
    throw new InfraDevError("invalid", {
      code: "bundle.profile-below-standard",
      message: `was graded with ${gpus} GPUs, the task's standard launch has ${gpusGrade}`,
      where: `${bundlePaths.manifest}#profile.gpus`,
      rule: "what counts is graded with as many GPUs as the task asks for; with fewer, some of its tests were not required",
      remedy: `grade on a host with ${gpusGrade} free GPUs; a bundle of fewer is for its maker's own use`,
    });
  }
  const short = contents.result.launches.findIndex((launch) => (launch.gpus?.length ?? 0) !== gpus);
  if (short >= 0) {
    throw new InfraDevError("invalid", {
      code: "bundle.launch-gpus",
      message: `the launch saw ${contents.result.launches[short]?.gpus?.length ?? 0} GPUs, the task's standard launch has ${gpus}`,
      where: `${bundlePaths.result}#launches.${short}.gpus`,
      rule: "every launch of a grading sees as many GPUs as its manifest stands for",
      remedy: "grade again with a current runner on a host with free GPUs",
    });
  }
  const [wrong] = differences(
    summarize(contents.result.tests, contents.result.status === "completed"),
    contents.result.summary,
  );
  if (wrong) {
    throw new InfraDevError("invalid", {
      code: "result.summary",
      message: `says ${wrong.actual}, its tests add up to ${wrong.expected}`,
      where: `${bundlePaths.result}#summary.${wrong.path}`,
      rule: "every aggregate is recomputed from the outcomes",
      remedy: "grade again with a current runner",
    });
  }
}

type Settled = Pick<
  NewGrading,
  "attemptId" | "leaseId" | "nonce" | "hostId" | "late" | "receivedAt" | "bundleSha256" | "bundleBytes" | "files"
> & { tier: Tier };

/** Writes the grading's rows. */
export async function recordVerified(
  tx: SqlRunner,
  task: IngestTask,
  contents: BundleContents,
  settled: Settled,
): Promise<void> {
  const { result } = contents;
  await recordGrading(tx, task.id, {
    ...settled,
    id: result.gradingId,
    keyid: contents.key.keyid,
    status: result.status,
    executor: result.executor,
    sandboxed: result.sandboxed,
    runnerVersion: contents.runResult.predicate.runner.version,
    envelopes: contents.envelopes,
    sums: contents.sums,
    result,
    host: contents.host,
    guard: contents.guard,
    failures: failuresOf(result, contents.manifest),
  });
}

/** Recomputes the summaries, appends to the log, signs the receipt, and announces what changed. */
export async function settle(
  context: ServerContext,
  tx: SqlRunner,
  contents: BundleContents,
  facts: { submissionId: string; bundleSha256: string; receivedAt: Date; verdict: "accepted" | "late" },
): Promise<{ receipt: DsseEnvelope; touched: string[] }> {
  const gradingId = contents.result.gradingId;
  const receivedAt = facts.receivedAt.toISOString();
  await recomputeSubmission(tx, facts.submissionId);
  const { index, leafHash } = await appendToLog(
    tx,
    {
      format: "infradev-log/1",
      type: "bundle",
      at: receivedAt,
      gradingId,
      bundleSha256: facts.bundleSha256,
      verdict: facts.verdict,
    },
    gradingId,
  );
  const statement = buildReceiptStatement({
    gradingId,
    bundleSha256: facts.bundleSha256,
    receivedAt,
    policy,
    verdict: facts.verdict,
    log: { origin: context.serverName, index, leafHash: toHex(leafHash) },
    sumsSha256: contents.sumsSha256,
  });
  const receipt = await signEnvelope(dssePayloadType, utf8(JSON.stringify(statement)), context.signer);
  await recordReceipt(tx, { gradingId, receipt: serializeEnvelope(receipt) });
  const touched = await submissionTags(tx, facts.submissionId);
  await announceTags(tx, touched);
  return { receipt, touched };
}

/** The same answer again for the same lease; a refusal for any other. */
function acceptedBefore(existing: ExistingGrading, lease: LeaseRow): FinishResponse {
  if (existing.leaseId !== lease.id) throw replayed(existing, lease.id);
  return {
    verdict: existing.late ? "late" : lease.verdict === "requeued" ? "requeued" : "accepted",
    gradingId: existing.id,
    receipt: receiptOf(existing.receipt),
  };
}

export function replayed(existing: ExistingGrading, where: string): InfraDevError {
  return new InfraDevError("conflict", {
    code: "ingest.replayed",
    message: `this bundle was accepted before, as grading ${existing.id}`,
    where,
    rule: "a bundle belongs to one grading, lease and nonce",
    remedy: "grade again; each lease brings evidence of its own",
  });
}

/** What a well-signed bundle may still hold that no column can: a number or a date out of any range. */
export function refuseUnstorable(error: unknown): never {
  const code = (error as { code?: unknown }).code;
  if (!(error instanceof InfraDevError) && typeof code === "string" && /^22/.test(code)) {
    throw new InfraDevError(
      "invalid",
      {
        code: "bundle.out-of-range",
        message: `a value of the bundle cannot be stored: ${(error as Error).message}`,
        where: bundlePaths.result,
        rule: "numbers and times lie within what 32-bit counters, doubles and calendars hold",
        remedy: "grade again with a current runner",
      },
      { cause: error },
    );
  }
  if (code === "23505") {
    throw new InfraDevError(
      "conflict",
      {
        code: "ingest.grading-taken",
        message: "another bundle with this grading's id was recorded at the same time",
        where: `${bundlePaths.result}#gradingId`,
        rule: "a grading's id is used once",
        remedy: "grade again; each grading gets an id of its own",
      },
      { cause: error },
    );
  }
  throw error;
}
