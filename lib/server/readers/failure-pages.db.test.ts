import { cacheTag } from "next/cache";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { withdraw } from "../admin/submissions";
import { getDatabase, getServerContext } from "../context";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "../testing";
import { getFailureBackground } from "./failure-pages";
import { getFailure } from "./failures";
import { getLogPage } from "./logs";

vi.mock("next/cache", () => ({ cacheTag: vi.fn(), cacheLife: vi.fn(), revalidateTag: vi.fn() }));
vi.mock("../context", async (original) => ({
  ...(await original<object>()),
  getDatabase: vi.fn(),
  getServerContext: vi.fn(),
}));

const official = "tests/test_pool.py::test_release";
const probe = "probes/test_pool_probe.py::test_shape";
const path = "ranks/launch-0/rank-0.stdout.log";
const log = [
  "=== tests/test_pool.py::test_release",
  "F",
  "<script>alert(1)</script> \u001b]8;;https://evil.example\u001b\\click \u202eright to left\0",
  "_______ test_release _______",
  "E   AssertionError: synthetic failed",
  ...Array.from({ length: 700 }, (_, index) => `line ${index + 6}`),
].join("\n");

let server: TestServer;
let submissionId: string;
let gradingId: string;
beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"));
  vi.mocked(getDatabase).mockReturnValue(server.database);
  vi.mocked(getServerContext).mockResolvedValue(server);
  submissionId = await submitGold(server);
  const { job } = await gradeOne(server, await addTestHost(server), {
    statuses: { [official]: "failed", [probe]: "failed" },
    files: { [path]: log },
  });
  ({ gradingId } = job);
});
afterAll(() => server.close());

/** The number of a test in the manifest. */
const numberOf = (id: string) => (server.manifests[0]?.tests.findIndex((test) => test.id === id) ?? -1) + 1;

it("behind a failure stand the patch and the line of its root rank's log that says why", async () => {
  const number = numberOf(official);
  expect((await getFailure(gradingId, String(number)))?.failure.test.id).toBe(official);
  const background = await getFailureBackground(gradingId, number);
  expect(background?.log).toMatchObject({ path: `payload/${path}`, marked: 5, lineCount: 705 });
  expect(background?.log?.lines.map((line) => line.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(background?.logPaths).toEqual([{ launch: 0, rank: 0, path: `payload/${path}` }]);
  expect(background?.patch.text).toContain("diff --git");
});

it("a test that passed, and a number that no test has, have none", async () => {
  expect(await getFailureBackground(gradingId, numberOf("tests/test_pool.py::test_keeps_order"))).toBeNull();
  expect(await getFailureBackground(gradingId, 999_999)).toBeNull();
});

it("of a hidden probe no line of a log is given out", async () => {
  await server.database.sql`update suite set probes = 'hidden'`;
  expect(await getFailureBackground(gradingId, numberOf(probe))).toMatchObject({ log: null, logPaths: [] });
  expect((await getFailureBackground(gradingId, numberOf(official)))?.log).not.toBeNull();
  await server.database.sql`update suite set probes = 'open'`;
});

it("a log is read page by page, and beyond its end at its last one; no line of it can act", async () => {
  const page = await getLogPage(gradingId, path, 1);
  expect(page).toMatchObject({ lineCount: 705, submissionId, path });
  expect(page?.lines).toHaveLength(300);
  const hostile = page?.lines[2]?.pieces.map(({ text }) => text).join("");
  expect(hostile).toBe("<script>alert(1)</script> ␛]8;;https://evil.example␛\\click <U+202E>right to left␀");
  expect((await getLogPage(gradingId, path, 601))?.lines.map(({ number }) => number).at(-1)).toBe(705);
  expect((await getLogPage(gradingId, path, 10 ** 11))?.lines[0]?.number).toBe(406);
  expect(await getLogPage(gradingId, "../manifest.json", 1)).toBeNull();
  expect(await getLogPage("00000000-0000-4000-8000-000000000000", path, 1)).toBeNull();
});

it("a withdrawal ends what is kept of a log and of a failure, and neither is found again", async () => {
  const kept = await Promise.all(
    [() => getLogPage(gradingId, path, 1), () => getFailureBackground(gradingId, numberOf(official))].map(
      async (read) => {
        vi.mocked(cacheTag).mockClear();
        await read();
        return vi.mocked(cacheTag).mock.calls.flat();
      },
    ),
  );
  expect(kept.every((tags) => tags.includes(`submission:${submissionId}`))).toBe(true);
  await withdraw(server, submissionId, "synthetic");
  expect(await getLogPage(gradingId, path, 1)).toBeNull();
  expect(await getFailureBackground(gradingId, numberOf(official))).toBeNull();
});
