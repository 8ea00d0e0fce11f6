import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { listSelfTestFacts } from "@/db/queries/self-tests";
import type { Signer } from "@/lib/evidence/keys";
import { type TestBundleOptions, testCandidate, testPatch } from "@/lib/evidence/testing";
import { syntheticTrajectory } from "@/lib/trajectory/testing";
import { createPatchSubmission, publish, withdraw } from "./admin/submissions";
import { recomputeSelfTests } from "./self-tests";
import {
  addTestHost,
  addTestVendor,
  codeOf,
  gradeOne,
  sendSelfMade,
  startTestServer,
  type TestServer,
} from "./testing";
import { readSteps, requireTrajectory, takeTrajectory } from "./trajectories";

let server: TestServer;
let signer: Signer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
  signer = await addTestVendor(server);
});
afterEach(() => server.close());

const withTrajectory = (document: unknown, overrides: TestBundleOptions = {}) =>
  sendSelfMade(server, signer, {
    files: { "agent/trajectory.json": typeof document === "string" ? document : JSON.stringify(document) },
    ...overrides,
  });

const attemptOf = async (submissionId: string) => {
  const [row] = await server.database.sql`
    select id, time_min, cost_usd, steps, input_tokens::int, cache_read_tokens::int, output_tokens::int
    from attempt where submission_id = ${submissionId}`;
  return row ?? {};
};

describe("a trajectory in a self-made bundle", () => {
  it("is kept with its attempt, gives the run's figures, and its commands count", async () => {
    const { submissionId } = await withTrajectory(syntheticTrajectory());
    const { id, ...figures } = await attemptOf(submissionId);
    expect(figures).toEqual({
      time_min: 2.5,
      cost_usd: 0.03,
      steps: 2,
      input_tokens: 800,
      cache_read_tokens: 1400,
      output_tokens: 120,
    });
    const [summary] = await server.database.sql`
      select steps, tokens_m from submission_summary where submission_id = ${submissionId}`;
    expect(summary).toEqual({ steps: 2, tokens_m: 0.00232 });

    const place = await requireTrajectory(server, id as string);
    expect(place).toMatchObject({ submissionId, trajectory: { agent: "synthetic-agent", steps: 3, agentSteps: 2 } });
    expect(
      (await readSteps(server, place, { from: 2, count: 9 })).map(({ number, calls }) => [number, calls[0]?.tool]),
    ).toEqual([
      [2, "bash"],
      [3, "bash"],
    ]);
    await publish(server, submissionId);
    const facts = { trajectories: 1, commands: 2, withTestRuns: 0, commandChecks: { "resource.memory": 1 } };
    expect(await listSelfTestFacts(server.database.sql)).toMatchObject([facts]);
    await server.database.sql`update attempt_self_test set command_checks = '{}'`;
    expect(await recomputeSelfTests(server)).toMatchObject({ attempts: 1, trajectories: 1, unreadTrajectories: 0 });
    expect(await listSelfTestFacts(server.database.sql)).toMatchObject([facts]);

    await withdraw(server, submissionId, "a mistake");
    expect(await codeOf(requireTrajectory(server, id as string))).toBe("trajectory.unknown");
  });

  it("may come later, or again, and no other one in its place", async () => {
    const first = await sendSelfMade(server, signer);
    await withTrajectory(syntheticTrajectory());
    const again = await withTrajectory(syntheticTrajectory());
    expect(again.submissionId).toBe(first.submissionId);
    expect(await codeOf(withTrajectory(syntheticTrajectory({ notes: "another" })))).toBe("trajectory.differs");
    const [row] = await server.database.sql`select count(*)::int as n from grading`;
    expect(row?.["n"]).toBe(3);
  });

  it("is one, whichever of two that come at once is first", async () => {
    const { submissionId } = await sendSelfMade(server, signer);
    const both = await Promise.allSettled(
      ["one", "other"].map((notes) => withTrajectory(syntheticTrajectory({ notes }))),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find((each) => each.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: "trajectory.differs" });
    const { id } = await attemptOf(submissionId);
    expect((await requireTrajectory(server, id as string)).trajectory.steps).toBe(3);
  });

  it("that is none, or holds what looks like a secret, is refused with its place, and nothing is kept", async () => {
    expect(await codeOf(withTrajectory("{"))).toBe("trajectory.json");
    expect(await codeOf(withTrajectory({ ...syntheticTrajectory(), schema_version: "2" }))).toBe("trajectory.form");
    const secret = syntheticTrajectory({ notes: `ghp_${"a".repeat(36)}` });
    expect(await codeOf(withTrajectory(secret))).toBe("trajectory.secret");
    const [row] = await server.database.sql`select count(*)::int as n from attempt_trajectory`;
    expect(row?.["n"]).toBe(0);
  });
});

