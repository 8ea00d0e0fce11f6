import { cacheTag } from "next/cache";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { seedDatabase } from "@/db/seed/seed";
import { createTestDatabase, type TestDatabase } from "@/db/testing";
import { fillSyntheticEntries, type SyntheticEntry } from "@/db/testing/synthetic-entries";
import type { EntryDetail } from "@/lib/contract/entry-api";
import { entryTasksCsv } from "@/lib/prepare/entry-table";
import { getDatabase } from "../context";
import { getConditions } from "./conditions";
import { getEntry, listEntries } from "./entries";

vi.mock("next/cache", () => ({ cacheTag: vi.fn(), cacheLife: vi.fn(), revalidateTag: vi.fn() }));
vi.mock("../context", async (original) => ({ ...(await original<object>()), getDatabase: vi.fn() }));

const [resolved, rejected, failed] = [
  { verdict: "resolved" as const },
  { verdict: "rejected" as const },
  { verdict: "failed" as const },
];

/** Two configurations over three tasks, one of them under two prompts and with a skill too. All synthetic. */
const alpha = { model: "Synthetic Alpha", agent: "synthetic-agent", networkPolicy: "none", budgetTimeMin: 60 } as const;
const entries: SyntheticEntry[] = [
  {
    ...alpha,
    slug: "synthetic-alpha",
    submissions: [
      {
        attempts: [
          [
            { ...resolved, timeMin: 10, costUsd: 1 },
            { ...resolved, timeMin: 20, costUsd: 2 },
          ],
          [
            { ...resolved, timeMin: 30 },
            { ...rejected, timeMin: 30 },
          ],
          [failed, { ...failed, failures: ["structural/execution-api", "structural/state-lifecycle"] }],
        ],
      },
      { age: 3, attempts: [[resolved], [resolved], [resolved]] },
      { tier: "signed", age: 1, attempts: [[failed], [failed], [failed]] },
      { published: false, attempts: [[resolved], [resolved], [resolved]] },
    ],
  },
  {
    ...alpha,
    slug: "synthetic-alpha-description",
    promptCondition: "pr-description",
    submissions: [
      {
        attempts: [
          [
            { ...resolved, timeMin: 25 },
            { ...failed, timeMin: 25 },
          ],
          [failed, failed],
          [failed, failed],
        ],
      },
    ],
  },
  {
    ...alpha,
    slug: "synthetic-alpha-skill",
    skill: "synthetic-skill",
    submissions: [
      {
        attempts: [
          [resolved, resolved],
          [resolved, resolved],
          [resolved, failed],
        ],
      },
    ],
  },
  {
    slug: "synthetic-beta",
    model: "Synthetic Beta",
    networkPolicy: "open",
    budgetTimeMin: 120,
    submissions: [{ attempts: [[resolved, resolved, resolved], [rejected, rejected, { verdict: "not-graded" }], []] }],
  },
  {
    slug: "synthetic-waiting",
    model: "Synthetic Alpha",
    networkPolicy: "none",
    skill: "synthetic-skill",
    submissions: [{ attempts: [[resolved], [{ verdict: "infra" }], [resolved]] }],
  },
  {
    slug: "synthetic-plain",
    model: "Synthetic Alpha",
    networkPolicy: "none",
    submissions: [{ attempts: [[resolved], [failed], [resolved]] }],
  },
];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("testServerUrl"));
  await seedDatabase(database.url);
  await fillSyntheticEntries(database.sql, {
    categories: ["training", "training", "inference"],
    standard: { prompt_condition: "interface", skill: "none", time_min: 60 },
    entries,
  });
});
afterAll(() => database.drop());
beforeEach(() => {
  vi.mocked(getDatabase).mockReturnValue(database);
  vi.mocked(cacheTag).mockClear();
});

async function entryOf(slug: string): Promise<EntryDetail> {
  const entry = await getEntry(slug);
  if (!entry) throw new Error(`there is no entry ${slug}`);
  return entry;
}

