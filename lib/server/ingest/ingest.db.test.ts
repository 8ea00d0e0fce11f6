import { readFile, stat } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { findAttempt } from "@/db/queries/submissions";
import { manifestForGpus } from "@/lib/contract/task";
import { generateKeyPair } from "@/lib/evidence/keys";
import { verifyBundle } from "@/lib/evidence/node/verify-bundle";
import { testPatch } from "@/lib/evidence/testing";
import { publishedKeys } from "../context";
import { findBundle, findEvidenceFile, readEvidence } from "../evidence";
import { inclusionOf } from "../log/tree";
import { announceBundle } from "../runners/bundle-upload";
import { finish } from "../runners/finish";
import { renew } from "../runners/renew";
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
  type TestServer,
  uploadFile,
} from "../testing";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
});
afterEach(() => server.close());

/** Everything that an accepted bundle writes, as the database has it. */
async function written(): Promise<Record<string, unknown>> {
  const { sql } = server.database;
  const count = async (table: string) => (await sql`select count(*)::int as n from ${sql(table)}`)[0]?.["n"];
  const entries = await Promise.all(
    ["grading", "outcome", "rank_outcome", "failure", "label", "payload_file", "attempt_summary", "log_record"].map(
      async (table) => [table, await count(table)],
    ),
  );
  return Object.fromEntries(entries);
}

describe("an accepted bundle", () => {
  it("is recorded with outcomes, summaries, log record and a receipt that verifies offline", async () => {
    const host = await addTestHost(server);
    const submissionId = await submitGold(server);
    const { bundle, answer, job } = await gradeOne(server, host);
    expect(answer).toMatchObject({ verdict: "accepted", gradingId: job.gradingId });
    const report = await verifyBundle(bundle.path, {
      keys: (await publishedKeys(server)).keys,
      receipt: answer.receipt,
      log: await inclusionOf(server, job.gradingId),
    });
    expect(report.checks.filter((check) => !check.ok)).toEqual([]);
    expect(report.notChecked).toEqual([]);
    const [grading] = await server.database.sql`select tier, late, resolved from grading where id = ${job.gradingId}`;
    expect(grading).toEqual({ tier: "verified", late: false, resolved: true });
    const [jobRow] = await server.database.sql`select state, finish_status from job where id = ${job.jobId}`;
    expect(jobRow).toEqual({ state: "finished", finish_status: "completed" });
    const [summary] = await server.database.sql`
      select tier, graded_count, resolved_count, provisional from submission_summary
      where submission_id = ${submissionId}`;
    // The other task's job is still open.
    expect(summary).toEqual({ tier: "verified", graded_count: 1, resolved_count: 1, provisional: true });
    expect(server.expired).toContain(`submission:${submissionId}`);
    expect(server.expired).toContain("board:synthetic-suite");
  });

  it("gives the same answer the second time and changes nothing", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { bundle, answer, job } = await gradeOne(server, host);
    const before = await written();
    expect(await deliver(server, host, job, bundle.path)).toEqual(answer);
    expect(await written()).toEqual(before);
  });

  it("is recorded once when it is delivered twice at the same time", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job);
    const sha256 = await uploadFile(server, job.lease.id, bundle.path);
    const request = await signedFinish(host, job.lease.id, "completed", sha256);
    const lease = await leaseOf(server, job);
    const [first, second] = await Promise.all([
      finish(server, host.row, lease, request),
      finish(server, host.row, lease, request),
    ]);
    expect(first).toEqual(second);
    expect(await written()).toMatchObject({ grading: 1, log_record: 3 });
  });

  it("is taken over once where several requests ask for its offset at its end", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job);
    const bytes = await readFile(bundle.path);
    const announcement = { sha256: bundle.sha256, bytes: bundle.bytes };
    await announceBundle(server, job.lease.id, announcement);
    await server.uploads.append(
      job.lease.id,
      0,
      (async function* () {
        yield new Uint8Array(bytes);
      })(),
    );
    // At different moments: before, while and after the first one moves it.
    const asked = Array.from({ length: 24 }, async (_, index) => {
      for (let turns = 0; turns < index; turns++) await stat(bundle.path);
      return announceBundle(server, job.lease.id, announcement);
    });
    for (const answer of await Promise.all(asked)) expect(answer).toEqual({ offset: bundle.bytes, complete: true });
    expect(await server.uploads.find(job.lease.id)).toBeNull();
  });

  it("of two hosts at the same time leaves summaries that equal a recomputation, and a log without gaps", async () => {
    const hosts = [await addTestHost(server), await addTestHost(server)];
    const submissionId = await submitGold(server);
    await Promise.all(
      hosts.map((host, index) =>
        gradeOne(server, host, index === 0 ? {} : { statuses: { "probes/test_pool_probe.py::test_shape": "failed" } }),
      ),
    );
    const [summary] = await server.database.sql`
      select * from submission_summary where submission_id = ${submissionId}`;
    const [counted] = await server.database.sql`
      select count(*) filter (where failed = 0)::float8 as resolved,
             count(*) filter (where failed > 0 and official_failed = 0)::int as rejected,
             100 * avg(passed / required::float8) as passed_pct
      from (
        select grading.id,
               count(*) filter (where task_test.required and outcome.status <> 'passed') as failed,
               count(*) filter (where task_test.required and task_test.kind = 'official'
                                  and outcome.status <> 'passed') as official_failed,
               count(*) filter (where task_test.required and outcome.status = 'passed') as passed,
               count(*) filter (where task_test.required) as required
        from grading join outcome on outcome.grading_id = grading.id join task_test on task_test.id = outcome.test_id
        group by grading.id
      ) per_grading`;
    expect(summary).toMatchObject({
      graded_count: 2,
      resolved_count: counted?.["resolved"],
      resolved_pct: 50,
      official_resolved_count: 2,
      probe_rejected_count: counted?.["rejected"],
      passed_pct: counted?.["passed_pct"],
      provisional: false,
    });
    const positions = await server.database.sql`select position::int as position from log_record order by position`;
    expect(positions.map((row) => row["position"])).toEqual(positions.map((_, index) => index));
    const [failure] = await server.database.sql`
      select label.type, failure.root_rank from failure join label using (grading_id, test_id)`;
    expect(failure).toEqual({ type: "shape-layout-dtype", root_rank: 0 });
  });
});

