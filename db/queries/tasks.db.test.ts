import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { prepareTask, prepareTaskList } from "@/lib/prepare/tasks";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "@/lib/server/testing";
import { findTask, findTaskList } from "./tasks";

const suite = "synthetic-suite";
const probeId = "probes/test_pool_probe.py::test_shape";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
});
afterEach(() => server.close());

const listOf = async (version?: string) => findTaskList(server.database.db, { suite, version });
const taskOf = async (task: string) => findTask(server.database.db, { suite, version: "1.0", task });

describe("a suite's tasks", () => {
  it("come in the suite's order with their required tests, before anything is submitted", async () => {
    const facts = await listOf();
    expect(facts?.tasks.map(({ slug }) => slug)).toEqual(["synthetic-task-1", "synthetic-task-2"]);
    const [first] = prepareTaskList(facts ?? raise()).tasks;
    // the test that needs two GPUs is not required
    expect(first).toMatchObject({ officialTests: 2, probes: 2, ranks: 2, gpus: 0, references: [] });
  });

  it("are those of the version asked for, and null stands for a suite that is not there", async () => {
    expect((await listOf("1.0"))?.suite.version).toBe("1.0");
    expect(await listOf("9.9")).toBeNull();
    expect(await findTaskList(server.database.db, { suite: "no-such-suite" })).toBeNull();
    expect(await taskOf("no-such-task")).toBeNull();
  });
});

describe("a task's results", () => {
  it("hold the reference set with its verdict, and which tests it passes", async () => {
    const submissionId = await submitGold(server);
    const host = await addTestHost(server);
    const { job } = await gradeOne(server, host, { statuses: { [probeId]: "failed" } });
    const facts = (await taskOf(job.task.slug)) ?? raise();
    expect(facts.attempted).toEqual(new Set([submissionId]));
    expect(facts.passed.get(submissionId)?.has(probeId)).toBe(false);
    expect(facts.passed.get(submissionId)?.has("tests/test_pool.py::test_release")).toBe(true);
    const detail = prepareTask(facts);
    expect(detail.results).toEqual([]);
    expect(detail.references.map(({ verdict, attempted }) => [verdict, attempted])).toEqual([["probe-rejected", true]]);
    expect(detail.tests.find(({ id }) => id === probeId)?.references).toEqual([{ name: "gold", passed: false }]);
    expect(detail.prompts).toMatchObject([{ condition: "interface", isDefault: true, text: "synthetic prompt" }]);
  });

  it("count nobody where the only grading ended in a host's fault", async () => {
    const submissionId = await submitGold(server);
    const { job } = await gradeOne(server, await addTestHost(server), { status: "infra" });
    const facts = (await taskOf(job.task.slug)) ?? raise();
    expect(facts.passed.size).toBe(0);
    expect(prepareTask(facts).references).toMatchObject([{ submissionId, attempted: true, verdict: "missing" }]);
  });

  it("leave out a submission that was withdrawn", async () => {
    const submissionId = await submitGold(server);
    const { job } = await gradeOne(server, await addTestHost(server));
    expect((await taskOf(job.task.slug))?.rows).toHaveLength(1);
    await server.database.sql`update submission set withdrawn_at = now() where id = ${submissionId}`;
    expect((await taskOf(job.task.slug))?.rows).toEqual([]);
  });
});

function raise(): never {
  throw new Error("there is nothing under this name");
}