describe("an entry whose attempts repeat", () => {
  it("stands with the newest of the highest tier, and says why the others do not count", async () => {
    const [standing] = (await entryOf("synthetic-alpha")).standings;
    expect(standing?.submissions.map(({ tier, counts, why }) => [tier, counts, why])).toEqual([
      ["verified", true, "the newest of the highest tier, verified"],
      ["signed", false, "of a lower tier: signed"],
      ["verified", false, "older than the one that counts"],
    ]);
    expect(standing?.row?.submissionId).toBe(standing?.submissions[0]?.id);
  });

  it("has figures over tasks with bootstrap intervals, each over the tasks that state it", async () => {
    const [standing] = (await entryOf("synthetic-alpha")).standings;
    const figures = new Map(standing?.figures.map((figure) => [figure.key, figure]));
    expect(figures.get("resolved")).toMatchObject({ value: 50, method: "bootstrap", tasks: 3 });
    // 4 of 6 attempts pass every official test, of tasks 1, 1/2 + 1/2 and 0
    expect(figures.get("official")?.value).toBeCloseTo(200 / 3, 9);
    expect(figures.get("rejected")).toMatchObject({ value: 25, method: "bootstrap" });
    expect(figures.get("passed")?.value).toBeCloseTo((100 * (1 + 7 / 8 + 1 / 4)) / 3, 9);
    expect(figures.get("time")).toMatchObject({ value: 22.5, interval: [15, 30], tasks: 2 });
    expect(figures.get("cost")).toMatchObject({ value: 1.5, interval: null, method: null, tasks: 1 });
    expect(figures.has("tokens")).toBe(false);
  });

  it("has pass@k and pass^k over the suite's tasks, so that pass@1 is % resolved", async () => {
    const [one] = (await entryOf("synthetic-alpha")).standings;
    expect(one?.repeats?.byK.map(({ passAt, passHat }) => [passAt.pct, passHat.pct])).toEqual([
      [50, 50],
      [expect.closeTo(200 / 3, 9), expect.closeTo(100 / 3, 9)],
    ]);
    const [other] = (await entryOf("synthetic-beta")).standings;
    expect(other?.repeats).toMatchObject({ fewest: 3, most: 3 });
    for (const { passAt } of other?.repeats?.byK ?? []) expect(passAt.pct).toBeCloseTo(100 / 3, 9);
  });

  it("shows each attempt at each task, and tasks that it never attempted", async () => {
    const [standing] = (await entryOf("synthetic-beta")).standings;
    expect(standing?.tasks?.map(({ verdict, attempts }) => [verdict, attempts.map((one) => one.verdict)])).toEqual([
      ["resolved", ["resolved", "resolved", "resolved"]],
      ["probe-rejected", ["probe-rejected", "probe-rejected", "missing"]],
      ["missing", []],
    ]);
  });

  it("counts distinct attempts by type of failure, with their share of the failing ones", async () => {
    const [standing] = (await entryOf("synthetic-alpha")).standings;
    expect(standing?.failures).toMatchObject({ judged: 6, failing: 3 });
    expect(standing?.failures?.types.map(({ type, attempts }) => [type, attempts])).toEqual([
      ["execution-api", 2],
      ["state-lifecycle", 1],
      ["resource", 1],
    ]);
    expect(standing?.failures?.types[0]).toMatchObject({ title: "Execution / API", share: { resolved: 2, total: 3 } });
  });

  it("says where and how it was graded, and how it differs from the suite's standard", async () => {
    const [alphas] = (await entryOf("synthetic-alpha")).standings;
    expect(alphas?.made).toMatchObject({
      gradings: 6,
      runnerVersions: ["9.9.9"],
      executors: [{ executor: "bwrap", sandboxed: true, gradings: 6 }],
      hosts: [{ hardware: "2 × Synthetic GPU", gradings: 6 }],
      operators: ["Synthetic organization"],
    });
    expect(alphas?.custom).toEqual([]);
    const [betas] = (await entryOf("synthetic-beta")).standings;
    expect(betas?.custom).toEqual([{ part: "time", stated: "120 min", standard: "60 min" }]);
  });

  it("gives its tasks as CSV, one line an attempt", async () => {
    const lines = entryTasksCsv(await entryOf("synthetic-beta"))
      .trim()
      .split("\r\n");
    expect(lines).toHaveLength(1 + 3 + 3 + 1);
    const width = lines[0]?.split(",").length;
    for (const line of lines) expect(line.split(",")).toHaveLength(width ?? 0);
    expect(lines[4]).toMatch(/^synthetic,1\.0,[0-9a-f-]{36},synthetic-2,training,feature,probe-rejected,0,1,/);
  });
});

