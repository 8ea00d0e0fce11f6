import { join } from "node:path";
import { cacheTag } from "next/cache";
import { afterEach, beforeEach, expect, inject, it, vi } from "vitest";
import { importPackedSuite } from "../admin/suites";
import { channels } from "../announce";
import { getDatabase } from "../context";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "../testing";
import { getTask, getTaskList } from "./tasks";

vi.mock("next/cache", () => ({ cacheTag: vi.fn(), cacheLife: vi.fn(), revalidateTag: vi.fn() }));
vi.mock("../context", async (original) => ({ ...(await original<object>()), getDatabase: vi.fn() }));

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"));
  vi.mocked(getDatabase).mockReturnValue(server.database);
  vi.mocked(cacheTag).mockClear();
});
afterEach(() => server.close());

/** The tags under which what `read` gives is kept. */
async function tagsOf(read: () => Promise<unknown>): Promise<string[]> {
  vi.mocked(cacheTag).mockClear();
  expect(await read()).not.toBeNull();
  return vi.mocked(cacheTag).mock.calls.flat();
}

const readList = () => getTaskList("synthetic-suite", null);
const readTask = () => getTask("synthetic-suite", "1.0", "synthetic-task-1");

it("a grading's arrival ends what is kept of the list and of the task, and what is read next holds it", async () => {
  const tags = [await tagsOf(readList), await tagsOf(readTask)];
  await submitGold(server);
  server.expired.length = 0;
  await gradeOne(server, await addTestHost(server));
  for (const kept of tags) expect(kept.some((tag) => server.expired.includes(tag))).toBe(true);
  expect((await readList())?.tasks[0]?.references).toMatchObject([{ name: "gold", verdict: "resolved" }]);
  expect((await readTask())?.references).toMatchObject([{ attempted: true, verdict: "resolved" }]);
});

it("an import ends it too, and with it what is kept of a task that was not there", async () => {
  const told: string[] = [];
  await server.database.sql.listen(channels.cache, (message) => {
    told.push(...(JSON.parse(message) as { tags: string[] }).tags);
  });
  const tags = [await tagsOf(readList), await tagsOf(readTask)];
  vi.mocked(cacheTag).mockClear();
  expect(await getTask("synthetic-suite", "1.0", "not-yet-there")).toBeNull();
  tags.push(vi.mocked(cacheTag).mock.calls.flat());
  await importPackedSuite(server, join(server.dataDir, "pack.json"));
  for (const kept of tags) await expect.poll(() => kept.some((tag) => told.includes(tag))).toBe(true);
});

it("names that no suite, version or task can have never reach the database", async () => {
  vi.mocked(getDatabase).mockClear();
  expect(await getTask("../x", "1.0", "synthetic-task-1")).toBeNull();
  expect(await getTask("synthetic-suite", "newest", "synthetic-task-1")).toBeNull();
  expect(await getTask("synthetic-suite", "1.0", "A b")).toBeNull();
  expect(getDatabase).not.toHaveBeenCalled();
});