it("a folder of patches brings trajectories, without tokens; figures stand on the board once it is graded", async () => {
  const folder = join(server.dataDir, "patches");
  await mkdir(folder);
  const candidateFile = join(server.dataDir, "candidate.json");
  const { promptDigest: _promptDigest, ...candidate } = testCandidate;
  await writeFile(candidateFile, JSON.stringify(candidate));
  await writeFile(join(folder, "synthetic-task-1.diff"), testPatch);
  const token = `hf_${"b".repeat(36)}`;
  await writeFile(
    join(folder, "synthetic-task-1.trajectory.json"),
    JSON.stringify(syntheticTrajectory({ notes: token })),
  );
  const submit = () =>
    createPatchSubmission(server, {
      suite: "synthetic-suite",
      patchesDir: folder,
      candidateFile,
      organization: { slug: "vendor", name: "Vendor" },
      ifAbsent: true,
    });
  await writeFile(join(folder, "other.trajectory.json"), "{}");
  expect(await codeOf(submit())).toBe("submission.trajectory-alone");
  await rm(join(folder, "other.trajectory.json"));
  await mkdir(join(folder, "other.diff"));
  expect(await codeOf(submit()), "a folder in a patch's place").toBe("submission.patches");
  await rm(join(folder, "other.diff"), { recursive: true });
  const rest = { suite: "synthetic-suite", organization: { slug: "vendor", name: "Vendor" }, ifAbsent: true };
  const absent = join(folder, "absent");
  const submitFrom = (patchesDir: string, candidate: string) =>
    codeOf(createPatchSubmission(server, { ...rest, patchesDir, candidateFile: candidate }));
  expect(await submitFrom(absent, candidateFile)).toBe("submission.patches");
  expect(await submitFrom(folder, absent)).toBe("submission.candidate");

  const { id: submissionId } = await submit();
  await server.database.sql`delete from attempt_trajectory`;
  expect(await submit(), "a submission that stands already gets what it has not").toMatchObject({
    id: submissionId,
    created: false,
  });
  const { id } = await attemptOf(submissionId);
  const { trajectory } = await requireTrajectory(server, id as string);
  expect((await server.blobs.readAll(trajectory.sha256, 1 << 20)).toString("utf8")).not.toContain(token);
  await gradeOne(server, await addTestHost(server));
  const [summary] = await server.database
    .sql`select steps from submission_summary where submission_id = ${submissionId}`;
  expect(summary?.["steps"]).toBe(2);
});

it("a large trajectory is read by ranges: a page of its middle takes a fraction of a second", async () => {
  const step = { source: "agent", message: "x".repeat(60_000) };
  const steps = Array.from({ length: 1500 }, (_, index) => ({ step_id: index + 1, ...step }));
  const document = await server.blobs.put(Buffer.from(JSON.stringify(syntheticTrajectory({ steps }))));
  expect(document.bytes).toBeGreaterThan(90e6);
  const taken = await takeTrajectory(server, document, "large.json");
  const place = { steps: { sha256: taken.stepsSha256, bytes: taken.stepsBytes } };
  await readSteps(server, place, { from: 1, count: 1 });
  const started = performance.now();
  const middle = await readSteps(server, place, { from: 701, count: 50 });
  expect(performance.now() - started).toBeLessThan(1000);
  expect([middle[0]?.number, middle.length, middle[0]?.message.chars]).toEqual([701, 50, 60_000]);
});