describe("what a grading measured", () => {
  it("stands in the database as it stood in the bundle", async () => {
    const host = await addTestHost(server);
    const submissionId = await submitGold(server);
    const { job, bundle } = await gradeOne(server, host, {
      statuses: { "probes/test_pool_probe.py::test_shape": "crashed" },
      files: { "ranks/launch-0/rank-1.stderr.log": "synthetic crash\n" },
      editResult: (result) => {
        const [test] = result.tests;
        const [rank] = test?.ranks ?? [];
        if (!test || !rank) throw new Error("the first test has no rank");
        rank.logLine = 3;
        const measure = { rank: 1, property: "resource.memory" as const, unit: "MB", repeats: 3 };
        test.resources = [
          { ...measure, name: "peak", value: 1.5, limit: 2, met: true },
          { ...measure, name: "copies", property: null, value: 3, limit: 2, met: false },
          {
            ...measure,
            name: "call-time",
            property: "resource.speed",
            value: 1.25,
            limit: 2,
            unit: "ratio",
            repeats: 5,
            met: true,
            meter: "wall-clock",
            spread: { min: 1.1, max: 1.5 },
            relative: { to: "gold", reference: 0.4, measured: 0.5, sideUnit: "s" },
            accuracy: "a few milliseconds",
          },
        ];
        const nothing = { hostPeakMib: null, nvlinkBytes: null, gpuPeakMib: null, allocatorPeakMib: null };
        test.usage = {
          ...nothing,
          wallClockS: 0.5,
          gpuPeakMib: 812.5,
          allocatorPeakMib: 640,
          transportBytes: 1_052_000,
        };
        for (const launch of result.launches) launch.usage = { ...nothing, wallClockS: null, transportBytes: 9 };
        result.extraTests = [{ id: "tests/test_extra.py::test_added", status: "passed" }];
      },
    });
    const attempt = await findAttempt(server.database.db, { submissionId, task: job.task.slug });
    expect(attempt?.tests.map(({ label: _label, ...test }) => test)).toEqual(
      bundle.result.tests.map(({ label: _label, ...test }) => test),
    );
    expect(attempt?.launches).toEqual(bundle.result.launches);
    expect(attempt?.logs).toMatchObject([{ launch: 0, rank: 1, stream: "stderr", bytes: 16 }]);
    expect(attempt?.tests.find((test) => test.status === "crashed")?.label).toMatchObject({
      class: "structural",
      type: "execution-api",
    });
    const evidence = await readEvidence(server, job.gradingId);
    expect(
      evidence.sums
        .trimEnd()
        .split("\n")
        .map((line) => line.slice(66)),
    ).toEqual(Object.keys(evidence.files));
    expect(evidence.shown.summary).toEqual(bundle.result.summary);
    const patch = await findEvidenceFile(server, job.gradingId, "payload/patch.diff");
    expect((await server.blobs.readAll(patch.sha256, 10_000)).toString("utf8")).toBe(testPatch);
  });

  it("keeps what reveals a hidden probe out of every file that is given out", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job, bundle } = await gradeOne(server, host, { sealed: { "probes.txt": "secret assertion" } });
    await server.database.sql`update suite set probes = 'hidden'`;
    const evidence = await readEvidence(server, job.gradingId);
    expect(evidence.sums).toContain("sealed.tar.gz");
    expect(Object.keys(evidence.files)).not.toContain("sealed.tar.gz");
    expect(await codeOf(findEvidenceFile(server, job.gradingId, "sealed.tar.gz"))).toBe("grading.no-such-file");
    expect(await codeOf(findBundle(server, job.gradingId))).toBe("grading.sealed");
    // The server keeps the sealed part for the day when the probes open: inside the bundle.
    expect((await server.blobs.stat(bundle.sha256))?.bytes).toBe(bundle.bytes);
  });
});

