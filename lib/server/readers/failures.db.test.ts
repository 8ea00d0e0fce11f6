import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheTag } from "next/cache";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { seedDatabase } from "@/db/seed/seed";
import type { FailureTally } from "@/lib/contract/failures-api";
import type { FailureDetail, TestOutcome } from "@/lib/contract/result";
import type { PackedSuite } from "@/lib/contract/task";
import type { GradingStatus, OutcomeStatus } from "@/lib/contract/vocabulary";
import { failureCsv } from "@/lib/prepare/failure-csv";
import { failureTypes, rulesVersion, taxonomyVersion } from "@/lib/taxonomy/failure-types";
import { relabel } from "../admin/relabel";
import { importPackedSuite } from "../admin/suites";
import { channels } from "../announce";
import { getDatabase } from "../context";
import { readFailureListRequest } from "../failure-request";
import {
  addTestHost,
  deliver,
  makeBundleFor,
  startJob,
  startTestServer,
  submitGold,
  type TestHost,
  type TestServer,
} from "../testing";
import { getFailure, getFailureClusters, getFailureList, getFailureOverview, listAllFailures } from "./failures";

// Outside of Next there is no cache.
vi.mock("next/cache", () => ({ cacheTag: vi.fn(), cacheLife: () => {}, revalidateTag: () => {} }));
vi.mock("../context", async (load) => ({ ...(await load<typeof import("../context")>()), getDatabase: vi.fn() }));

const release = "tests/test_pool.py::test_release";
const order = "tests/test_pool.py::test_keeps_order";
const shape = "probes/test_pool_probe.py::test_shape";

type Planned = [status: OutcomeStatus, exceptionType: string | null, message: string];
interface Plan {
  status?: GradingStatus;
  tests: Record<string, Planned>;
}
const importError: Planned = ["error", "ImportError", "cannot import name 'release' from 'synthetic.pool'"];

/** What each task's grading says. The first three tasks are of one repository, the others of another. */
const plans: Record<string, Plan> = {
  // three types in one attempt
  "synthetic-task-1": {
    tests: {
      [release]: importError,
      [order]: ["failed", "AssertionError", "assert 1 == 2"],
      [shape]: ["failed", "AssertionError", "assert torch.Size([2]) == torch.Size([3])"],
    },
  },
  // two cases of one type
  "synthetic-task-2": {
    tests: {
      [release]: importError,
      [order]: ["error", "TypeError", "f() takes 1 positional argument but 2 were given"],
    },
  },
  // neither is a failure of the table
  "synthetic-task-3": { status: "infra", tests: { [release]: importError } },
  "synthetic-task-4": { status: "tampered", tests: { [release]: ["failed", "AssertionError", "assert 1 == 2"] } },
  "synthetic-task-5": {
    tests: {
      [release]: [
        "error",
        "RuntimeError",
        'Error(s) in loading state_dict for Pool:\n\tMissing key(s) in state_dict: "w". ',
      ],
      [order]: ["crashed", null, "the rank's process ended by SIGSEGV"],
    },
  },
  "synthetic-task-6": { tests: {} },
};

function fail(test: TestOutcome, [status, exceptionType, message]: Planned): void {
  const failure: FailureDetail = {
    phase: "call",
    exceptionType,
    mro: exceptionType === null ? [] : [exceptionType, "Exception", "BaseException"],
    message,
    frames: [
      {
        file: test.id.split("::")[0] ?? "",
        line: 7,
        function: "test",
        origin: test.kind === "probe" ? "probe" : "test",
        code: null,
      },
    ],
    activeCheck: null,
    secondaryOf: null,
  };
  test.status = status;
  test.rootRank = 0;
  test.ranks = test.ranks.map((rank) => ({
    ...rank,
    status: rank.rank === 0 ? status : "error",
    failure:
      rank.rank === 0
        ? failure
        : {
            ...failure,
            exceptionType: "ConnectionResetError",
            mro: ["ConnectionResetError"],
            message: `rank 0 is gone`,
            secondaryOf: 0,
          },
  }));
}

