import "server-only";
import { randomBytes, randomUUID } from "node:crypto";
import type { z } from "zod";
import type { HostRow } from "@/db/queries/hosts";
import { findAttemptForGrading, findTask } from "@/db/queries/ingest";
import { claimJob, loseExpiredLeases } from "@/db/queries/queue";
import { recomputeSubmission } from "@/db/queries/summaries";
import {
  type ClaimRequest,
  type claimResponseSchema,
  type JobSpec,
  jobPayloadType,
  protocol,
} from "@/lib/contract/job";
import { utf8 } from "@/lib/evidence/bytes";
import { signEnvelope } from "@/lib/evidence/dsse";
import { announceJobs, announceTags } from "../announce";
import type { ServerContext } from "../context";
import { submissionTags } from "../ingest/submission-tags";
import { cacheTags } from "../tags";
import { candidateOf } from "./candidate";
import { queueSignalOf } from "./queue-signal";

// A job also becomes due by time alone, and an announcement may be missed.
const pollMs = 3000;

/** Waits for a job for the host, `waitSeconds` at most. Null where there is none, or the caller has gone. */
export async function claim(
  context: ServerContext,
  host: HostRow,
  request: ClaimRequest,
  signal?: AbortSignal,
): Promise<z.infer<typeof claimResponseSchema> | null> {
  const { sql } = context.database;
  const deadline = Date.now() + request.waitSeconds * 1000;
  for (;;) {
    if (signal?.aborted) return null;
    await endLostLeases(context);
    const claimed = await claimJob(sql, {
      hostId: host.id,
      gradingDigests: request.gradingDigests,
      freeGpus: request.freeGpuUuids.length,
      cpuRanks: request.cpuRanks,
      leaseId: randomUUID(),
      gradingId: randomUUID(),
      nonce: randomBytes(32).toString("hex"),
      leaseSeconds: protocol.leaseSeconds,
    });
    if (claimed) {
      const tags = [cacheTags.submission(claimed.submissionId)];
      await announceTags(sql, tags);
      context.expireTags(tags);
      return { job: await signedJob(context, claimed) };
    }
    const remainingMs = deadline - Date.now();
    if (remainingMs <= 0) return null;
    await queueSignalOf(sql).wait(Math.min(remainingMs, pollMs), signal);
  }
}

/** Gives jobs of hosts that vanished back to the queue. */
async function endLostLeases(context: ServerContext): Promise<void> {
  const { sql } = context.database;
  const tags = await sql.begin(async (tx) => {
    const lost = await loseExpiredLeases(tx, {
      graceSeconds: protocol.graceSeconds,
      maxRetries: protocol.infraRetries,
    });
    const touched = new Set<string>();
    // In one order, so that two sweeps never wait for each other's submissions.
    for (const submissionId of [...new Set(lost.map((lease) => lease.submissionId))].sort((a, b) => (a < b ? -1 : 1))) {
      await recomputeSubmission(tx, submissionId);
      for (const tag of await submissionTags(tx, submissionId)) touched.add(tag);
    }
    if (lost.length > 0) {
      await announceTags(tx, [...touched]);
      await announceJobs(tx);
    }
    return [...touched];
  });
  if (tags.length > 0) context.expireTags(tags);
}

async function signedJob(context: ServerContext, claimed: NonNullable<Awaited<ReturnType<typeof claimJob>>>) {
  const { sql } = context.database;
  const attempt = await findAttemptForGrading(sql, claimed.attemptId);
  const task = await findTask(sql, { id: claimed.taskId });
  if (!attempt || !task) throw new Error(`job ${claimed.jobId} lost its attempt while it was claimed`);
  const spec: JobSpec = {
    format: "infradev-job/1",
    jobId: claimed.jobId,
    gradingId: claimed.gradingId,
    attemptId: claimed.attemptId,
    submissionId: claimed.submissionId,
    lease: { id: claimed.leaseId, nonce: claimed.nonce, expiresAt: claimed.expiresAt.toISOString() },
    suite: { slug: task.suite, version: task.suiteVersion },
    task: { slug: task.slug, gradingDigest: task.gradingDigest, gpus: task.gpus, ranks: task.ranks },
    patch: { sha256: attempt.patchSha256, bytes: attempt.patchBytes },
    candidate: candidateOf(attempt),
  };
  return signEnvelope(jobPayloadType, utf8(JSON.stringify(spec)), context.signer);
}
