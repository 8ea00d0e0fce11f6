import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { InfraDevError } from "@/lib/contract/errors";
import { manifestForGpus } from "@/lib/contract/task";
import type { Signer } from "@/lib/evidence/keys";
import { type TestBundleOptions, testCandidate, testPatch } from "@/lib/evidence/testing";
import { revokeSigningKey } from "../admin/hosts";
import {
  addTestHost,
  addTestVendor,
  codeOf,
  deliver,
  makeBundleFor,
  sendSelfMade,
  startJob,
  startTestServer,
  submitGold,
  type TestServer,
} from "../testing";

let server: TestServer;
let signer: Signer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
  signer = await addTestVendor(server);
});
afterEach(() => server.close());

const send = (overrides: TestBundleOptions = {}) => sendSelfMade(server, signer, overrides);

const count = async (table: string): Promise<number> => {
  const [row] = await server.database.sql<
    { n: number }[]
  >`select count(*)::int as n from ${server.database.sql(table)}`;
  return row?.n ?? 0;
};

describe("a self-made bundle", () => {
  it("sent again under another grading id is kept, and the first one goes on counting", async () => {
    const failing = { statuses: { "tests/test_pool.py::test_release": "failed" as const } };
    await send({ ...failing, status: "infra" });
    const first = await send(failing);
    await send();
    expect(await count("grading")).toBe(3);
    const [summary] = await server.database.sql`
      select grading_id, verdict from attempt_summary where submission_id = ${first.submissionId}`;
    expect(summary).toEqual({ grading_id: first.gradingId, verdict: "failed" });
  });

  it("of another patch is another attempt, and the task counts with the mean over its attempts", async () => {
    const first = await send({ statuses: { "tests/test_pool.py::test_release": "failed" as const } });
    const second = await send({ patch: `${testPatch}\n` });
    expect(second.submissionId).toBe(first.submissionId);
    const [row] = await server.database.sql`
      select resolved_count, task_count from submission_summary where submission_id = ${first.submissionId}`;
    expect(row).toEqual({ resolved_count: 0.5, task_count: 2 });
  });

  it("of a version or a task that is not here is refused, with what is here", async () => {
    const [manifest] = server.manifests;
    if (!manifest) throw new Error("the suite has no task");
    const remedy = async (suite: Partial<typeof manifest.suite>, task: string) => {
      const other = { ...manifest, suite: { ...manifest.suite, ...suite }, task: { ...manifest.task, slug: task } };
      const refused = await send({ manifest: other }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "bundle.unknown-task" });
      return (refused as InfraDevError).problem.remedy;
    };
    const task = manifest.task.slug;
    expect(await remedy({ version: "9.0" }, task)).toMatch(/^of synthetic-suite it has 1\.0: /);
    expect(await remedy({ slug: "nosuch" }, task)).toMatch(/^of nosuch it has no version: /);
    expect(await remedy({}, "nosuch")).toMatch(
      /^in 1\.0 of synthetic-suite it has the tasks synthetic-task-1, synthetic-task-2: /,
    );
  });

  it.each<[string, Partial<typeof testCandidate>]>([
    ["agentVersion", { agentVersion: "1.0\0" }],
    ["reasoningEffort", { reasoningEffort: "hi\0gh" }],
    ["budget.steps", { budget: { ...testCandidate.budget, steps: 3e9 } }],
  ])("whose %s fits no column is refused and leaves no rows", async (_field, change) => {
    const before = await count("entry");
    expect(await codeOf(send({ candidate: { ...testCandidate, ...change } }))).toBe("bundle.statement-form");
    expect([await count("entry"), await count("grading")]).toEqual([before, 0]);
  });

  it("of fewer GPUs than the standard launch has is refused, with the remedy", async () => {
    await server.close();
    server = await startTestServer(inject("testServerUrl"), { tasks: 1, gpus: [2] });
    signer = await addTestVendor(server);
    const [manifest] = server.manifests;
    if (!manifest) throw new Error("the suite has no task");
    expect(await codeOf(send({ manifest: manifestForGpus(manifest, 0) }))).toBe("bundle.profile-below-standard");
    expect(await count("grading")).toBe(0);
    expect(await send()).toMatchObject({ verdict: "accepted" });
  });

  it("whose suite version is no version is refused", async () => {
    const [manifest] = server.manifests;
    if (!manifest) throw new Error("the suite has no task");
    const odd = { ...manifest, suite: { ...manifest.suite, version: "1.0\0" } };
    expect(await codeOf(send({ manifest: odd }))).toMatch(/^bundle\./);
  });

  it("that is refused inside the transaction leaves no entry", async () => {
    const before = await count("entry");
    const beyond: TestBundleOptions = {
      editResult: (result) => {
        const rank = result.tests[0]?.ranks[0];
        if (rank) rank.logLine = 2 ** 40;
      },
    };
    expect(await codeOf(send(beyond))).toBe("bundle.out-of-range");
    expect(await count("entry")).toBe(before);
  });

  it("cannot take the grading id that a lease has", async () => {
    const host = await addTestHost(server);
    await submitGold(server);
    const { job } = await startJob(server, host);
    expect(await codeOf(send({ gradingId: job.gradingId }))).toBe("ingest.grading-leased");
    const bundle = await makeBundleFor(server, host, job);
    expect(await deliver(server, host, job, bundle.path)).toMatchObject({ verdict: "accepted" });
  });

  it("whose key is revoked while it is verified is refused", async () => {
    const localPath = server.blobs.localPath.bind(server.blobs);
    server.blobs.localPath = async (sha256) => {
      const compromisedSince = new Date(Date.now() - 60_000);
      await revokeSigningKey(server, { keyid: signer.keyid, compromisedSince, reason: "leaked" });
      return localPath(sha256);
    };
    expect(await codeOf(send())).toBe("bundle.key-revoked");
    expect(await count("grading")).toBe(0);
  });
});
