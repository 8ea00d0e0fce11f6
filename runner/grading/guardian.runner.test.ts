import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAbandoned, processOwner } from "../processes/owner";
import { startGuardian, sweepLeftovers } from "./guardian";

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "infradev-guardian-"));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

/** As the mark names it. */
const namespace = processOwner.split("-")[2] ?? "";

async function deadPid(): Promise<number> {
  const child = spawn("/bin/true", { stdio: "ignore" });
  await new Promise((resolve) => child.once("exit", resolve));
  return child.pid ?? 0;
}

describe("the mark of a process", () => {
  it("tells whether the maker lives, also where its pid was given away again", async () => {
    expect(isAbandoned(`infradev-grade-${processOwner}-abcdef`)).toBe(false);
    expect(isAbandoned(`infradev-${processOwner}-0011aabb`)).toBe(false);
    expect(isAbandoned(`infradev-${process.pid}-1-${namespace}-0011aabb`)).toBe(true);
    expect(isAbandoned(`infradev-grade-${await deadPid()}-77-${namespace}-abcdef`)).toBe(true);
    expect(isAbandoned("infradev-somebody-elses")).toBeNull();
    // of a container that shares the folder: its processes cannot be looked up from here
    expect(isAbandoned(`infradev-grade-${await deadPid()}-77-1${namespace}-abcdef`)).toBeNull();
  });
});

describe("a guardian", () => {
  it("removes nothing where it is let go", async () => {
    const folder = join(scratch, "kept");
    await mkdir(folder);
    await startGuardian([folder]).release();
    await sleep(300);
    expect(existsSync(folder)).toBe(true);
  });
});

describe("the next start", () => {
  it("removes folders of runners that are gone, and leaves those of living ones and young ones", async () => {
    const pid = await deadPid();
    const long = new Date(Date.now() - 3_600_000);
    const make = async (name: string, old: boolean) => {
      const folder = join(tmpdir(), name);
      await mkdir(join(folder, "checkout"), { recursive: true });
      if (old) await utimes(folder, long, long);
      return folder;
    };
    const gone = await make(`infradev-grade-${pid}-77-${namespace}-test01`, true);
    const young = await make(`infradev-grade-${pid}-77-${namespace}-test02`, false);
    const alive = await make(`infradev-grade-${processOwner}-test03`, true);
    try {
      await sweepLeftovers();
      expect([gone, young, alive].map((folder) => existsSync(folder))).toEqual([false, true, true]);
    } finally {
      for (const folder of [gone, young, alive]) await rm(folder, { recursive: true, force: true });
    }
  });
});
