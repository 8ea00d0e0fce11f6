import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Result } from "@/lib/contract/result";
import { processOwner } from "../processes/owner";
import type { LoadedTask } from "../suites/load";
import { launchBelow, remainsOf } from "./testing/host-remains";
import { oneFile, outcomeOf, TinyGradings, tinyExecutor } from "./testing/tiny-gradings";
import { patchOf } from "./testing/tiny-task";

/** Twenty; the long form asks for 20 kills of each program of the system, and kills a launch five times as often. */
const kills = Number(process.env["INFRADEV_KILLS"] ?? 4) * 5;
const seed = Number(process.env["INFRADEV_SEED"] ?? Date.now() % 1_000_000);
console.log(`kills: seed ${seed} (INFRADEV_SEED repeats it), ${kills} kills`);
const random = generator(seed);

const victims = ["rank", "launcher", "rank", "sandbox", "runner"] as const;
const names = ["a_quick", "b_slow", "c_wrong", "d_slow", "e_quick"];
const source = `import os
import time

from lib.core import value


def test_a_quick():
    assert value() == 1


def test_b_slow():
    time.sleep(0.3)


def test_c_wrong():
    assert os.environ["RANK"] != "1", "always"


def test_d_slow():
    time.sleep(0.3)


def test_e_quick():
    pass
`;
const honest = "def value():\n    return 1\n";

let tiny: TinyGradings;
let task: LoadedTask;
let temporary: string;
let patchFile: string;

beforeAll(async () => {
  tiny = await TinyGradings.create();
  task = await tiny.task(oneFile(source, names, { nproc: 3, testTimeoutSec: 15 }));
  temporary = await mkdtemp(join(tmpdir(), "infradev-kills-"));
  patchFile = join(temporary, "candidate.patch");
  await writeFile(
    patchFile,
    await patchOf({ "lib/__init__.py": "", "lib/core.py": "def value():\n    return 0\n" }, { "lib/core.py": honest }),
  );
});

afterAll(async () => {
  await tiny.remove();
  await rm(temporary, { recursive: true, force: true });
});

const pick = (pids: readonly number[]): number | undefined => pids[Math.floor(random() * pids.length)];

function kill(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

async function until(what: string, holds: () => boolean, seconds = 20): Promise<void> {
  for (let waited = 0; waited < seconds * 1000; waited += 20) {
    if (holds()) return;
    await sleep(20);
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

/** Grades while a part of its first launch is killed at a random moment. */
async function gradeThrough(victim: "rank" | "launcher" | "sandbox"): Promise<{ result: Result; killed: boolean }> {
  let killed = false;
  let chosen: Promise<void> | null = null;
  const { result } = await tiny.grade(task, honest, {
    onProgress: (event) => {
      if (event.type !== "launch-started" || chosen !== null) return;
      chosen = (async () => {
        await sleep(random() * 2000);
        killed = kill(pick(launchBelow(process.pid)[victim === "rank" ? "ranks" : victim]));
      })();
    },
  });
  await chosen;
  return { result, killed };
}

const expected = ["passed", "passed", "failed", "passed", "passed"];

/** What a kill may change: the tests that a killed rank took with it have crashed on it, and nothing else is touched. */
function judge(result: Result, victim: (typeof victims)[number], killed: boolean): void {
  const seen = names.map((name) => outcomeOf(result, `test_${name}`));
  const statuses = seen.map(({ status }) => status);
  expect(outcomeOf(result, "test_c_wrong").status).not.toBe("passed");
  expect(result.summary.resolved).toBe(false);
  if (result.status === "infra") {
    expect(killed && victim !== "rank").toBe(true);
    return;
  }
  expect(result.status).toBe("completed");
  const suffered = seen.filter(({ status, id }) => status !== expected[names.findIndex((name) => id.endsWith(name))]);
  const said = result.launches.map(({ killed: ended, exits }) => JSON.stringify([ended, exits]));
  const failures = seen.flatMap(({ ranks }) => ranks.map(({ failure }) => failure?.message ?? "passed"));
  if (victim !== "rank") expect(statuses, [`kill of the ${victim}`, ...said, ...failures].join("\n")).toEqual(expected);
  for (const test of suffered) {
    expect(test.status).toBe("crashed");
    const crashed = test.ranks.filter(({ status }) => status === "crashed");
    expect(crashed).toHaveLength(1);
    expect(crashed[0]?.failure?.message).toContain("SIGKILL");
  }
  // One test was open, or none yet: then the rank took all of them with it.
  expect([0, 1, names.length, names.length - 1]).toContain(suffered.length);
}

const running: ChildProcess[] = [];

/** A runner of its own that grades the same patch, its temporary folder below this test's. */
function startRunner(home: string): ChildProcess {
  const args = [
    "--import",
    "tsx",
    "runner/cli.ts",
    "grade",
    task.dir,
    "--patch",
    patchFile,
    "--executor",
    tinyExecutor,
  ];
  const child = spawn(process.execPath, [...args, "--out", join(home, "out"), "--key", join(home, "key.pem")], {
    env: { ...process.env, TMPDIR: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.push(child);
  return child;
}

const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once("exit", (code) => resolve(code)));

describe(`through ${kills} kills at random moments`, { timeout: 60_000 + kills * 20_000 }, () => {
  it("a grading ends in a right state, and leaves a free host", async () => {
    const counts = new Map<string, number>();
    for (let index = 0; index < kills; index += 1) {
      const victim = victims[index % victims.length] ?? "rank";
      counts.set(victim, (counts.get(victim) ?? 0) + 1);
      if (victim === "runner") {
        const home = join(temporary, String(index));
        await mkdir(home);
        const child = startRunner(home);
        const ended = exitOf(child);
        const said: Buffer[] = [];
        child.stderr?.on("data", (chunk: Buffer) => said.push(chunk));
        await until("a launch starts", () => Buffer.concat(said).includes("launch 1") || child.exitCode !== null, 40);
        await sleep(random() * 1500);
        const owner = `${child.pid}`;
        child.kill("SIGKILL");
        await ended;
        await until("the host is free", () => remainsOf(home, owner).length === 0).catch(() => undefined);
        expect(remainsOf(home, owner), `kill ${index} of the runner`).toEqual([]);
        // What was written is whole or not there.
        const bundles = existsSync(join(home, "out")) ? await readdir(join(home, "out")) : [];
        expect(bundles.filter((name) => !name.endsWith(".infradev.tar.gz"))).toEqual([]);
        continue;
      }
      const { result, killed } = await gradeThrough(victim);
      judge(result, victim, killed);
      expect(launchBelow(process.pid), `kill ${index} of the ${victim}`).toEqual({
        sandbox: [],
        launcher: [],
        ranks: [],
      });
      expect(remainsOf(tiny.scratch, processOwner), `kill ${index} of the ${victim}`).toEqual([]);
    }
    console.log(`kills: ${[...counts].map(([victim, count]) => `${count} of ${victim}`).join(", ")}`);
  });
});

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
