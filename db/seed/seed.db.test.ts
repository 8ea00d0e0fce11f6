import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findBoardFacts } from "../queries/board";
import { listPublications } from "../queries/published";
import { listSuites } from "../queries/suites";
import { createTestDatabase, type TestDatabase } from "../testing";
import { readPublication } from "./publication";
import { seedDatabase } from "./seed";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("testServerUrl"));
});
afterAll(() => database.drop());

describe("seeding the published data", () => {
  it("gives the same rows the second time", async () => {
    const first = await seedDatabase(database.url);
    const before = await database.sql`select * from submission order by id`;
    expect(await seedDatabase(database.url)).toEqual(first);
    expect(await database.sql`select * from submission order by id`).toEqual(before);
  });

  it("gives six reported rows without per-task data, and the note of the one that has one", async () => {
    const facts = await findBoardFacts(database.db, { suite: "infradev", promptCondition: "interface", skill: null });
    expect(facts?.rows).toHaveLength(6);
    expect(facts?.suite.tasks).toEqual([]);
    expect(facts?.suite.taskCount).toBe(36);
    const counts = facts?.rows
      .map((row) => (row.evidence.kind === "reported" ? row.evidence.resolved.resolved : null))
      .sort();
    expect(counts).toEqual([11, 11, 11, 13, 14, 9]);
    expect(facts?.rows.filter((row) => row.footnotes.length > 0).map((row) => row.entry.model)).toEqual([
      "GPT-5.6 Sol",
    ]);
    expect(Object.keys(facts?.notes ?? {})).toEqual(["gpt-5.6-sol-window"]);
  });

  it("has no row under another prompt condition, and no board for an unknown suite", async () => {
    expect(
      (await findBoardFacts(database.db, { suite: "infradev", promptCondition: "pr-description", skill: null }))?.rows,
    ).toEqual([]);
    expect(
      await findBoardFacts(database.db, { suite: "nothing", promptCondition: "interface", skill: null }),
    ).toBeNull();
  });

  it("gives every published figure back with its source", async () => {
    const [publication] = await listPublications(database.db);
    const file = readPublication();
    expect(publication?.source.url).toBe(file.source.url);
    expect(publication?.tables.map((table) => table.key)).toEqual([
      "table1",
      "table2",
      "table3",
      "table4",
      "table5",
      "table6",
      "table7",
      "claims",
    ]);
    const table2 = publication?.tables.find((table) => table.key === "table2");
    for (const row of file.table2_overall)
      expect(table2?.rows.find((candidate) => candidate.key === row.model)?.cells["cost_usd"]?.value).toBe(
        row.cost_usd,
      );
    expect(publication?.tables.find((table) => table.key === "table4")?.missing).toContain("kimi-k3");
  });

  it("lists the suite first", async () => {
    expect((await listSuites(database.db)).map((suite) => [suite.slug, suite.version])).toEqual([["infradev", "1.0"]]);
  });
});