describe("a reported entry", () => {
  it("says what was published with its source, what was not, and the figures as printed", async () => {
    const [standing] = (await entryOf("gpt-6-sol")).standings;
    expect(standing).toMatchObject({ tasks: null, repeats: null, failures: null, made: null, ranked: 6 });
    expect(standing?.published?.url).toBe("https://arxiv.org/abs/2610.36589");
    expect(standing?.published?.stated).toContain("cost");
    expect(standing?.published?.notStated).toEqual(
      expect.arrayContaining(["per-task outcomes, patches and trajectories", "execution budget", "network policy"]),
    );
    expect(standing?.published?.tables.find(({ key }) => key === "table4")).toMatchObject({
      repository: "megatron-lm",
      cells: [{ printed: "68.4" }, { printed: "52.6" }],
    });
    expect(standing?.figures.find(({ key }) => key === "time")).toMatchObject({ value: 43.9, interval: null });
  });
});

describe("what is kept", () => {
  it("is told by every suite that the entry stands on; what is not there, by the suites", async () => {
    await entryOf("synthetic-alpha");
    expect(vi.mocked(cacheTag).mock.calls.flat()).toEqual(
      expect.arrayContaining(["suites", "labels", "board:synthetic"]),
    );
    vi.mocked(cacheTag).mockClear();
    expect(await getEntry("not-there-yet")).toBeNull();
    expect(vi.mocked(cacheTag).mock.calls.flat()).toContain("suites");
    vi.mocked(getDatabase).mockClear();
    expect(await getEntry("../x")).toBeNull();
    expect(getDatabase).not.toHaveBeenCalled();
  });
});

it("lists entries of a suite with what counts there, and none of what is not published", async () => {
  const { entries: listed } = await listEntries("synthetic");
  expect(new Set(listed.map(({ entry }) => entry.slug))).toEqual(new Set(entries.map(({ slug }) => slug)));
  expect(listed).toHaveLength(entries.length);
  const beta = listed.find(({ entry }) => entry.slug === "synthetic-beta");
  expect(beta?.suites).toMatchObject([{ slug: "synthetic", tier: "verified", taskCount: 3 }]);
  expect(beta?.suites[0]?.resolvedPct).toBeCloseTo(100 / 3, 9);
  expect((await listEntries()).entries.length).toBe(entries.length + 6);
  expect((await listEntries("synthetic", "9.0")).entries).toEqual([]);
});

it("pairs what differs in prompt alone or in skill alone, task by task, and leaves out what waits", async () => {
  const { suites, published } = await getConditions();
  expect(suites).toHaveLength(1);
  expect(suites[0]?.waiting).toBe(1);
  const [prompt, skill, ...rest] = suites[0]?.pairs ?? [];
  expect(rest).toEqual([]);
  expect(prompt).toMatchObject({
    differs: "prompt",
    base: { slug: "synthetic-alpha" },
    changed: { slug: "synthetic-alpha-description" },
    // both resolve the first task, the description less often; two differences of one sign: p = 2 / 4
    test: { method: "sign-flip", counts: { both: 0, onlyBase: 2, onlyChanged: 0, neither: 1 }, p: 0.5, pAdjusted: 1 },
    deltas: [{ metric: "time", tasks: 1, difference: 10, interval: null }],
  });
  expect(prompt?.resolved.points).toBeCloseTo(-100 / 3, 9);
  expect(skill).toMatchObject({ differs: "skill", changed: { slug: "synthetic-alpha-skill" }, test: { p: 0.5 } });
  expect(skill?.resolved.points).toBeCloseTo(100 / 3, 9);
  expect(published.map(({ differs, printed }) => [differs, printed])).toEqual([
    ["prompt", "0"],
    ["skill", "10.5"],
  ]);
});