let server: TestServer;
let host: TestHost;
let submissionId: string;
const gradings = new Map<string, string>();

async function gradePlanned(): Promise<void> {
  const { job } = await startJob(server, host);
  const plan = plans[job.task.slug];
  if (!plan) throw new Error(`there is no plan for ${job.task.slug}`);
  const status = plan.status ?? "completed";
  const bundle = await makeBundleFor(server, host, job, {
    status,
    statuses: Object.fromEntries(Object.entries(plan.tests).map(([id, [outcome]]) => [id, outcome])),
    editResult: (result) => {
      for (const test of result.tests) {
        const planned = plan.tests[test.id];
        if (planned) fail(test, planned);
      }
    },
  });
  await deliver(server, host, job, bundle.path, status);
  gradings.set(job.task.slug, job.gradingId);
}

beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 6 });
  vi.mocked(getDatabase).mockReturnValue(server.database);
  await seedDatabase(server.testDatabase.url);
  await server.database.sql`
    update task set repo = case when position < 3 then 'synthetic/first' else 'synthetic/second' end
    where suite_id in (select id from suite where slug = 'synthetic-suite')`;
  submissionId = await submitGold(server);
  host = await addTestHost(server);
  for (let index = 0; index < 6; index++) await gradePlanned();
});
afterAll(() => server.close());

const suite = { suite: "synthetic-suite" };
const overview = async (filter = {}) => (await getFailureOverview({ ...suite, ...filter })) ?? raise();
const attempts = (tally: FailureTally | undefined) =>
  Object.fromEntries(
    (tally?.types ?? []).filter((type) => type.cases > 0).map((type) => [type.type, [type.attempts, type.cases]]),
  );
const classes = (tally: FailureTally | undefined) =>
  Object.fromEntries((tally?.classes ?? []).map((one) => [one.class, one.attempts]));

describe("the table of failure types", () => {
  it("counts distinct attempts with at least one failing case, under every type that they have a case of", async () => {
    const { total, groups, leftOut, entryKind } = await overview();
    expect(entryKind).toBe("reference");
    expect([total.graded, total.failing, total.cases]).toEqual([4, 3, 7]);
    expect(attempts(total)).toEqual({
      "execution-api": [3, 4],
      "shape-layout-dtype": [1, 1],
      "state-lifecycle": [1, 1],
      value: [1, 1],
    });
    // Three attempts have a structural failure, although their types add up to five.
    expect(classes(total)).toEqual({ structural: 3, behavioral: 1 });
    expect(total.classes[0]?.pct).toBe(100);
    expect(leftOut).toEqual([
      { status: "infra", attempts: 1 },
      { status: "tampered", attempts: 1 },
    ]);
    const [first, second] = groups.repository;
    expect([first?.key, first?.graded, attempts(first), classes(first)]).toEqual([
      "synthetic/first",
      2,
      { "execution-api": [2, 3], "shape-layout-dtype": [1, 1], value: [1, 1] },
      { structural: 2, behavioral: 1 },
    ]);
    expect([second?.key, second?.graded, attempts(second), classes(second)]).toEqual([
      "synthetic/second",
      2,
      { "execution-api": [1, 1], "state-lifecycle": [1, 1] },
      { structural: 1, behavioral: 0 },
    ]);
    expect(groups.entry).toMatchObject([{ label: "reference: gold", failing: 3, entry: { kind: "reference" } }]);
  });

  it("can be rebuilt from the CSV alone", async () => {
    const all = (await listAllFailures(suite)) ?? raise();
    const [header = [], ...lines] = failureCsv(all.failures ?? raise())
      .trimEnd()
      .split("\r\n")
      .map((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/));
    const column = (name: string) => header.indexOf(name);
    const rebuilt = new Map<string, Set<string>>();
    for (const line of lines) {
      const attempt = line[column("attempt")] ?? "";
      for (const key of [`${line[column("repository")]} ${line[column("type")]}`, `class ${line[column("class")]}`])
        rebuilt.set(key, (rebuilt.get(key) ?? new Set()).add(attempt));
    }
    const { groups, total } = await overview();
    for (const group of groups.repository)
      for (const { type, attempts: count } of group.types)
        expect(rebuilt.get(`${group.key} ${type}`)?.size ?? 0).toBe(count);
    for (const { class: name, attempts: count } of total.classes)
      expect(rebuilt.get(`class ${name}`)?.size ?? 0).toBe(count);
    expect(lines).toHaveLength(all.total);
  });

  it("follows every filter, and knows its taxonomy from the database", async () => {
    expect((await overview({ repository: "synthetic/second" })).total.failing).toBe(1);
    expect((await overview({ property: "shape-layout-dtype" })).total.cases).toBe(1);
    expect((await overview({ kind: "official" })).total.cases).toBe(6);
    expect((await overview({ class: "behavioral" })).total.failing).toBe(1);
    expect((await overview({ tag: "interface" })).total.cases).toBe(3);
    expect((await overview({ status: "crashed" })).total.cases).toBe(1);
    expect((await overview({ submission: submissionId })).total.failing).toBe(3);
    expect((await overview({ entryKind: "model" })).total.graded).toBe(0);
    expect((await overview({ model: "nobody" })).total.graded).toBe(0);
    expect(await getFailureOverview({ suite: "no-such-suite" })).toBeNull();
    const { taxonomy } = await overview();
    expect(taxonomy.version).toBe(taxonomyVersion);
    expect(taxonomy.types.map(({ class: name, type, meaning }) => ({ class: name, type, meaning }))).toEqual(
      failureTypes,
    );
  });
});

