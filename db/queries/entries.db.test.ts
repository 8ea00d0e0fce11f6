import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { slugSchema } from "../../lib/contract/scalars";
import { entries } from "../schema";
import { createTestDatabase, type TestDatabase } from "../testing";
import { type EntryConfiguration, recordEntry } from "./entries";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("testServerUrl"));
});
afterAll(() => database.drop());

const configuration = (model: string): EntryConfiguration => ({
  kind: "model",
  model,
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  promptCondition: "interface",
  skill: null,
  networkPolicy: "not-stated",
  budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
});

async function slugOf(model: string): Promise<string> {
  const id = await recordEntry(database.db, configuration(model));
  const [row] = await database.db.select().from(entries).where(eq(entries.id, id));
  return row?.slug ?? "";
}

it.each([
  ["Synthetic 5.6 Sol", "synthetic-5.6-sol"],
  ["Synthetic .5", "synthetic-5"],
  ["...Synthetic: (v1)..", "synthetic-v1"],
  // the 60th character is a blank
  [`${"synthetic ".repeat(6)}model`, "synthetic-synthetic-synthetic-synthetic-synthetic-synthetic"],
])("%s has the address %s", async (model, slug) => {
  expect(await slugOf(model)).toBe(slug);
});

it("every name gets an address that an address may be, and names that are alike get two", async () => {
  const names = ["合成模型", "نموذج اصطناعي", "-.-", `${"x.".repeat(60)}`, "A.B", "a.b", `${"é ".repeat(60)}`, "١٢"];
  const slugs = await Promise.all(names.map(slugOf));
  for (const slug of slugs) expect(slugSchema.safeParse(slug), slug).toMatchObject({ success: true });
  expect(new Set(slugs).size).toBe(names.length);
});
