import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readSearchQuery, searchWords } from "@/lib/prepare/search";
import { startTestServer, submitGold, type TestServer } from "@/lib/server/testing";
import { searchVectors } from "../schema/search-vector";
import { seedDatabase } from "../seed/seed";
import { searchEntries, searchTasks, searchTests } from "./search";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
  await seedDatabase(server.testDatabase.url);
});
afterAll(() => server.close());

const sql = () => server.database.sql;
const tasksOf = async (query: string) => (await searchTasks(sql(), searchWords(query))).hits.map(({ task }) => task);
const entriesOf = async (query: string) =>
  (await searchEntries(sql(), searchWords(query), query)).hits.map(({ model }) => model);

describe("tasks", () => {
  it("are found by every word, from the beginning of a word, in names and prompts", async () => {
    expect(await tasksOf("synthetic-task-2")).toEqual(["synthetic-task-2"]);
    expect(await tasksOf("synth PROMPT")).toHaveLength(2);
    expect(await tasksOf("task nowhere")).toEqual([]);
  });

  it("carry the place in the prompt, and only where the prompt names a word", async () => {
    const [hit] = (await searchTasks(sql(), ["prompt"])).hits;
    expect(hit).toMatchObject({ piece: "synthetic prompt", before: false, after: false });
    expect((await searchTasks(sql(), ["2"])).hits[0]?.piece).toBeNull();
  });
});

describe("entries", () => {
  it("are found by their published submissions only", async () => {
    expect(await entriesOf("gpt")).toEqual(["GPT-5.6 Sol", "GPT-6 Sol"]);
    expect((await entriesOf("gpt-6"))[0]).toBe("GPT-6 Sol");
    expect(await entriesOf("gpt-5")).toEqual(["GPT-5.6 Sol"]);
    expect(await entriesOf("gold")).toEqual([]);
    const id = await submitGold(server);
    expect(await entriesOf("gold")).toEqual(["reference: gold"]);
    await sql()`update submission set withdrawn_at = now() where id = ${id}`;
    expect(await entriesOf("gold")).toEqual([]);
  });

  it("are found inside a name of a script without spaces", async () => {
    await sql()`update entry set model = '通义千问' where slug = 'kimi-k3'`;
    expect(await entriesOf("千问")).toEqual(["通义千问"]);
  });
});

describe("tests", () => {
  it("are found by id and property, with nothing else of them", async () => {
    const { count, hits } = await searchTests(sql(), searchWords("probes shape"));
    expect(count).toBe(2);
    expect(new Set(Object.keys(hits[0] ?? {}))).toEqual(
      new Set(["id", "kind", "property", "suite", "suiteVersion", "task", "taskTitle"]),
    );
  });
});

it("takes any text as a query", async () => {
  for (const text of ["'", "' | 'a':*", "\\", "%_", "!!&(", "\u0000\u202e", "½²", "א ב", "a".repeat(10_000)]) {
    const query = readSearchQuery(text);
    const words = searchWords(query);
    await Promise.all([searchTasks(sql(), words), searchEntries(sql(), words, query), searchTests(sql(), words)]);
  }
});

it("reads its indexes: they hold the expressions that the queries ask for", async () => {
  const plans = await sql().begin(async (tx) => {
    await tx`set local enable_seqscan = off`;
    return Promise.all(
      (["task", "task_prompt", "task_test", "entry"] as const).map(async (table) => {
        const vector = { task: "task", task_prompt: "taskPrompt", task_test: "taskTest", entry: "entry" } as const;
        return JSON.stringify(
          await tx.unsafe(
            `explain select 1 from ${table} where ${searchVectors[vector[table]]} @@ to_tsquery('simple', '''a'':*')`,
          ),
        );
      }),
    );
  });
  expect(plans.map((plan) => /on (\w+_search)/.exec(plan)?.[1])).toEqual([
    "task_search",
    "task_prompt_search",
    "task_test_search",
    "entry_search",
  ]);
});