describe("lists and clusters", () => {
  it("hold each case once, with the label that counts and where it was read from", async () => {
    const list = (await getFailureList(suite, 1)) ?? raise();
    expect([list.total, list.pages, list.failures.length]).toEqual([7, 1, 7]);
    const [first] = list.failures;
    expect(first).toMatchObject({
      address: { grading: gradings.get("synthetic-task-1"), test: 1 },
      test: { id: release, hidden: false },
      line: importError[2],
      label: { type: "execution-api", rule: "exception-import", rulesVersion, source: "rule", confidence: "likely" },
    });
    expect((await getFailureList(suite, 2))?.failures).toEqual([]);
  });

  it("put equal roots together over attempts, and fold what followed on other ranks", async () => {
    const { clusters, total } = (await getFailureClusters(suite, 1)) ?? raise();
    expect(total).toBe(6);
    expect(clusters[0]).toMatchObject({
      attempts: 2,
      cases: 2,
      tasks: 2,
      exceptionType: "ImportError",
      types: [{ type: "execution-api", attempts: 2, cases: 2 }],
      followed: [{ exceptionType: "ConnectionResetError", line: "rank 0 is gone", ranks: [1] }],
    });
    const signature = clusters[0]?.signature ?? raise();
    expect((await getFailureList({ ...suite, signature }, 1))?.total).toBe(2);
  });

  it("open on one failure with its history, its ranks, and the same test elsewhere", async () => {
    const grading = gradings.get("synthetic-task-5") ?? raise();
    const answer = (await getFailure(grading, "1")) ?? raise();
    expect(answer).toMatchObject({
      failure: { test: { id: release }, label: { type: "state-lifecycle" } },
      grading: { id: grading, counts: true },
      mro: ["RuntimeError", "Exception", "BaseException"],
      labels: [{ source: "rule", effective: true, type: "state-lifecycle" }],
      cluster: { attempts: 1, elsewhere: [] },
      sameTest: [{ entry: { model: "reference: gold" }, status: "error", address: { grading, test: 1 } }],
    });
    const { evidence } = answer.failure.label;
    expect(String(answer.message).slice(evidence?.from, evidence?.to)).toBe("state_dict");
    expect(answer.ranks.map(({ rank }) => rank)).toEqual([0, 1]);
    for (const [id, test] of [
      [grading, "3"],
      [grading, "0"],
      [grading, "1e3"],
      ["x", "1"],
      [gradings.get("synthetic-task-3") ?? "", "1"],
    ] as const)
      expect(await getFailure(id, test)).toBeNull();
  });

  it("tell of a hidden probe its id, property, verdict and label only", async () => {
    await server.database.sql`update suite set probes = 'hidden' where slug = 'synthetic-suite'`;
    try {
      const { failures } = (await getFailureList({ ...suite, kind: "probe" }, 1)) ?? raise();
      expect(failures).toMatchObject([
        {
          test: { id: shape, hidden: true },
          line: null,
          exceptionType: null,
          signature: null,
          label: { evidence: null },
        },
      ]);
      const { grading, test } = failures[0]?.address ?? raise();
      const answer = await getFailure(grading, String(test));
      expect(answer).toMatchObject({
        message: null,
        frames: [],
        mro: [],
        cluster: null,
        followed: [],
        requirement: null,
      });
      expect(answer?.ranks.every(({ failure }) => failure === null)).toBe(true);
      expect(JSON.stringify(answer)).not.toContain("torch.Size");
      const { clusters, hiddenCases } = (await getFailureClusters(suite, 1)) ?? raise();
      expect([hiddenCases, clusters.some((cluster) => cluster.example.test.hidden)]).toEqual([1, false]);
      expect(failureCsv(failures)).not.toContain("torch.Size");
    } finally {
      await server.database.sql`update suite set probes = 'open' where slug = 'synthetic-suite'`;
    }
  });
});

