import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Result } from "@/lib/contract/result";
import { type LoadedTask, loadTask } from "../suites/load";
import { readReferencePatch } from "../suites/reference";
import { gradeBelow } from "./testing/tiny-gradings";

/** Gradings of each patch; the long form, which raises the count of kills, raises this one too. */
const repeats = process.env["INFRADEV_KILLS"] === undefined ? 2 : 10;
const taskDir = fileURLToPath(new URL("../suites/infradev-mini/tasks/sharded-weight-sync", import.meta.url));

let scratch: string;
let task: LoadedTask;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-repeat-"));
  task = await loadTask(taskDir);
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

/** What a grading found, without times, places and identities. */
const found = (result: Result) => ({
  status: result.status,
  summary: result.summary,
  launches: result.launches.map(({ group, killed }) => [group, killed]),
  tests: result.tests.map(({ id, status, rootRank, ranks, label }) => ({
    id,
    status,
    rootRank,
    label: label && `${label.class}/${label.type} by ${label.rule}`,
    ranks: ranks.map((rank) => [rank.status, rank.failure?.exceptionType, rank.failure?.secondaryOf]),
  })),
});

describe(`${repeats} gradings of one patch`, { timeout: 60_000 + repeats * 120_000 }, () => {
  it.each(["gold", "mutant-1"])("give the same outcomes, ranks, causes and labels: %s", async (name) => {
    const patch = await readReferencePatch(task, name);
    const results: ReturnType<typeof found>[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const { result } = await gradeBelow(scratch, task, patch);
      results.push(found(result));
    }
    expect(results[0]?.summary.resolved).toBe(name === "gold");
    for (const result of results) expect(result).toEqual(results[0]);
  });
});
