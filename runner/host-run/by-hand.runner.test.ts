import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Launch } from "@/lib/contract/result";
import { ensurePython, type PythonRuntime } from "../grading/python-runtime";
import { TinyGradings, tinyExecutor } from "../grading/testing/tiny-gradings";
import type { Workspace } from "../grading/workspace";
import { processOwner } from "../processes/owner";
import { runByHand } from "./by-hand";
import { measureOverhead } from "./overhead";

let tiny: TinyGradings;
let python: PythonRuntime;
beforeAll(async () => {
  tiny = await TinyGradings.create();
  python = await ensurePython();
});
afterAll(async () => {
  await tiny.remove();
});

/** Whether a process is there, and not only its number, until somebody has asked for its end. */
const lives = (pid: string): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));

/** A torchrun that starts one rank as torch's agent does, in a session of its own and with its output. */
const agent = `import subprocess, sys
code = "import os, time; open('rank', 'w').write(f'{os.getpid()}\\\\n'); time.sleep(300)"
subprocess.Popen([sys.executable, "-c", code], start_new_session=True).wait()
`;
/** A test of a rank that starts a process and waits for ever. */
const waiting = `import os, subprocess, time


def test_waits():
    child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    with open("rank", "a") as file:
        file.write(f"{os.getpid()}\\n{child.pid}\\n")
    time.sleep(300)
`;

describe("launches by hand", () => {
  it.each([
    ["torchrun", 1, 1],
    ["ranks", 2, 4],
  ] as const)("end whole when they are told to: %s", async (launcher, nproc, processes) => {
    const repository = await mkdtemp(join(tmpdir(), "by-hand-"));
    try {
      await mkdir(join(repository, "torch/distributed"), { recursive: true });
      for (const name of ["torch/__init__.py", "torch/distributed/__init__.py", "settings.ini"]) {
        await writeFile(join(repository, name), name.endsWith(".ini") ? "[pytest]\n" : "");
      }
      await writeFile(join(repository, "torch/distributed/run.py"), agent);
      await writeFile(join(repository, "test_wait.py"), waiting);
      const controller = new AbortController();
      const launch = { launcher, nproc, group: "official", tests: ["test_wait.py::test_waits"] } as unknown as Launch;
      const ended = runByHand([launch], {
        python,
        workspace: { repository, probes: join(repository, "probes") } as Workspace,
        settings: join(repository, "settings.ini"),
        signal: controller.signal,
      });
      const told = expect(ended).rejects.toThrow("told to end");
      const pids = async () => (await readFile(join(repository, "rank"), "utf8").catch(() => "")).match(/\d+(?=\n)/g);
      await expect.poll(async () => (await pids())?.length, { timeout: 30_000 }).toBe(processes);
      controller.abort(new Error("told to end"));
      await told;
      expect((await pids())?.filter(lives)).toEqual([]);
    } finally {
      await rm(repository, { recursive: true, force: true });
    }
  });

  it("work in a folder that carries their maker's mark", async () => {
    const id = "tests/test_core.py::test_value";
    const task = await tiny.task({
      gold: { "lib/core.py": "def value():\n    return 1\n" },
      tests: { "tests/test_core.py": "from lib.core import value\n\n\ndef test_value():\n    assert value() == 1\n" },
      groups: [{ id: "official" }],
      ids: { [id]: { group: "official" } },
    });
    const marked = async () =>
      (await readdir(tmpdir())).filter((name) => name.startsWith(`infradev-overhead-${processOwner}-`));
    const during: Promise<string[]>[] = [];
    const seen = await measureOverhead({
      task,
      executor: tinyExecutor,
      python,
      gpus: null,
      rounds: 1,
      signal: new AbortController().signal,
      onRound: () => void during.push(marked()),
    });
    expect(seen.handMs).toHaveLength(1);
    expect((await Promise.all(during)).map(({ length }) => length)).toEqual([1]);
    expect(await marked()).toEqual([]);
  });
});