describe("a new version of the rules", () => {
  const labelsOf = (grading: string) => server.database.sql<{ type: string; rulesVersion: string }[]>`
    select type, rules_version as "rulesVersion" from label where grading_id = ${grading} and source = 'rule' order by id`;
  const countOf = async (type: string) => (await overview({ type })).total.cases;

  it("labels the past again, keeps the old labels, and says what moved; readers see all of it or nothing", async () => {
    const { sql } = server.database;
    await sql`update label set type = 'value', class = 'behavioral', rules_version = '1.0.0' where source = 'rule'`;
    await sql`update failure set type = 'value', class = 'behavioral'`;
    const heard: string[] = [];
    await sql.listen(channels.cache, (message) => heard.push(...(JSON.parse(message) as { tags: string[] }).tags));

    const dry = await relabel(server, { dryRun: true });
    expect(dry).toMatchObject({ failures: 7, labels: 7, moved: 0, dryRun: true });
    expect(dry.changes).toEqual([
      { from: "value", to: "execution-api", failures: 4 },
      { from: "value", to: "shape-layout-dtype", failures: 1 },
      { from: "value", to: "state-lifecycle", failures: 1 },
      { from: "value", to: "value", failures: 1 },
    ]);
    expect(await countOf("value")).toBe(7);

    // Somebody holds one of the failures: the relabelling waits for it, half done.
    let running: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`select 1 from failure order by grading_id desc, test_id desc limit 1 for update`;
      running = relabel(server, { dryRun: false });
      await expect
        .poll(
          async () =>
            (await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%update failure%'`)
              .length,
        )
        .toBeGreaterThan(0);
      expect(await countOf("value")).toBe(7);
    });
    await running;
    expect([await countOf("value"), await countOf("execution-api")]).toEqual([1, 4]);
    expect(await labelsOf(gradings.get("synthetic-task-5") ?? "")).toEqual([
      { type: "value", rulesVersion: "1.0.0" },
      { type: "value", rulesVersion: "1.0.0" },
      { type: "state-lifecycle", rulesVersion },
      { type: "execution-api", rulesVersion },
    ]);
    await expect.poll(() => heard).toContain("labels");
    expect(await relabel(server, { dryRun: false })).toMatchObject({ failures: 7, labels: 0, moved: 0 });
  });

  it("leaves what a person has labelled as it is", async () => {
    const { sql } = server.database;
    const [one] = await sql<{ gradingId: string; testId: number }[]>`
      select grading_id as "gradingId", test_id as "testId" from failure where type = 'value'`;
    if (!one) raise();
    const { gradingId, testId } = one;
    await sql`
      insert into label (grading_id, test_id, class, type, source)
      values (${gradingId}, ${testId}, 'behavioral', 'condition-specific', 'person')`;
    await sql`
      update failure set type = 'condition-specific', label_source = 'person'
      where grading_id = ${gradingId} and test_id = ${testId}`;
    await sql`update label set rules_version = '1.0.0' where source = 'rule'`;
    expect(await relabel(server, { dryRun: false })).toMatchObject({ labels: 7 });
    expect([await countOf("value"), await countOf("condition-specific")]).toEqual([0, 1]);
    expect((await overview({ reviewed: "yes" })).total.cases).toBe(1);
    const { failures } = (await getFailureList({ ...suite, reviewed: "yes" }, 1)) ?? raise();
    expect(failures).toMatchObject([{ label: { source: "person", rule: null, type: "condition-specific" } }]);
  });
});

