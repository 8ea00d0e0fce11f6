import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inWords, isNothing, leftoversSince, takeStock } from "./leftovers";

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
});