describe("a bundle is refused, and nothing changes, when", () => {
  it("it is sent for another lease", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const first = await gradeOne(server, host);
    const { job } = await startJob(server, host);
    const before = await written();
    expect(await codeOf(deliver(server, host, job, first.bundle.path))).toBe("ingest.replayed");
    expect(await written()).toEqual(before);
  });

  it.each([
    ["bundle.lease-mismatch", { lease: { id: "00000000-0000-4000-8000-000000000000", nonce: "a".repeat(64) } }],
    ["bundle.grading-mismatch", { gradingId: "00000000-0000-4000-8000-000000000000" }],
    ["bundle.attempt-mismatch", { attemptId: "00000000-0000-4000-8000-000000000000" }],
    ["bundle.lease-mismatch", { lease: null }],
    ["bundle.patch-mismatch", { patch: "--- another\n" }],
  ])("it says something else than its lease: %s", async (code, overrides) => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const before = await written();
    const bundle = await makeBundleFor(server, host, job, overrides);
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe(code);
    expect(await written()).toEqual(before);
    expect((await leaseOf(server, job)).state).toBe("active");
  });

  it("its nonce is another one", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job, { lease: { id: job.lease.id, nonce: "b".repeat(64) } });
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.nonce-mismatch");
  });

  it("it is of another task", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const other = server.manifests.find((manifest) => manifest.task.slug !== job.task.slug);
    if (!other) throw new Error("the suite has one task only");
    const bundle = await makeBundleFor(server, host, job, { manifest: other });
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.task-mismatch");
  });

  it("its manifest is not the suite's", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const manifest = structuredClone(server.manifests.find((one) => one.task.slug === job.task.slug));
    if (!manifest?.tests[0]) throw new Error("the task has no test");
    manifest.tests = manifest.tests.slice(0, 2);
    const bundle = await makeBundleFor(server, host, job, { manifest });
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.manifest-mismatch");
  });

  it("it was graded with fewer GPUs than the task's standard launch has", async () => {
    await server.close();
    server = await startTestServer(inject("testServerUrl"), { tasks: 1, gpus: [2] });
    const host = await addTestHost(server, { gpus: 2 });
    await submitGold(server);
    const job = await claimJobFor(server, host, 2);
    const [standard] = server.manifests;
    if (!job || !standard) throw new Error("no job");
    await renew(server, await leaseOf(server, job), { state: "running", progress: null });
    const low = await makeBundleFor(server, host, job, { manifest: manifestForGpus(standard, 1) });
    expect(await codeOf(deliver(server, host, job, low.path))).toBe("bundle.profile-below-standard");
    // Claiming the standard profile for what was not required, or for launches that saw fewer, does not help.
    const { profile: _profile, ...posing } = manifestForGpus(standard, 1);
    const posed = await makeBundleFor(server, host, job, { manifest: posing });
    expect(await codeOf(deliver(server, host, job, posed.path))).toBe("bundle.manifest-mismatch");
    const blind = await makeBundleFor(server, host, job, {
      editResult: (result) => {
        for (const launch of result.launches) launch.gpus = launch.gpus?.slice(0, 1);
      },
    });
    expect(await codeOf(deliver(server, host, job, blind.path))).toBe("bundle.launch-gpus");
    const whole = await makeBundleFor(server, host, job);
    expect((await deliver(server, host, job, whole.path)).verdict).toBe("accepted");
  });

  it("a key signed it that is registered nowhere", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const stranger = await generateKeyPair();
    const bundle = await makeBundleFor(server, { signer: stranger.signer }, job);
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.unknown-key");
  });

  it("another host's key signed it", async () => {
    const host = await addTestHost(server);
    const other = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, other, job);
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.key-mismatch");
  });

  it.each([
    ["bundle.key-expired", "valid_until = now() - interval '1 hour'"],
    ["bundle.key-revoked", "revoked_at = now()"],
    ["bundle.key-revoked", "compromised_since = now() - interval '1 minute'"],
    ["bundle.key-not-yet-valid", "valid_from = now() + interval '1 hour'"],
  ])("its key is not in force: %s", async (code, change) => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job);
    await server.database.sql.unsafe(`update signing_key set ${change} where keyid = '${host.signer.keyid}'`);
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe(code);
  });

  it("the request says another status than its evidence", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const bundle = await makeBundleFor(server, host, job);
    expect(await codeOf(deliver(server, host, job, bundle.path, "tampered"))).toBe("finish.status-mismatch");
  });

  it("it never arrived, or the finish is not the host's own", async () => {
    const host = await addTestHost(server);
    const other = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const lease = await leaseOf(server, job);
    const request = await signedFinish(host, job.lease.id, "completed", "c".repeat(64));
    expect(await codeOf(finish(server, host.row, lease, request))).toBe("finish.bundle-not-uploaded");
    const forged = await signedFinish(other, job.lease.id, "completed", "c".repeat(64));
    expect(await codeOf(finish(server, host.row, lease, forged))).toBe("finish.signature-invalid");
    const bare = await signedFinish(host, job.lease.id, "completed", null);
    expect(await codeOf(finish(server, host.row, lease, bare))).toBe("finish.bundle-missing");
  });

  it("a number in it fits no column", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const before = await written();
    const bundle = await makeBundleFor(server, host, job, {
      editResult: (result) => {
        const rank = result.tests[0]?.ranks[0];
        if (rank) rank.logLine = 2 ** 40;
      },
    });
    expect(await codeOf(deliver(server, host, job, bundle.path))).toBe("bundle.out-of-range");
    expect(await written()).toEqual(before);
  });
});

