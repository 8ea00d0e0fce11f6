import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "@/lib/server/testing";
import { findComparedRuns, findRanEntry, listBoardFacts } from "./compare";
import { findProbesFacts } from "./probes";

const probeId = "probes/test_pool_probe.py::test_shape";

let server: TestServer;
let submissionId: string;
let task: string;
let gradingId: string;
beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
  submissionId = await submitGold(server);
  const { job } = await gradeOne(server, await addTestHost(server), { statuses: { [probeId]: "failed" } });
  task = job.task.slug;
  gradingId = job.gradingId;
});
afterAll(() => server.close());

const db = () => server.database.db;
const suite = { suite: "synthetic-suite", version: "1.0" };

it("an entry is found with the suite versions where it has a published row, and nowhere once it is withdrawn", async () => {
  const places = [{ slug: "synthetic-suite", version: "1.0", title: "Synthetic suite" }];
  expect(await findRanEntry(db(), "reference-gold")).toMatchObject({
    entry: { kind: "reference", promptCondition: "interface", skill: null },
    suites: places,
  });
  expect(await findRanEntry(db(), "no-such-entry")).toBeNull();
  await server.database.sql`update submission set withdrawn_at = now()`;
  expect(await findRanEntry(db(), "reference-gold")).toBeNull();
  expect((await listBoardFacts(db(), suite))?.map(({ rows }) => rows)).toEqual([[]]);
  await server.database.sql`update submission set withdrawn_at = null`;
});

it("a suite version's boards are those that have a row, and none stands for an unknown one", async () => {
  const boards = await listBoardFacts(db(), suite);
  expect(boards?.map(({ promptCondition, skill, rows }) => [promptCondition, skill, rows.length])).toEqual([
    ["interface", null, 1],
  ]);
  expect(await listBoardFacts(db(), { suite: "synthetic-suite", version: "9.9" })).toBeNull();
});

it("runs are means over attempts, tokens the sum of their components, and what is not stated is null", async () => {
  await server.database.sql`
    update attempt set time_min = 12.5, input_tokens = 1000000, cache_read_tokens = 500000, steps = 7
    where submission_id = ${submissionId} and task_id = (select id from task where slug = ${task})`;
  const { runs } = await findComparedRuns(db(), [submissionId]);
  expect(runs.get(submissionId)?.get(task)).toEqual({ timeMin: 12.5, costUsd: null, tokensM: 1.5, steps: 7 });
  expect(runs.get(submissionId)?.size).toBe(2);
  expect((await findComparedRuns(db(), [])).runs.size).toBe(0);
});

it("failures count by the label that counts, with the taxonomy's title where it has one", async () => {
  const { sql } = server.database;
  const counted = async () => (await findComparedRuns(db(), [submissionId])).failures;
  expect(await counted()).toMatchObject([{ submissionId, attempts: 1 }]);
  await sql`update failure set class = 'behavioral', type = 'resource' where grading_id = ${gradingId}`;
  const labelled = { submissionId, class: "behavioral", type: "resource", attempts: 1 };
  expect(await counted()).toEqual([{ ...labelled, title: "resource" }]);
  await sql`
    insert into taxonomy_type (version, type, class, title, meaning, position)
    values ('1', 'resource', 'behavioral', 'Resource limits', 'of a test', 0)`;
  expect(await counted()).toEqual([{ ...labelled, title: "Resource limits" }]);
});

it("rejected attempts stand with the properties of the probes that fail, beside the suite's required probes", async () => {
  const found = await findProbesFacts(db(), { ...suite, submissionIds: [submissionId] });
  expect(found.counts).toEqual([{ submissionId, task, officialResolved: 1, rejected: 1 }]);
  const probe = server.manifests[0]?.tests.find(({ id }) => id === probeId);
  expect(found.rejections).toMatchObject([{ submissionId, task, property: probe?.property }]);
  const required = (server.manifests[0]?.tests ?? []).filter((test) => test.kind === "probe" && test.required);
  expect(found.probes.reduce((sum, one) => sum + one.probes, 0)).toBe(2 * required.length);
  const { counts, rejections } = await findProbesFacts(db(), { ...suite, submissionIds: [] });
  expect([counts, rejections]).toEqual([[], []]);
});
