import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { syntheticTrajectory } from "@/lib/trajectory/testing";
import { patchBytes, patchOf } from "./selftest/exploit";
import { exploits } from "./selftest/exploits/all";
import { answerPath, honestAnswer, writeTinyTask } from "./selftest/tiny-task";

const root = fileURLToPath(new URL("..", import.meta.url));
let dir: string;
let program: string;
let taskDir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "infradev-cli-"));
  execFileSync(process.execPath, ["--import", "tsx", "runner/build.ts"], { cwd: root });
  // Away from the repository: the file must need nothing beside it.
  program = join(dir, "runner.mjs");
  execFileSync("cp", [join(root, "dist/runner.mjs"), program]);
  await mkdir(join(dir, "tmp"));
  taskDir = (await writeTinyTask(join(dir, "work"))).dir;
  await writeFile(join(dir, "good.patch"), patchOf({ [answerPath]: honestAnswer }));
  await writeFile(
    join(dir, "hang.patch"),
    patchBytes(exploits.find((each) => each.name === "hangs-deaf") ?? { patch: {} }),
  );
}, 120_000);
afterAll(() => rm(dir, { recursive: true }));

type Ended = { code: number | null; stdout: string; stderr: string };

function start(...args: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: join(dir, "tmp") },
  });
  const ended = new Promise<Ended>((resolve) => {
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk) => (stdout += chunk));
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended };
}
const run = (...args: string[]): Promise<Ended> => start(...args).ended;

describe("the program as one file", () => {
  it("grades a patch, signs what it saw, and verifies it", async () => {
    const graded = await run("grade", taskDir, "--patch", "good.patch", "--executor", "process", "--json");
    expect(graded.stderr).toBe("");
    expect(graded.code).toBe(0);
    const { result, bundle } = JSON.parse(graded.stdout);
    expect(result.summary).toMatchObject({ resolved: true, requiredTotal: 4 });
    expect(result.sandboxed).toBe(false);
    const verified = await run("verify", bundle.path, "--keys", ".data/runner/key.pub.pem", "--json");
    expect(verified.code).toBe(0);
  });

  it("exits with 1 where a patch does not resolve its task", async () => {
    await writeFile(join(dir, "empty.patch"), "");
    const graded = await run("grade", taskDir, "--patch", "empty.patch", "--executor", "process");
    expect(graded.code).toBe(1);
    expect(graded.stdout).toContain("not resolved");
    expect(graded.stdout).toContain("not sandboxed");
  });

  it.each([
    ["an unknown command", ["bogus"], "unknown command"],
    ["an unknown executor", ["grade", ".", "--executor", "magic"], "executor"],
    ["a task that is not there", ["grade", "./nothing", "--patch", "good.patch"], "usage.task-missing"],
    ["no patch", ["grade", "work/selftest"], "usage.patch"],
    ["a patch file that is not there", ["grade", "work/selftest", "--patch", "gone.patch"], "environment.missing"],
    ["a patch without an end", ["grade", "work/selftest", "--patch", "/dev/zero"], "usage.patch"],
    [
      "a key below a file",
      ["grade", "work/selftest", "--patch", "good.patch", "--key", "good.patch/k.pem"],
      "environment.not-a-folder",
    ],
    ["a server without HTTPS", ["attach", "--server", "http://example.org", "--token", "x"], "usage.server-url"],
    [
      "a candidate that is no JSON",
      ["grade", "work/selftest", "--patch", "good.patch", "--candidate", "{"],
      "usage.candidate",
    ],
    [
      "a misspelled budget",
      ["grade", "work/selftest", "--patch", "good.patch", "--candidate", '{"budget": {"timemin": 3}}'],
      "timemin",
    ],
    [
      "a server with a path",
      ["upload", "a.tar.gz", "--server", "https://example.org/board"],
      "give https://example.org",
    ],
    ["a shard that is none", ["task", "validate", "work/selftest", "--shard", "3/2"], "usage.shard"],
  ])("exits with 2 on %s, and says what is wrong", async (_name, args, said) => {
    const { code, stderr } = await run(...args);
    expect(stderr).toContain(said);
    expect(code).toBe(2);
  });

  it("answers --json with one document for errors too", async () => {
    const { code, stdout } = await run("grade", "./nothing", "--patch", "good.patch", "--json");
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "usage.task-missing", remedy: expect.any(String) });
  });

  it("cleans up on Ctrl-C: no process, no folder, exit 130", async () => {
    const { child, ended } = start("grade", taskDir, "--patch", "hang.patch", "--executor", "process", "--out", "cut");
    let launched: number[] = [];
    for (let tries = 0; launched.length < 3 && tries < 600; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      launched = descendantsOf(child.pid ?? 0);
    }
    expect(launched.length).toBeGreaterThanOrEqual(3);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    const alive = new Set(processes().map(([pid]) => pid));
    expect(launched.filter((pid) => alive.has(pid))).toEqual([]);
    expect(await readdir(join(dir, "tmp"))).toEqual([]);
  });

  it("cleans up, and says nothing, where the reader of its output goes away: exit 141", async () => {
    await writeFile(join(dir, "run.json"), JSON.stringify(syntheticTrajectory({})));
    const hang = ["--patch", "hang.patch", "--executor", "process", "--trajectory", "run.json", "--out", "unread"];
    const { child, ended } = start("grade", taskDir, ...hang);
    child.stdout?.destroy();
    const { code, stderr } = await ended;
    expect(code).toBe(141);
    expect(stderr).not.toMatch(/EPIPE|defect/);
    expect(await readdir(join(dir, "tmp"))).toEqual([]);
  });

  it("keeps its exit code where it was through before the reader went away", async () => {
    const { child, ended } = start("--help");
    child.stdout?.destroy();
    expect(await ended).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("says what this host can run", async () => {
    const { stdout } = await run("doctor", "--json");
    const examination = JSON.parse(stdout);
    expect(examination.checks.map((check: { id: string }) => check.id)).toContain("bwrap");
    for (const check of examination.checks) if (check.state !== "ok") expect(check.remedy).toBeTruthy();
    expect(examination.can.gradeUnsandboxed).toBe(true);
  });

  /** [process, parent] of everything that runs. */
  function processes(): [number, number][] {
    const listed = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
    return listed.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  }

  function descendantsOf(parent: number): number[] {
    const all = processes();
    const below = (pid: number): number[] => all.flatMap(([child, of]) => (of === pid ? [child, ...below(child)] : []));
    return below(parent);
  }
});
