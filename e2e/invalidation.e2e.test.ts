import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Board, boardSchema, submissionDetailSchema } from "../lib/contract/api";
import { repositoryRoot } from "./stack";
import {
  administer,
  attachRunner,
  importSuite,
  mintToken,
  type System,
  startSystem,
  stopSystem,
  submitGold,
} from "./system";

const suite = "infradev-mini";
const task = "router-abort-leak";
const suiteBoard = `/?suite=${suite}`;

let system: System;
beforeAll(async () => {
  system = await startSystem("invalidation");
});
afterAll(() => stopSystem(system));

interface Visit {
  status: number;
  /** What the page cache says: `HIT` where the page was made before. */
  cache: string | null;
  text: string;
}

async function visit(address: string): Promise<Visit> {
  const answer = await fetch(new URL(address, system.site.url));
  return { status: answer.status, cache: answer.headers.get("x-nextjs-cache"), text: await answer.text() };
}

/** Asks until the page comes out of the cache: what it says next is then not made for the asker. */
async function warm(address: string): Promise<Visit> {
  return waitFor(
    `${address} comes out of the cache`,
    () => visit(address),
    (page) => page.cache === "HIT",
  );
}

/** Another process made the change, and its announcement is on the way. */
async function waitFor<T>(what: string, look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 50) {
    const seen = await look();
    if (holds(seen)) return seen;
    await sleep(50);
  }
  throw new Error(`${what}: not within 60 s`);
}

async function board(): Promise<Board> {
  return boardSchema.parse(JSON.parse((await visit(`/api/v1/board?suite=${suite}`)).text));
}

/** The bundled suite with one task alone, which grades in seconds. */
function suiteOfOneTask(): string {
  const folder = join(system.dataDir, "suite");
  cpSync(join(repositoryRoot, "runner/suites", suite), folder, { recursive: true });
  const file = join(folder, "suite.toml");
  writeFileSync(file, readFileSync(file, "utf8").replace(/tasks = \[[^\]]*\]/, `tasks = ["${task}"]`));
  return folder;
}

describe("a change is what the next visitor sees, and nothing else is made again", () => {
  it("a suite that arrives, a submission, its grading, its withdrawal", async () => {
    const taskPage = `/tasks/${suite}/1.0/${task}`;
    const untouched = ["/", "/?sort=cost", "/published", "/docs/methodology"];

    for (const address of [taskPage, suiteBoard]) {
      const absent = await warm(address);
      expect(absent.status, address).toBe(404);
      expect(absent.text).toContain("There is nothing at this address.");
    }
    expect((await visit(`/api/v1${taskPage}`)).status).toBe(404);
    await importSuite(system, suiteOfOneTask());
    for (const address of [taskPage, suiteBoard, `/api/v1${taskPage}`])
      await waitFor(
        `${address} is there`,
        () => visit(address),
        ({ status }) => status === 200,
      );

    const id = await submitGold(system, suite);
    const attempt = `/submissions/${id}/${task}`;
    const touched = [suiteBoard, taskPage, `/submissions/${id}`, attempt];
    const before = new Map<string, string>();
    for (const address of [...touched, ...untouched]) {
      const page = await warm(address);
      expect(page.status, address).toBe(200);
      before.set(address, page.text);
    }
    expect((await board()).references).toEqual([]);

    const runner = attachRunner(system, await mintToken(system), () => {});
    expect(await runner.exit).toBe(0);

    // The site took the bundle in itself, so nobody waits: the very next visitor sees it.
    for (const address of touched) {
      const page = await visit(address);
      expect(page.status, address).toBe(200);
      expect(page.cache, address).not.toBe("HIT");
      expect(page.text === before.get(address), `${address} as it was before the grading`).toBe(false);
    }
    expect((await board()).references[0]).toMatchObject({ submissionId: id, resolved: { resolved: 1, total: 1 } });
    const submission = submissionDetailSchema.parse(JSON.parse((await visit(`/api/v1/submissions/${id}`)).text));
    expect(submission.attempts.map(({ verdict }) => verdict)).toEqual(["resolved"]);
    const [header = "", row = ""] = (await visit(`/api/v1/board.csv?suite=${suite}`)).text.split("\r\n");
    expect(row.split(",")[header.split(",").indexOf("resolved")]).toBe("1");
    for (const address of untouched) {
      const page = await visit(address);
      expect(page.cache, `${address} comes out of the cache`).toBe("HIT");
      expect(page.text === before.get(address), `${address} is as it was`).toBe(true);
    }

    await administer(system, "submission", "withdraw", id, "--reason", "of a test");
    for (const address of [`/submissions/${id}`, attempt, `/api/v1/submissions/${id}`])
      await waitFor(
        `${address} is gone`,
        () => visit(address),
        ({ status }) => status === 404,
      );
    expect((await board()).references).toEqual([]);
  });
});
