import type postgres from "postgres";
import type { JobState } from "../../lib/contract/vocabulary";
import { storableText } from "./storable";

/** A pool or a transaction of raw SQL: the queue runs without drizzle, since its statements are about locks. */
export type SqlRunner = postgres.Sql | postgres.TransactionSql;

export interface ClaimedJob {
  jobId: string;
  leaseId: string;
  gradingId: string;
  nonce: string;
  expiresAt: Date;
  attemptId: string;
  submissionId: string;
  taskId: number;
}

/** GPUs of a host that its active leases hold: those whose launches are not over. */
async function countGpusOut(tx: SqlRunner, hostId: string): Promise<number> {
  const [row] = await tx<{ out: number }[]>`
    select coalesce(sum(task.gpus_grade), 0)::int as out
    from lease join job on job.id = lease.job_id join task on task.id = job.task_id
    where lease.host_id = ${hostId} and lease.state = 'active'
      and lease.job_state in ('leased', 'preparing', 'running')`;
  return row?.out ?? 0;
}

/**
 * Grants the oldest due job of the highest priority that the host can run, or null. Concurrent claims never get the
 * same job (FOR UPDATE SKIP LOCKED). Within two minutes of becoming due, a job that failed on a host waits for another
 * one that has been seen lately. A host that is not trusted serves its own organization only.
 *
 * A job gets as many GPUs as its task asks for, out of those that the host reports as free; what its other leases hold
 * is never given twice. The oldest job that needs more than is free, and not more than the host can give once its
 * leases end, has what is free reserved for it: jobs behind it that need GPUs wait, those that need none do not.
 */
export async function claimJob(
  sql: postgres.Sql,
  params: {
    hostId: string;
    gradingDigests: readonly string[];
    freeGpus: number;
    cpuRanks: number;
    leaseId: string;
    gradingId: string;
    nonce: string;
    leaseSeconds: number;
  },
): Promise<ClaimedJob | null> {
  if (params.gradingDigests.length === 0) return null;
  return sql.begin(async (tx) => {
    // One claim of a host after the other, so that each counts what the one before it took.
    const [host] = await tx<{ gpus: number }[]>`
      select jsonb_array_length(facts -> 'gpus') as gpus from host where id = ${params.hostId} for no key update`;
    const out = await countGpusOut(tx, params.hostId);
    const owned = Math.max(host?.gpus ?? 0, params.freeGpus);
    const free = Math.max(0, Math.min(params.freeGpus, owned - out));
    const servable = free + out;
    const due = () => tx`
      from job
      join task on task.id = job.task_id
      join attempt on attempt.id = job.attempt_id
      join submission on submission.id = attempt.submission_id
      join host on host.id = ${params.hostId}
      where job.state = 'queued'
        and job.not_before <= now()
        and job.cancel_requested_at is null
        and host.revoked_at is null
        and (host.trusted_at is not null or host.organization_id = submission.organization_id)
        and submission.withdrawn_at is null
        and task.grading_digest = any(${params.gradingDigests as string[]})
        and (
          job.avoid_host_id is distinct from host.id
          or job.not_before < now() - interval '2 minutes'
          or not exists (
            select 1 from host other
            where other.id <> host.id and other.revoked_at is null and other.trusted_at is not null
              and other.last_seen_at > now() - interval '2 minutes'
          )
        )`;
    const [job] = await tx<{ id: string; attemptId: string; taskId: number }[]>`
      select job.id, job.attempt_id as "attemptId", job.task_id as "taskId"
      ${due()}
        and task.gpus_grade <= ${free}
        and (task.gpus_grade > 0 or task.ranks <= ${params.cpuRanks})
        and (task.gpus_grade = 0 or not exists (
          select 1
          from (
            select job.id, job.priority, job.created_at
            ${due()} and task.gpus_grade > ${free} and task.gpus_grade <= ${servable}
          ) large
          where large.priority > job.priority
            or (large.priority = job.priority and (large.created_at, large.id) < (job.created_at, job.id))
        ))
      order by job.priority desc, job.created_at, job.id
      limit 1
      for update of job skip locked`;
    if (!job) return null;
    const [lease] = await tx<{ expiresAt: Date }[]>`
      insert into lease (id, job_id, host_id, grading_id, nonce, expires_at)
      values (${params.leaseId}, ${job.id}, ${params.hostId}, ${params.gradingId}, ${params.nonce},
              now() + make_interval(secs => ${params.leaseSeconds}))
      returning expires_at as "expiresAt"`;
    const [attempt] = await tx<{ submissionId: string }[]>`
      select submission_id as "submissionId" from attempt where id = ${job.attemptId}`;
    await tx`update job set state = 'leased' where id = ${job.id}`;
    if (!lease || !attempt) throw new Error(`job ${job.id} lost its attempt while it was claimed`);
    return {
      jobId: job.id,
      leaseId: params.leaseId,
      gradingId: params.gradingId,
      nonce: params.nonce,
      expiresAt: lease.expiresAt,
      attemptId: job.attemptId,
      submissionId: attempt.submissionId,
      taskId: job.taskId,
    };
  });
}

