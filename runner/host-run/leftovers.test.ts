import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { FakeNvidiaSmi, fakeUuid } from "../testing/fake-nvidia-smi";
import { inWords, isNothing, leftoversSince, takeStock, wasLooked } from "./leftovers";

describe.skipIf(process.platform !== "linux")("what a grading left", () => {
  it("names a folder and a process that works in it, until both are gone", async () => {
    const before = await takeStock([]);
    const folder = mkdtempSync(join(tmpdir(), "infradev-leftover-"));
    const child = spawn("sleep", ["60"], { cwd: folder, stdio: "ignore" });
    await once(child, "spawn");
    try {
      const left = await leftoversSince(before, [], 0);
      expect(left.paths).toContain(folder);
      expect(left.processes).toContain("sleep 60");
      expect(isNothing(left)).toBe(false);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
      rmSync(folder, { recursive: true });
    }
    const after = await leftoversSince(before, [], 0);
    expect(after.paths).not.toContain(folder);
    expect(after.processes).not.toContain("sleep 60");
  });
});

it("says in words what was left, of many things the first", () => {
  const paths = ["/tmp/a", "/tmp/b", "/tmp/c", "/tmp/d", "/tmp/e"];
  expect(inWords({ processes: ["sleep 60"], paths, gpuMemoryMb: 12 })).toBe(
    "12 MiB of GPU memory, process sleep 60, path /tmp/a; /tmp/b; /tmp/c and 2 more",
  );
  expect(inWords({ processes: null, paths: null, gpuMemoryMb: 12 })).toBe("12 MiB of GPU memory");
  expect(inWords({ processes: null, paths: null, gpuMemoryMb: 0 })).toBe("");
});

it("a look that failed is not a clean one", () => {
  const unread = { processes: [], paths: [], gpuMemoryMb: null };
  expect([isNothing(unread), wasLooked(unread), inWords(unread)]).toEqual([
    false,
    true,
    "GPU memory could not be read",
  ]);
  expect(wasLooked({ processes: null, paths: null, gpuMemoryMb: null })).toBe(false);
  expect(wasLooked({ processes: null, paths: null, gpuMemoryMb: 12 })).toBe(true);
  const onlyGpus = { processes: null, paths: null, gpuMemoryMb: 0 };
  expect([isNothing(onlyGpus), wasLooked(onlyGpus)]).toEqual([true, true]);
});

describe("GPU memory that was left", () => {
  const uuids = [fakeUuid(0), fakeUuid(1)];
  const rows = (...used: string[]): string => used.map((mb, gpu) => `${uuids[gpu]}, ${mb}\n`).join("");
  let driver: FakeNvidiaSmi;
  beforeAll(async () => {
    driver = await FakeNvidiaSmi.install({ stdout: "", code: 0 });
  });
  afterEach(() => vi.unstubAllEnvs());
  afterAll(() => driver.remove());

  /** Memory left of the two GPUs, by what nvidia-smi says before and after. */
  async function leftBetween(before: string, after: string, code = 0): Promise<number | null> {
    vi.stubEnv("PATH", driver.options.env.PATH);
    await driver.answer({ stdout: before, code: 0 });
    const stock = await takeStock(uuids);
    await driver.answer({ stdout: after, code });
    return (await leftoversSince(stock, uuids, 0)).gpuMemoryMb;
  }

  it("is what more is used of each", async () => {
    expect(await leftBetween(rows("4", "10"), rows("4", "10"))).toBe(0);
    expect(await leftBetween(rows("4", "10"), rows("1", "522"))).toBe(512);
  });

  it.each([
    ["nvidia-smi fails", rows("4", "4"), 15],
    ["a GPU is lost", "Unable to determine the device handle for GPU0000:1B:00.0: GPU is lost.\n", 0],
    ["a GPU does not say", rows("4", "[N/A]"), 0],
    ["a GPU says nothing", rows("4", ""), 0],
    ["a GPU is not told of", rows("4"), 0],
  ])("is unknown where %s", async (_name, stdout, code) => {
    expect(await leftBetween(rows("4", "4"), stdout, code)).toBeNull();
    if (code === 0) expect(await leftBetween(stdout, rows("4", "4")), "before the gradings").toBeNull();
  });

  it("is unknown where there is no nvidia-smi", async () => {
    vi.stubEnv("PATH", driver.dir);
    expect((await takeStock(uuids)).gpuMemoryMb).toBeNull();
  });
});