it("what is kept of every view ends with a bundle and with a label", async () => {
  const tagsOf = async (read: () => Promise<unknown>) => {
    vi.mocked(cacheTag).mockClear();
    expect(await read()).not.toBeNull();
    return vi.mocked(cacheTag).mock.calls.flat();
  };
  const grading = gradings.get("synthetic-task-1") ?? raise();
  for (const tags of [
    await tagsOf(() => getFailureOverview({})),
    await tagsOf(() => getFailureOverview(suite)),
    await tagsOf(() => getFailureList(suite, 1)),
    await tagsOf(() => getFailureClusters({}, 1)),
    await tagsOf(() => getFailure(grading, "1")),
  ]) {
    expect(tags.some((tag) => server.expired.includes(tag))).toBe(true);
    expect(tags).toContain("labels");
  }
});

describe("where the suite has a newer version", () => {
  beforeAll(async () => {
    const pack = JSON.parse(await readFile(join(server.dataDir, "pack.json"), "utf8")) as PackedSuite;
    const [first] = pack.tasks;
    if (!first) raise();
    first.manifest.task.slug = "newer-task";
    const newer = { ...pack.suite, version: "1.1", tasks: ["newer-task"] };
    const file = join(server.dataDir, "newer.json");
    await writeFile(file, JSON.stringify({ ...pack, suite: newer, tasks: [first], referenceSets: [] }));
    await importPackedSuite(server, file);
  });
  const total = async (query: string) => {
    const request = new Request(`http://bench.test/api/v1/failures?${query}`);
    const { filter, page } = await readFailureListRequest(request);
    return (await getFailureList(filter, page))?.total;
  };

  it.each(["", "suite=synthetic-suite&"])("a name of an older one is known: ?%s...", async (of) => {
    for (const older of [
      "entry=reference-gold",
      "model=reference%3A%20gold",
      "task=synthetic-task-2",
      "repository=synthetic/second",
    ])
      expect([older, await total(of + older)]).toEqual([older, 0]);
    expect(await total(`${of}task=newer-task`)).toBe(0);
    expect(await total(`${of}version=1.0&entry=reference-gold`)).toBe(7);
    await expect(total(`${of}version=1.1&entry=reference-gold`)).rejects.toMatchObject({
      problem: { code: "entry.unknown", where: expect.stringContaining("1.1: reference-gold") },
    });
    await expect(total(`${of}entry=nosuch`)).rejects.toMatchObject({ problem: { code: "entry.unknown" } });
  });

  it("a submission brings its own version", async () => {
    expect(await total(`submission=${submissionId}`)).toBe(7);
    expect((await overview({ submission: submissionId })).suites).toMatchObject([{ version: "1.0" }]);
    expect((await overview()).suites).toMatchObject([{ version: "1.1" }]);
    await expect(total(`version=1.1&submission=${submissionId}`)).rejects.toMatchObject({
      problem: { code: "submission.unknown" },
    });
  });

  it("an entry that was published without tasks is known too", async () => {
    const [published] = await server.database.sql<{ slug: string }[]>`
      select entry.slug from submission join entry on entry.id = submission.entry_id
      where submission.published_at is not null
        and not exists (select 1 from task where task.suite_id = submission.suite_id) limit 1`;
    expect(await total(`entry=${(published ?? raise()).slug}`)).toBe(0);
  });
});

function raise(): never {
  throw new Error("there is nothing under this name");
}