export interface LeaseRow {
  id: string;
  jobId: string;
  hostId: string;
  gradingId: string;
  nonce: string;
  state: "active" | "finished" | "lost" | "ended";
  jobState: JobState;
  expiresAt: Date;
  finishStatus: string | null;
  bundleSha256: string | null;
  verdict: string | null;
  attemptId: string;
  submissionId: string;
  taskId: number;
  cancelRequested: boolean;
  infraRetries: number;
}

/** A lease with its job; `lock` holds the lease's row until the transaction ends. */
export async function findLease(sql: SqlRunner, leaseId: string, lock = false): Promise<LeaseRow | null> {
  const [lease] = await sql<LeaseRow[]>`
    select lease.id, lease.job_id as "jobId", lease.host_id as "hostId", lease.grading_id as "gradingId", lease.nonce,
           lease.state, lease.job_state as "jobState", lease.expires_at as "expiresAt",
           lease.finish_status as "finishStatus", lease.bundle_sha256 as "bundleSha256", lease.verdict,
           job.attempt_id as "attemptId", attempt.submission_id as "submissionId", job.task_id as "taskId",
           job.cancel_requested_at is not null as "cancelRequested", job.infra_retries as "infraRetries"
    from lease join job on job.id = lease.job_id join attempt on attempt.id = job.attempt_id
    where lease.id = ${leaseId}
    ${lock ? sql`for update of lease, job` : sql``}`;
  return lease ?? null;
}

/** Whether a lease was granted for the grading of this id. */
export async function isLeasedGrading(sql: SqlRunner, gradingId: string): Promise<boolean> {
  const rows = await sql`select 1 from lease where grading_id = ${gradingId}`;
  return rows.length > 0;
}

/** Prolongs an active lease; null where it is active no longer. */
export async function renewLease(
  sql: postgres.Sql,
  params: { leaseId: string; state: JobState; progress: string | null; leaseSeconds: number },
): Promise<{ expiresAt: Date; cancel: boolean } | null> {
  return sql.begin(async (tx) => {
    const [lease] = await tx<{ expiresAt: Date; jobId: string }[]>`
      update lease
      set expires_at = now() + make_interval(secs => ${params.leaseSeconds}), renewed_at = now(),
          job_state = ${params.state}, progress = ${storableText(params.progress)}
      where id = ${params.leaseId} and state = 'active'
      returning expires_at as "expiresAt", job_id as "jobId"`;
    if (!lease) return null;
    const [job] = await tx<{ cancel: boolean }[]>`
      update job set state = ${params.state} where id = ${lease.jobId}
      returning cancel_requested_at is not null as cancel`;
    return { expiresAt: lease.expiresAt, cancel: job?.cancel ?? true };
  });
}

export interface LostLease {
  leaseId: string;
  submissionId: string;
  /** Queued again, or given up after its last retry. */
  outcome: "requeued" | "given-up" | "canceled";
}

/**
 * Ends leases that nobody renews: at once where none was ever renewed (nothing starts before the first renewal), else
 * `graceSeconds` after their expiry. Call it in the transaction that recomputes their submissions. Their jobs go back into the queue, another host preferred, `maxRetries` times.
 */
export async function loseExpiredLeases(
  tx: SqlRunner,
  params: { graceSeconds: number; maxRetries: number },
): Promise<LostLease[]> {
  const expired = await tx<{ leaseId: string; jobId: string; hostId: string; started: boolean }[]>`
      select id as "leaseId", job_id as "jobId", host_id as "hostId", renewed_at is not null as started
      from lease
      where state = 'active'
        and expires_at < now() - make_interval(secs => case when renewed_at is null then 0 else ${params.graceSeconds}::int end)
      order by id
      for update skip locked`;
  const lost: LostLease[] = [];
  for (const { leaseId, jobId, hostId, started } of expired) {
    await tx`update lease set state = 'lost', ended_at = now() where id = ${leaseId}`;
    const outcome = await returnJob(tx, {
      jobId,
      hostId,
      countRetry: started,
      maxRetries: params.maxRetries,
      delaySeconds: 0,
      reason: "its host stopped renewing the lease",
    });
    const [job] = await tx<{ submissionId: string }[]>`
        select attempt.submission_id as "submissionId" from job join attempt on attempt.id = job.attempt_id
        where job.id = ${jobId}`;
    if (job) lost.push({ leaseId, submissionId: job.submissionId, outcome });
  }
  return lost;
}

