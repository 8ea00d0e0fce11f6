import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { PackedSuite } from "@/lib/contract/task";
import { channels } from "../announce";
import { cacheTags } from "../tags";
import { startTestServer, submitGold, type TestServer } from "../testing";
import { publish, withdraw } from "./submissions";
import { importPackedSuite } from "./suites";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"));
});
afterEach(() => server.close());

/** Imports the suite's pack again after a change. */
async function importAgain(change: (pack: PackedSuite) => void) {
  const pack = JSON.parse(await readFile(join(server.dataDir, "pack.json"), "utf8")) as PackedSuite;
  change(pack);
  const file = join(server.dataDir, "changed.json");
  await writeFile(file, JSON.stringify(pack));
  return importPackedSuite(server, file);
}

const firstTask = (pack: PackedSuite) => {
  const [task] = pack.tasks;
  if (!task) throw new Error("the pack has no task");
  return task;
};

describe("a suite version that is imported again", () => {
  it("takes the file's wording into the database, as into the kept pack", async () => {
    const imported = await importAgain((pack) => {
      const { manifest } = firstTask(pack);
      manifest.task.title = "A better title";
      for (const test of manifest.tests) test.requirement = "A better sentence";
      pack.suite.summary = "A better summary";
    });
    expect(imported.created).toBe(false);
    const [row] = await server.database.sql`
      select suite.summary, task.title, task.manifest #>> '{task,title}' as stated,
             (select count(*)::int from task_test where definition ->> 'requirement' <> 'A better sentence') as older
      from task join suite on suite.id = task.suite_id`;
    expect(row).toEqual({ summary: "A better summary", title: "A better title", stated: "A better title", older: 0 });
  });

  it("is refused with other prompts, and nothing changes", async () => {
    const again = importAgain((pack) => {
      const { manifest } = firstTask(pack);
      manifest.task.title = "Another title";
      manifest.digests.prompts.interface = "e".repeat(64);
    });
    await expect(again).rejects.toMatchObject({ code: "suite.version-taken" });
    const [row] = await server.database.sql`select title from task`;
    expect(row?.["title"]).toBe("Synthetic task 1");
  });
});

it("publication and withdrawal tell the picker of suites, whose boards they may change", async () => {
  const told: string[][] = [];
  await server.database.sql.listen(channels.cache, (message) => {
    told.push((JSON.parse(message) as { tags: string[] }).tags);
  });
  const submissionId = await submitGold(server);
  const tellsSuites = async (work: Promise<unknown>) => {
    told.length = 0;
    await work;
    await expect.poll(() => told.flat()).toContain(cacheTags.suites);
  };
  await expect.poll(() => told.flat()).toContain(cacheTags.suites);
  await tellsSuites(withdraw(server, submissionId, "taken back"));
  await tellsSuites(publish(server, await submitGold(server)));
});

it("publication says how many of the suite's tasks are attempted", async () => {
  const submissionId = await submitGold(server);
  const [{ tasks } = { tasks: 0 }] = await server.database.sql<{ tasks: number }[]>`
    select count(*)::int as tasks from task where suite_id = (select suite_id from submission where id = ${submissionId})`;
  expect(await publish(server, submissionId)).toEqual({ attempted: 1, tasks });
  expect(tasks).toBeGreaterThan(0);
});
