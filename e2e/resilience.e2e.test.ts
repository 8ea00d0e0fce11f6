import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEmbedded } from "../db/embedded";
import { type Program, repositoryRoot, startSite } from "./stack";
import { attachRunner, importSuite, mintToken, type System, startSystem, stopSystem, submitGold } from "./system";

/** Kills of each program; the long form raises it. */
const kills = Number(process.env["INFRADEV_KILLS"] ?? 2);
const seed = Number(process.env["INFRADEV_SEED"] ?? Date.now() % 1_000_000);
console.log(`resilience: seed ${seed} (INFRADEV_SEED repeats it), ${kills} kills of each program`);
const random = generator(seed);

let system: System;
beforeAll(async () => {
  system = await startSystem("resilience");
  await importSuite(system, join(repositoryRoot, "runner/suites/infradev-mini"));
});
afterAll(() => stopSystem(system));

let token: string | null = null;
/** What the attached runner said since the last look; it says what it does before it does it. */
const said: string[] = [];
const heard = (what: RegExp) => async () => said.splice(0).some((line) => what.test(line));
async function attach(): Promise<Program> {
  said.length = 0;
  token ??= await mintToken(system);
  return attachRunner(system, token, (line) => said.push(line));
}

async function until(what: string, holds: () => Promise<boolean>, seconds = 300): Promise<void> {
  for (let waited = 0; waited < seconds * 1000; waited += 25) {
    if (await holds().catch(() => false)) return;
    await sleep(25);
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

/** Each attempt was graded and counts once, the summaries are what the outcomes give, and nothing is left in the queue. */
async function expectWhole(submissionId: string): Promise<void> {
  const { sql } = system.database;
  const attempts = await sql`
    select attempt.id, count(grading.id) filter (where not grading.late) as on_time, summary.resolved,
           (select count(*) from outcome where outcome.grading_id = summary.grading_id)::int as outcomes,
           (select count(*) from task_test where task_test.task_id = attempt.task_id)::int as tests
    from attempt
    left join grading on grading.attempt_id = attempt.id
    left join attempt_summary summary on summary.attempt_id = attempt.id
    where attempt.submission_id = ${submissionId}
    group by attempt.id, summary.resolved, summary.grading_id`;
  expect(attempts).toHaveLength(6);
  for (const attempt of attempts) {
    expect(attempt, `attempt ${attempt["id"]}`).toMatchObject({ on_time: "1", resolved: true });
    expect(attempt["outcomes"]).toBe(attempt["tests"]);
  }
  const [summary] =
    await sql`select resolved_count, graded_count, provisional from submission_summary where submission_id = ${submissionId}`;
  expect(summary).toMatchObject({ resolved_count: 6, graded_count: 6, provisional: false });
  const open = await sql`select job.state from job join attempt on attempt.id = job.attempt_id
    where attempt.submission_id = ${submissionId} and job.state <> 'finished'`;
  expect(open).toEqual([]);
  const records = await sql`select position, grading_id from log_record where grading_id is not null order by position`;
  expect(new Set(records.map((record) => record["grading_id"])).size).toBe(records.length);
  const [gaps] = await sql`select count(*)::int as n, coalesce(max(position) + 1, 0)::int as next from log_record`;
  expect(gaps?.["n"]).toBe(gaps?.["next"]);
}

/** Six gradings bear a few kills; more kills take more submissions. */
const killsPerSubmission = 2;

async function throughKills(
  killOnce: (submission: string) => Promise<void>,
  finish: () => Promise<void>,
): Promise<void> {
  for (let left = kills; left > 0; left -= killsPerSubmission) {
    const submission = await submitGold(system, "infradev-mini");
    for (let kill = 0; kill < Math.min(left, killsPerSubmission); kill++) await killOnce(submission);
    await finish();
    await untilGraded(submission);
    await expectWhole(submission);
  }
}

/**
 * A runner that drains the queue ends where no job is offered, and one that it lost while the site was away is offered
 * again when its lease is over: then somebody attaches once more.
 */
async function untilGraded(submissionId: string): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const [open] = await system.database.sql`select count(*)::int as n from job
      join attempt on attempt.id = job.attempt_id
      where attempt.submission_id = ${submissionId} and job.state <> 'finished'`;
    return open?.["n"] === 0;
  };
  await until("every job is finished", async () => {
    if (await isDone()) return true;
    expect(await (await attach()).exit).toBe(0);
    return isDone();
  });
}

/** Ends a program of the system while a runner delivers what it graded, and starts it again. */
async function whileDelivering(killAndRestart: () => Promise<void>): Promise<void> {
  let program: Program | null = null;
  await throughKills(
    async () => {
      program ??= await attach();
      await until("a bundle is delivered", heard(/required tests pass/));
      await sleep(random() * 300);
      await killAndRestart();
    },
    async () => {
      expect(await program?.exit).toBe(0);
      program = null;
    },
  );
}

describe("after a kill the work goes on, nothing is counted twice or lost", {
  timeout: 600_000 + kills * 90_000,
}, () => {
  it("the runner, while it grades", async () => {
    await throughKills(
      async () => {
        const program = await attach();
        await until("a grading runs", heard(/: grading [0-9a-f-]{36}/));
        await sleep(random() * 2000);
        await program.stop("SIGKILL");
        await until("its sandboxes are gone", async () => sandboxes().length === 0, 10);
      },
      async () => expect(await (await attach()).exit).toBe(0),
    );
  });

  it("the site, while it ingests", () =>
    whileDelivering(async () => {
      await system.site.stop("SIGKILL");
      const { server, dataDir, place } = system;
      system.site = await startSite({ databaseUrl: server.url, dataDir, ...place });
    }));

  it("Postgres, while it commits", () =>
    whileDelivering(async () => {
      process.kill(system.server.pid, "SIGKILL");
      system.server = await startEmbedded({ dataDir: system.dataDir });
    }));
});

/** Processes of gradings under this test's folder. */
function sandboxes(): string[] {
  const listed = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.includes(system.dataDir) && /bwrap|infradev_launch/.test(line));
}

/** mulberry32: a small seeded generator of numbers in [0, 1). */
function generator(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
