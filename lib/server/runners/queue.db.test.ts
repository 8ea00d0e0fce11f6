import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { protocol } from "@/lib/contract/job";
import { endLease } from "../admin/hosts";
import { cancel, regrade, withdraw } from "../admin/submissions";
import {
  addTestHost,
  claimJobFor,
  codeOf,
  deliver,
  gradeOne,
  leaseOf,
  makeBundleFor,
  signedFinish,
  startJob,
  startTestServer,
  submitGold,
  type TestHost,
  type TestServer,
} from "../testing";
import { claim } from "./claim";
import { finish } from "./finish";
import { renew } from "./renew";

let server: TestServer;
let host: TestHost;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"));
  host = await addTestHost(server);
});
afterEach(() => server.close());

const jobRow = async (jobId: string) => {
  const [row] = await server.database.sql`
    select state, infra_retries, finish_status, not_before > now() as waits,
           round(extract(epoch from not_before - now()))::int as wait_seconds
    from job where id = ${jobId}`;
  return row;
};

const age = (leaseId: string, seconds: number) =>
  server.database.sql`
    update lease set expires_at = now() - make_interval(secs => ${seconds}) where id = ${leaseId}`;

describe("claims", () => {
  it("give each job to one host only", async () => {
    const hosts = await Promise.all([addTestHost(server), addTestHost(server), addTestHost(server)]);
    await submitGold(server);
    const jobs = await Promise.all(hosts.map((one) => claimJobFor(server, one)));
    expect(jobs.filter((job) => job !== null)).toHaveLength(1);
  });

  it("offer a job only to a host that has its task", async () => {
    await submitGold(server);
    const request = {
      waitSeconds: 0,
      runnerVersion: "0.0.0-synthetic",
      freeGpuUuids: [],
      cpuRanks: 8,
      sandboxed: true,
    };
    expect(await claim(server, host.row, { ...request, gradingDigests: ["f".repeat(64)] })).toBeNull();
    const digests = server.manifests.map((manifest) => manifest.digests.grading);
    expect(await claim(server, host.row, { ...request, cpuRanks: 1, gradingDigests: digests })).toBeNull();
    expect(await claim(server, host.row, { ...request, gradingDigests: digests })).not.toBeNull();
  });

  it("that wait are woken by a new job", async () => {
    const digests = server.manifests.map((manifest) => manifest.digests.grading);
    const started = performance.now();
    const waiting = claim(server, host.row, {
      waitSeconds: 20,
      runnerVersion: "0.0.0-synthetic",
      freeGpuUuids: [],
      cpuRanks: 8,
      sandboxed: true,
      gradingDigests: digests,
    });
    await submitGold(server);
    expect(await waiting).not.toBeNull();
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("of a caller that has gone take no job", async () => {
    await submitGold(server);
    const request = {
      waitSeconds: 5,
      runnerVersion: "0.0.0-synthetic",
      freeGpuUuids: [],
      cpuRanks: 8,
      sandboxed: true,
      gradingDigests: server.manifests.map((manifest) => manifest.digests.grading),
    };
    expect(await claim(server, host.row, request, AbortSignal.abort())).toBeNull();
    expect(await claimJobFor(server, host)).not.toBeNull();
  });
});

describe("GPUs of a host", () => {
  /** A suite with one task for each number of GPUs, whose jobs were queued in that order. */
  const serve = async (gpus: readonly number[], owned: number) => {
    await server.close();
    server = await startTestServer(inject("testServerUrl"), { tasks: gpus.length, gpus });
    host = await addTestHost(server, { gpus: owned });
    await submitGold(server);
    await server.database.sql`
      update job set created_at = now() - interval '1 hour' + make_interval(secs => task_id)`;
  };
  const slugOf = async (freeGpus: number): Promise<number | null> => {
    const job = await claimJobFor(server, host, freeGpus);
    return job === null ? null : Number(job.task.slug.split("-").at(-1));
  };
  const endLeases = () => server.database.sql`update lease set state = 'finished' where state = 'active'`;

  it("are offered jobs that fit, with as many as the task asks for", async () => {
    await serve([2, 1], 2);
    expect(await claimJobFor(server, host, 0)).toBeNull();
    expect(await claimJobFor(server, host, 1)).toMatchObject({ task: { slug: "synthetic-task-2", gpus: 1 } });
    await endLeases();
    expect(await claimJobFor(server, host, 2)).toMatchObject({ task: { slug: "synthetic-task-1", gpus: 2 } });
  });

  it("are never given twice, whatever a claim says is free", async () => {
    await serve([2, 2, 1, 1], 4);
    // Two claims that were under way at once name the same free GPUs.
    const claims = await Promise.all([slugOf(4), slugOf(4), slugOf(4)]);
    expect(new Set(claims)).toEqual(new Set([1, 2, null]));
    expect(await slugOf(4)).toBeNull();
  });

  it("are kept for the oldest job that needs more than is free, and not for one that never fits", async () => {
    await serve([1, 8, 4, 1, 0], 4);
    expect(await slugOf(4)).toBe(1);
    // Task 2 needs more than this host has; task 3 gets the host's next four; task 4 waits behind it; task 5 needs none.
    expect(await slugOf(3)).toBe(5);
    expect(await slugOf(3)).toBeNull();
    await endLeases();
    expect(await slugOf(4)).toBe(3);
    await endLeases();
    expect(await slugOf(4)).toBe(4);
  });

  it("are free again once a job's launches are over", async () => {
    await serve([2, 2], 2);
    const job = await claimJobFor(server, host, 2);
    if (!job) throw new Error("no job");
    expect(await slugOf(2)).toBeNull();
    await renew(server, await leaseOf(server, job), { state: "uploading", progress: null });
    expect(await slugOf(2)).toBe(2);
  });
});

describe("a lease", () => {
  it("that was never renewed is lost when it expires, and costs no retry", async () => {
    await submitGold(server);
    const job = await claimJobFor(server, host);
    if (!job) throw new Error("no job");
    await age(job.lease.id, 1);
    const again = await claimJobFor(server, await addTestHost(server));
    expect(again?.jobId).toBe(job.jobId);
    expect(again?.lease.id).not.toBe(job.lease.id);
    expect(again?.gradingId).not.toBe(job.gradingId);
    expect(await jobRow(job.jobId)).toMatchObject({ state: "leased", infra_retries: 0 });
  });

  it("that was renewed lives until its grace has passed, then its job goes to another host", async () => {
    await submitGold(server);
    const { job } = await startJob(server, host);
    await age(job.lease.id, protocol.graceSeconds - 10);
    expect(await claimJobFor(server, host)).toBeNull();
    await renew(server, await leaseOf(server, job), { state: "running", progress: "test 1 of 4" });
    expect((await leaseOf(server, job)).state).toBe("active");
    await age(job.lease.id, protocol.graceSeconds + 10);
    const other = await addTestHost(server);
    expect(await claimJobFor(server, host)).toBeNull();
    expect((await claimJobFor(server, other))?.jobId).toBe(job.jobId);
    expect(await codeOf(renew(server, await leaseOf(server, job), { state: "running", progress: null }))).toBe(
      "lease.lost",
    );
  });

  it("takes text that no column holds, with what is unstorable made visible", async () => {
    await submitGold(server);
    const { job, lease } = await startJob(server, host);
    await renew(server, lease, { state: "running", progress: "test\0 1" });
    const request = await signedFinish(host, job.lease.id, "infra", null);
    await finish(server, host.row, await leaseOf(server, job), { ...request, reason: "disk\0" });
    const [row] = await server.database.sql`
      select lease.progress, job.reason from lease join job on job.id = lease.job_id where lease.id = ${job.lease.id}`;
    expect(row).toEqual({ progress: "test\ufffd 1", reason: "disk\ufffd" });
  });

  it("that was lost fences: its bundle is kept as late and never scored", async () => {
    const submissionId = await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job);
    await age(job.lease.id, protocol.graceSeconds + 10);
    const other = await addTestHost(server);
    const winner = await gradeOne(server, other, {
      statuses: { "tests/test_pool.py::test_release": "failed" },
    });
    expect(winner.answer.verdict).toBe("accepted");
    const late = await deliver(server, host, job, bundle.path);
    expect(late.verdict).toBe("late");
    expect(late.receipt).not.toBeNull();
    expect(await deliver(server, host, job, bundle.path)).toEqual(late);
    const [summary] = await server.database.sql`
      select grading_id, verdict from attempt_summary where submission_id = ${submissionId}`;
    expect(summary).toEqual({ grading_id: winner.job.gradingId, verdict: "failed" });
  });

  it("is lost together with its summaries or not at all", async () => {
    await submitGold(server);
    const { job } = await startJob(server, host);
    await age(job.lease.id, protocol.graceSeconds + 10);
    await server.database.sql`alter table attempt_summary rename to out_of_reach`;
    await expect(claimJobFor(server, host)).rejects.toThrow("attempt_summary");
    expect((await leaseOf(server, job)).state).toBe("active");
    await server.database.sql`alter table out_of_reach rename to attempt_summary`;
    expect(await claimJobFor(server, await addTestHost(server))).not.toBeNull();
    expect((await leaseOf(server, job)).state).toBe("lost");
  });

  it("that a maintainer ends fences too, and its job is queued again", async () => {
    await submitGold(server);
    const { job } = await startJob(server, host);
    expect(await endLease(server, job.lease.id)).toEqual({ job: "requeued" });
    expect(await codeOf(renew(server, await leaseOf(server, job), { state: "running", progress: null }))).toBe(
      "lease.over",
    );
    expect((await claimJobFor(server, await addTestHost(server)))?.jobId).toBe(job.jobId);
  });
});

describe("faults of a host", () => {
  it("are retried after one and five minutes, on another host first, then the job ends", async () => {
    const submissionId = await submitGold(server);
    const waits: number[] = [];
    for (let round = 0; round < 3; round++) {
      await server.database.sql`update job set not_before = now() - interval '10 minutes'`;
      const { job, lease } = await startJob(server, host);
      const answer = await finish(server, host.row, lease, await signedFinish(host, job.lease.id, "infra", null));
      const row = await jobRow(job.jobId);
      waits.push(row?.["waits"] ? (row["wait_seconds"] as number) : -1);
      expect(answer.verdict).toBe(round < 2 ? "requeued" : "recorded");
      expect(row).toMatchObject(
        round < 2
          ? { state: "queued", infra_retries: round + 1 }
          : { state: "lost", infra_retries: 2, finish_status: "infra" },
      );
    }
    expect(waits).toEqual([60, 300, -1]);
    const rows = await server.database.sql`select 1 from attempt_summary where submission_id = ${submissionId}`;
    expect(rows).toHaveLength(0);
  });

  it("that lose a job leave its submission's row provisional until the attempt is graded after all", async () => {
    await server.close();
    server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
    host = await addTestHost(server);
    const submissionId = await submitGold(server);
    await gradeOne(server, host);
    for (let round = 0; round < 3; round++) {
      await server.database.sql`update job set not_before = now() - interval '10 minutes'`;
      const { job, lease } = await startJob(server, host);
      await finish(server, host.row, lease, await signedFinish(host, job.lease.id, "infra", null));
    }
    const summary = async () => {
      const [row] = await server.database.sql`
        select provisional, graded_count from submission_summary where submission_id = ${submissionId}`;
      return row;
    };
    expect(await summary()).toEqual({ provisional: true, graded_count: 1 });
    const lost = server.database.sql`
      select task.slug from job join task on task.id = job.task_id where job.state = 'lost'`;
    const [task] = await lost;
    expect(await regrade(server, { submissionId, task: task?.["slug"] as string, reason: "host mended" })).toBe(1);
    await gradeOne(server, host);
    expect(await summary()).toEqual({ provisional: false, graded_count: 2 });
  });

  it("are not what a stopped runner reports: its job is queued again at once, and no retry is counted", async () => {
    await submitGold(server);
    for (let round = 0; round < 4; round++) {
      await server.database.sql`update job set not_before = now() - interval '10 minutes'`;
      const { job, lease } = await startJob(server, host);
      const request = await signedFinish(host, job.lease.id, "canceled", null);
      const answer = await finish(server, host.row, lease, { ...request, reason: "the runner was stopped" });
      expect(answer.verdict).toBe("requeued");
      expect(await jobRow(job.jobId)).toMatchObject({ state: "queued", infra_retries: 0, waits: false });
    }
  });

  it("prefer another host that was seen lately", async () => {
    await submitGold(server);
    const other = await addTestHost(server);
    const { job, lease } = await startJob(server, host);
    await finish(server, host.row, lease, await signedFinish(host, job.lease.id, "infra", null));
    await server.database.sql`update job set not_before = now()`;
    expect(await claimJobFor(server, host)).toBeNull();
    expect((await claimJobFor(server, other))?.jobId).toBe(job.jobId);
  });

  it("with evidence leave a provisional row until a rerun replaces it", async () => {
    const submissionId = await submitGold(server);
    const first = await gradeOne(server, host, { status: "infra" });
    expect(first.answer.verdict).toBe("requeued");
    const summary = async () => {
      const [row] = await server.database.sql`
        select provisional, graded_count, resolved_count from submission_summary
        where submission_id = ${submissionId}`;
      return row;
    };
    expect(await summary()).toEqual({ provisional: true, graded_count: 0, resolved_count: 0 });
    await server.database.sql`update job set not_before = now() - interval '10 minutes'`;
    await gradeOne(server, host);
    expect(await summary()).toEqual({ provisional: false, graded_count: 1, resolved_count: 1 });
  });
});

describe("cancelling", () => {
  it("by a withdrawal waits for jobs before it takes the submission, as an ingest does", async () => {
    const submissionId = await submitGold(server);
    let withdrawn: Promise<void> | undefined;
    await server.database.sql.begin(async (tx) => {
      await tx`select 1 from job for update`;
      withdrawn = withdraw(server, submissionId, "taken back");
      await expect
        .poll(async () => {
          const [row] = await server.database.sql`select count(*)::int as n from pg_locks where not granted`;
          return row?.["n"];
        })
        .toBeGreaterThan(0);
      expect(await tx`select 1 from submission where id = ${submissionId} for update nowait`).toHaveLength(1);
    });
    await withdrawn;
  });

  it("ends a queued job at once and tells the runner of a leased one on its next renewal", async () => {
    const submissionId = await submitGold(server);
    const { job, lease } = await startJob(server, host);
    expect(await cancel(server, submissionId)).toBe(1);
    expect(await renew(server, lease, { state: "running", progress: null })).toMatchObject({ cancel: true });
    const answer = await finish(server, host.row, lease, await signedFinish(host, job.lease.id, "canceled", null));
    expect(answer.verdict).toBe("recorded");
    expect(
      await finish(
        server,
        host.row,
        await leaseOf(server, job),
        await signedFinish(host, job.lease.id, "canceled", null),
      ),
    ).toEqual(answer);
    expect(
      await codeOf(
        finish(server, host.row, await leaseOf(server, job), await signedFinish(host, job.lease.id, "infra", null)),
      ),
    ).toBe("finish.differs");
    expect(await regrade(server, { submissionId, task: null, reason: "again" })).toBe(1);
    expect(await cancel(server, submissionId)).toBe(1);
    expect(await claimJobFor(server, host)).toBeNull();
  });
});
