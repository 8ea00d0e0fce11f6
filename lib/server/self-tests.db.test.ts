import { afterEach, beforeEach, expect, inject, it } from "vitest";
import { listSelfTestFacts } from "@/db/queries/self-tests";
import { recomputeSelfTests } from "./self-tests";
import { cacheTags } from "./tags";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "./testing";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
});
afterEach(() => server.close());

const withTest = [
  "diff --git a/tests/test_pool.py b/tests/test_pool.py",
  "--- /dev/null",
  "+++ b/tests/test_pool.py",
  "@@ -0,0 +1,4 @@",
  "+def test_release_is_lean():",
  "+    release(block)",
  "+    peak = torch.cuda.max_memory_allocated()",
  "+    assert peak < 3 and block.dtype == torch.float32",
  "",
].join("\n");

const kept = async () => [
  ...(await server.database.sql`
    select rules_version, tests, assertions, checks from attempt_self_test order by attempt_id`),
];

it("a graded attempt has what its own tests check; reading again follows the rules and what is there", async () => {
  const { sql } = server.database;
  await submitGold(server);
  const host = await addTestHost(server);
  server.expired.length = 0;
  await gradeOne(server, host);
  // The tag that the page and its twins carry.
  expect(server.expired).toContain(cacheTags.failures);
  const none = { rules_version: "2", tests: 0, assertions: 0, checks: [] };
  expect(await kept()).toEqual([none]);

  const [graded] = await sql`select attempt_id as id from attempt_self_test`;
  const { sha256 } = await server.blobs.put(Buffer.from(withTest));
  await sql`update attempt set patch_sha256 = ${sha256} where id = ${graded?.["id"]}`;
  await sql`update attempt_self_test set rules_version = '0'`;
  await sql`update attempt set patch_sha256 = ${"0".repeat(64)} where id <> ${graded?.["id"]}`;
  expect(await recomputeSelfTests(server)).toEqual({
    rulesVersion: "2",
    attempts: 2,
    notRead: 1,
    trajectories: 0,
    unreadTrajectories: 0,
  });
  const found = { ...none, tests: 1, assertions: 1, checks: ["value", "shape-layout-dtype", "resource.memory"] };
  expect(await kept()).toEqual([found]);
  await recomputeSelfTests(server);
  expect(await kept()).toEqual([found]);

  const [facts, ...others] = await listSelfTestFacts(sql);
  expect(others).toEqual([]);
  expect(facts).toMatchObject({
    entry: { kind: "reference", promptCondition: "interface", skill: null },
    attempts: 2,
    read: 1,
    tests: 1,
    withTests: 1,
    checks: { value: 1, "shape-layout-dtype": 1, "resource.memory": 1 },
    trajectories: 0,
    commandChecks: {},
  });
  await sql`update submission set withdrawn_at = now()`;
  expect(await listSelfTestFacts(sql)).toEqual([]);
});
