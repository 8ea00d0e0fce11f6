import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { markProcess, runsStill, takeLockFile } from "./lock-file";

const folder = mkdtempSync(join(tmpdir(), "infradev-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
const fresh = () => join(folder, `${count++}.lock`);
const take = (path: string) => {
  const taken = takeLockFile(path, { url: null as string | null });
  if ("holder" in taken) throw new Error("the lock is held");
  return taken.lock;
};

describe("a lock file", () => {
  it("names its holder to whoever comes second, and is gone when it is released", () => {
    const path = fresh();
    const lock = take(path);
    lock.note({ url: "http://127.0.0.1:3000" });
    expect(takeLockFile(path, {})).toEqual({ holder: { ...markProcess(process.pid), url: "http://127.0.0.1:3000" } });
    lock.release();
    take(path).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("of a process that was killed is taken over", async () => {
    const child = spawn("sleep", ["60"]);
    const mark = markProcess(child.pid ?? 0);
    const path = fresh();
    writeFileSync(path, JSON.stringify(mark));
    expect(takeLockFile(path, {})).toEqual({ holder: mark });
    child.kill("SIGKILL");
    await new Promise((settle) => child.once("close", settle));
    take(path).release();
  });

  it.skipIf(markProcess(process.pid).started === null)("does not mistake a pid that was given out again", () => {
    const path = fresh();
    writeFileSync(path, JSON.stringify({ pid: process.pid, started: "another boot:1" }));
    take(path).release();
  });

  it("that is torn counts as held for a moment, then as left behind", () => {
    const path = fresh();
    writeFileSync(path, "");
    expect(takeLockFile(path, {})).toEqual({ holder: null });
    const before = new Date(Date.now() - 60_000);
    utimesSync(path, before, before);
    take(path).release();
  });

  it("is not removed by a holder that lost it", () => {
    const path = fresh();
    const lock = take(path);
    writeFileSync(path, JSON.stringify({ pid: 1, started: "x" }));
    lock.release();
    expect(readFileSync(path, "utf8")).toContain('"pid":1');
    rmSync(path);
  });

  it("of nobody is taken by one of many who race for it", async () => {
    const path = fresh();
    writeFileSync(path, JSON.stringify({ pid: 2 ** 22 + 1, started: null }));
    const script = join(folder, "race.ts");
    writeFileSync(
      script,
      `import { takeLockFile } from ${JSON.stringify(join(import.meta.dirname, "lock-file.ts"))};
       const taken = takeLockFile(process.argv[2] ?? "", {});
       console.log("lock" in taken ? "taken" : "held");
       setTimeout(() => {}, 3000);`,
    );
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, ["--import", "tsx", script, path], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        let said = "";
        child.stdout.on("data", (chunk) => (said += chunk));
        await new Promise((settle) => child.once("close", settle));
        return said.trim();
      }),
    );
    expect(answers.sort()).toEqual(["held", "held", "held", "taken"]);
    rmSync(script);
    rmSync(path);
  }, 60_000);
});

describe("a process", () => {
  it("that never was, or whose pid is nonsense, does not run", () => {
    for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 22 + 1]) expect(runsStill({ pid, started: null })).toBe(false);
    expect(runsStill(markProcess(process.pid))).toBe(true);
  });
});