/** Puts a job back into the queue after a fault that is not the candidate's, or ends it after its last retry. */
export async function returnJob(
  tx: SqlRunner,
  params: {
    jobId: string;
    hostId: string;
    countRetry: boolean;
    maxRetries: number;
    delaySeconds: number;
    reason: string;
  },
): Promise<LostLease["outcome"]> {
  const [job] = await tx<{ infraRetries: number; cancel: boolean }[]>`
    select infra_retries as "infraRetries", cancel_requested_at is not null as cancel
    from job where id = ${params.jobId} for update`;
  if (!job) throw new Error(`job ${params.jobId} does not exist`);
  if (job.cancel) {
    await finishJob(tx, { jobId: params.jobId, state: "finished", status: "canceled", reason: params.reason });
    return "canceled";
  }
  if (params.countRetry && job.infraRetries >= params.maxRetries) {
    await finishJob(tx, { jobId: params.jobId, state: "lost", status: "infra", reason: params.reason });
    return "given-up";
  }
  await tx`
    update job
    set state = 'queued', avoid_host_id = ${params.hostId}, reason = ${storableText(params.reason)},
        infra_retries = infra_retries + ${params.countRetry ? 1 : 0},
        not_before = now() + make_interval(secs => ${params.delaySeconds})
    where id = ${params.jobId}`;
  return "requeued";
}

export async function finishJob(
  tx: SqlRunner,
  params: { jobId: string; state: "finished" | "lost"; status: string; reason: string | null },
): Promise<void> {
  await tx`
    update job set state = ${params.state}, finish_status = ${params.status}, reason = ${storableText(params.reason)},
                   finished_at = now()
    where id = ${params.jobId}`;
}

export async function finishLease(
  tx: SqlRunner,
  params: {
    leaseId: string;
    state: "finished" | "lost" | "ended";
    status: string;
    bundleSha256: string | null;
    verdict: string;
  },
): Promise<void> {
  await tx`
    update lease
    set state = ${params.state}, job_state = 'finished', finish_status = ${params.status},
        bundle_sha256 = ${params.bundleSha256}, verdict = ${params.verdict}, ended_at = coalesce(ended_at, now())
    where id = ${params.leaseId}`;
}

/** Wants a grading of each attempt that has no open job; answers the number of new jobs. */
export async function enqueueAttempts(
  tx: SqlRunner,
  params: { attemptIds: readonly string[]; priority: number },
): Promise<number> {
  const rows = await tx`
    insert into job (attempt_id, task_id, priority)
    select attempt.id, attempt.task_id, ${params.priority}
    from attempt
    where attempt.id = any(${params.attemptIds as string[]}::uuid[])
      and not exists (
        select 1 from job where job.attempt_id = attempt.id and job.state not in ('finished', 'lost')
      )
    order by attempt.created_at, attempt.task_id, attempt.ordinal
    returning id`;
  return rows.length;
}

/**
 * Asks for the end of an attempt's open jobs: a queued one ends at once, a leased one when its runner hears of it.
 * Answers how many were open.
 */
export async function cancelJobs(tx: SqlRunner, params: { submissionId: string }): Promise<number> {
  const rows = await tx<{ state: string; id: string }[]>`
    update job
    set cancel_requested_at = coalesce(cancel_requested_at, now()),
        state = case when state = 'queued' then 'finished' else state end,
        finish_status = case when state = 'queued' then 'canceled' else finish_status end,
        finished_at = case when state = 'queued' then now() else finished_at end
    from attempt
    where attempt.id = job.attempt_id and attempt.submission_id = ${params.submissionId}
      and job.state not in ('finished', 'lost')
    returning job.state, job.id`;
  return rows.length;
}

export interface LeaseListRow {
  id: string;
  state: string;
  jobState: string;
  host: string;
  suite: string;
  task: string;
  attemptId: string;
  progress: string | null;
  grantedAt: Date;
  expiresAt: Date;
}

export async function listLeases(sql: SqlRunner, params: { all: boolean }): Promise<LeaseListRow[]> {
  return sql<LeaseListRow[]>`
    select lease.id, lease.state, lease.job_state as "jobState", host.name as host, suite.slug as suite,
           task.slug as task, job.attempt_id as "attemptId", lease.progress, lease.granted_at as "grantedAt",
           lease.expires_at as "expiresAt"
    from lease
    join job on job.id = lease.job_id
    join host on host.id = lease.host_id
    join task on task.id = job.task_id
    join suite on suite.id = task.suite_id
    where ${params.all} or lease.state = 'active'
    order by lease.granted_at desc
    limit 500`;
}

/** The active lease on a submission's task, where the suite's probes are open: a live log may show what they assert. */
export async function findWatchableLease(
  sql: SqlRunner,
  params: { submissionId: string; task: string },
): Promise<{ id: string; state: JobState; progress: string | null } | null> {
  const [lease] = await sql<{ id: string; state: JobState; progress: string | null }[]>`
    select lease.id, lease.job_state as state, lease.progress
    from lease
    join job on job.id = lease.job_id
    join attempt on attempt.id = job.attempt_id
    join submission on submission.id = attempt.submission_id
    join task on task.id = job.task_id
    join suite on suite.id = task.suite_id
    where attempt.submission_id = ${params.submissionId} and task.slug = ${params.task}
      and lease.state = 'active' and suite.probes = 'open' and submission.withdrawn_at is null
    order by lease.granted_at desc limit 1`;
  return lease ?? null;
}