describe("wording", () => {
  it("that changed since a host got the suite keeps no bundle out: the grading digest decides", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    const manifest = structuredClone(server.manifests.find((one) => one.task.slug === job.task.slug));
    const [test] = manifest?.tests ?? [];
    if (!manifest || !test) throw new Error("the task has no test");
    manifest.suite.version = "1.1";
    manifest.task.title = "A better title";
    test.requirement = "A better sentence";
    const bundle = await makeBundleFor(server, host, job, { manifest });
    expect(await deliver(server, host, job, bundle.path)).toMatchObject({ verdict: "accepted" });
  });
});

describe("tiers", () => {
  it("follow the trust that a host has when its bundle is recorded", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const localPath = server.blobs.localPath.bind(server.blobs);
    server.blobs.localPath = async (sha256) => {
      await server.database.sql`update host set trusted_at = null`;
      return localPath(sha256);
    };
    const { job } = await gradeOne(server, host);
    const [row] = await server.database.sql`select tier from grading where id = ${job.gradingId}`;
    expect(row).toEqual({ tier: "signed" });
  });

  it("come from trust and sandbox, never from the bundle", async () => {
    const trusted = await addTestHost(server);
    await submitGold(server);
    const bare = await gradeOne(server, trusted, { executor: "process", sandboxed: false });
    const [row] = await server.database.sql`select tier from grading where id = ${bare.job.gradingId}`;
    expect(row).toEqual({ tier: "signed" });
  });

  it("a host that is not trusted gets no work of others", async () => {
    const stranger = await addTestHost(server, { trusted: false });
    await submitGold(server);
    expect(await claimJobFor(server, stranger)).toBeNull();
    const own = await addTestHost(server, { trusted: false, organization: "maintainers" });
    const { job } = await gradeOne(server, own);
    const [row] = await server.database.sql`select tier from grading where id = ${job.gradingId}`;
    expect(row).toEqual({ tier: "signed" });
  });

  it("two operators whose outcomes agree make a reproduced attempt; a disagreement does not", async () => {
    const { regrade } = await import("../admin/submissions");
    const first = await addTestHost(server);
    const second = await addTestHost(server);
    const submissionId = await submitGold(server);
    await gradeOne(server, first);
    await gradeOne(server, first);
    await regrade(server, { submissionId, task: null, reason: "second operator" });
    await gradeOne(server, second);
    await gradeOne(server, second, { statuses: { "probes/test_pool_probe.py::test_shape": "failed" } });
    const tiers = await server.database.sql`
      select tier, count(*)::int as n from attempt_summary where submission_id = ${submissionId} group by tier
      order by tier`;
    expect(tiers.map((row) => ({ ...row }))).toEqual([
      { tier: "reproduced", n: 1 },
      { tier: "verified", n: 1 },
    ]);
    const [summary] = await server.database.sql`
      select tier from submission_summary where submission_id = ${submissionId}`;
    expect(summary).toEqual({ tier: "verified" });
  });
});
