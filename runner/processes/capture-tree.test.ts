import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { capture } from "./capture";
import { captureTree } from "./capture-tree";

let folder: string;
let pidFile: string;
let tests = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capture-tree-"));
});
beforeEach(() => {
  tests += 1;
  pidFile = join(folder, String(tests));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const options = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, signal: undefined, timeoutMs: 60_000 };

const soon = { timeout: 20_000 };

/** Arguments of a shell that leaves a process in a session of its own, which holds its output, and then goes on. */
const leaving = (then: string): string[] => ["-c", `setsid sleep 300 & echo $! > ${pidFile}; ${then}`];

/** Whether that process lives, once it was started. */
async function isLeft(): Promise<boolean> {
  await expect.poll(() => readFile(pidFile, "utf8").catch(() => ""), soon).toMatch(/\d\n/);
  const pid = readFileSync(pidFile, "utf8").trim();
  return existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

describe.runIf(existsSync("/proc/self/stat"))("what a program starts", () => {
  it("is nothing to what it prints and how it ends", async () => {
    const script = "cat; echo $A; echo no >&2; exit 3";
    const ended = await captureTree("/bin/sh", ["-c", script], { ...options, env: { ...options.env, A: "yes" } });
    expect(ended).toEqual({ code: 3, signal: null, stdout: "yes\n", stderr: "no\n" });
    await expect(captureTree("/no/such", [], options)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("ends with it", async () => {
    const quiet = ["-c", `setsid sleep 300 > ${pidFile}.out 2>&1 & echo $! > ${pidFile}`];
    expect(await captureTree("/bin/sh", quiet, options)).toMatchObject({ code: 0 });
    await expect.poll(isLeft, soon).toBe(false);
  });

  it("ends with it at its time-out", async () => {
    const ended = await captureTree("/bin/sh", leaving("sleep 300"), { ...options, timeoutMs: 3000 });
    expect(ended.signal).toBe("SIGKILL");
    expect(await isLeft()).toBe(false);
  });

  it("ends at its time-out though memory was collected meanwhile", async () => {
    const source = fileURLToPath(new URL("capture-tree.ts", import.meta.url));
    const program = `import { captureTree } from ${JSON.stringify(source)};
const collecting = setInterval(globalThis.gc, 50);
const ended = await captureTree("/bin/sh", ["-c", "sleep 60"], ${JSON.stringify({ ...options, timeoutMs: 1000 })});
clearInterval(collecting);
process.stdout.write(String(ended.signal));`;
    const { stdout } = await capture(
      process.execPath,
      ["--expose-gc", "--import", "tsx", "--input-type=module", "-e", program],
      { timeoutMs: 45_000 },
    );
    expect(stdout).toBe("SIGKILL");
  }, 60_000);

  it("ends with it on an abort, before that is told", async () => {
    const controller = new AbortController();
    const ended = captureTree("/bin/sh", leaving("sleep 300"), { ...options, signal: controller.signal });
    const told = expect(ended).rejects.toThrow("told to end");
    expect(await isLeft()).toBe(true);
    controller.abort(new Error("told to end"));
    await told;
    expect(await isLeft()).toBe(false);
  });

  it("is not started where the abort came before", async () => {
    const controller = new AbortController();
    const early = captureTree("/bin/sh", leaving("sleep 300"), { ...options, signal: controller.signal });
    controller.abort(new Error("told to end"));
    await expect(early).rejects.toThrow("told to end");
    expect(existsSync(pidFile)).toBe(false);
  });

  it("ends with whoever started it", async () => {
    const source = fileURLToPath(new URL("capture-tree.ts", import.meta.url));
    const program = `import { captureTree } from ${JSON.stringify(source)};
await captureTree("/bin/sh", ${JSON.stringify(leaving("sleep 300"))}, ${JSON.stringify(options)});`;
    const starter = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program]);
    expect(await isLeft()).toBe(true);
    starter.kill("SIGKILL");
    await expect.poll(isLeft, soon).toBe(false);
  });
});
