import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { verificationKeyOf } from "@/lib/evidence/dsse";
import { ensurePython } from "../grading/python-runtime";
import { TinyGradings, tinyBase, tinyExecutor } from "../grading/testing/tiny-gradings";
import { patchOf } from "../grading/testing/tiny-task";
import { loadSigningKey } from "../signing-key";
import { writeValidation } from "../suites/gate-run";
import type { LoadedTask } from "../suites/load";
import type { Validation } from "../suites/validate";
import { type HostRunOptions, type HostRunStep, runOnHost } from "./host-run";
import { writeHostRun } from "./state";

const official = "tests/test_core.py::test_positive";
const probe = "probes/test_value.py::test_value";
const answering = (value: number): Promise<Uint8Array> =>
  patchOf(tinyBase, { "lib/core.py": `def value():\n    return ${value}\n` });

let tiny: TinyGradings;
let task: LoadedTask;
beforeAll(async () => {
  tiny = await TinyGradings.create();
  const loaded = await tiny.task({
    tests: {
      "tests/test_core.py": "from lib.core import value\n\n\ndef test_positive():\n    assert value() > 0\n",
      [probe.slice(0, probe.indexOf("::"))]:
        "from lib.core import value\n\n\ndef test_value():\n    assert value() == 1\n",
    },
    groups: [{ id: "official" }, { id: "probes" }],
    ids: { [official]: { group: "official" }, [probe]: { group: "probes" } },
  });
  const file = async (name: string, value: number): Promise<string> => {
    const path = join(tiny.scratch, name);
    await writeFile(path, await answering(value));
    return path;
  };
  task = {
    ...loaded,
    goldPath: await file("gold.patch", 1),
    mutants: [{ number: 1, name: "another-value", absPath: await file("mutant.patch", 2) }],
  };
});
afterAll(async () => {
  await tiny.remove();
});

beforeEach(async () => {
  await writeFile(task.goldPath, await answering(1));
  await writeFile(task.mutants[0]?.absPath ?? "", await answering(2));
});

/** One call over the task; gives what it graded. */
async function call(
  repeats: number,
  { steps, ...more }: { steps?: HostRunStep[] } & Partial<Omit<HostRunOptions, "steps">> = {},
) {
  const graded: string[] = [];
  const signer = await loadSigningKey(join(tiny.scratch, "key.pem"));
  const outcome = await runOnHost({
    tasks: [task],
    pythonOf: () => ensurePython(),
    executor: tinyExecutor,
    signer,
    keys: [verificationKeyOf(signer)],
    out: join(tiny.scratch, "out"),
    repeats,
    gpus: 0,
    gpuParallel: 1,
    gpuUuids: [],
    untilRejected: false,
    steps: new Set(steps ?? ["gate"]),
    again: false,
    acquireGpus: () => Promise.reject(new Error("nothing asks for a GPU")),
    acquireElsewhere: () => Promise.reject(new Error("nothing asks for a GPU")),
    parallel: 2,
    overheadRounds: 0,
    untilMs: performance.now() + 300_000,
    signal: new AbortController().signal,
    say: (text) => {
      const name = /(\S+ #\d+): completed/.exec(text)?.[1];
      if (name !== undefined) graded.push(name);
    },
    ...more,
  });
  return { ...outcome, graded: graded.sort((a, b) => a.localeCompare(b)) };
}

describe("a host run", { timeout: 120_000 }, () => {
  it("makes each grading once, and goes on where one more is asked for or a reference patch is another", async () => {
    expect((await call(1, { untilMs: 0 })).graded, "no time is left").toEqual([]);
    const first = await call(1);
    expect(first.graded).toEqual(["gold #1", "mutant-1 #1", "nop #1"]);
    expect(first.complete, "the self-test was not made").toBe(false);
    expect(first.rows[0]?.verdict).toMatchObject({ holds: true, admitted: false });
    expect(first.run.calls.at(-1)).toMatchObject({ gradings: 3 });
    expect((await call(1)).graded).toEqual([]);
    expect((await call(2, { untilMs: 0 })).complete, "asked for once more, without time").toBe(false);
    expect((await call(1)).rows[0]?.verdict.holds, "nothing was made that would be thrown away").toBe(true);
    expect((await call(2)).graded).toEqual(["gold #2"]);
    const begun: string[] = [];
    await expect(
      call(1, { steps: ["selftest", "gate"], say: (text) => begun.push(text) }),
      "what was made is not thrown away",
    ).rejects.toMatchObject({ code: "validation.repeats" });
    expect(begun, "a refusal comes before the work").toEqual([]);

    await writeFile(task.mutants[0]?.absPath ?? "", await answering(1));
    const changed = await call(2);
    expect(changed.graded).toEqual(["mutant-1 #1"]);
    expect(changed.rows[0]?.verdict.holds, "a mutant that is as good as gold").toBe(false);

    await writeFile(task.goldPath, await answering(3));
    const failing = await call(2);
    expect(failing.graded).toEqual(["gold #1", "gold #2"]);
    expect(failing.rows[0]?.verdict.rules.find(({ rule }) => rule.startsWith("gold"))?.found).toContain(
      `${probe}: failed (AssertionError: assert 3 == 1)`,
    );
  });

  it("takes a self-test that was made again into the reports, and keeps what it knows where none was made", async () => {
    const out = join(tiny.scratch, "exploits");
    const exploits = async () => (await call(1, { out })).rows[0]?.report.exploits;
    const { run } = await call(1, { out, untilMs: 0 });
    const signer = await loadSigningKey(join(tiny.scratch, "key.pem"));
    const save = (verdict: string | null) => {
      const results = verdict === null ? [] : [{ name: "one", verdict, seen: "", durationMs: 1 }];
      const selftest = verdict === null ? null : { controlResolved: true, results };
      return writeHostRun(join(out, "host-run.json"), { ...run, selftest }, signer);
    };
    expect(await exploits()).toBeNull();
    await save("passed");
    expect(await exploits()).toEqual({ run: 1, passed: ["one"], controlResolved: true });
    await save(null);
    expect(await exploits()).toEqual({ run: 1, passed: ["one"], controlResolved: true });
    await save("detected");
    expect(await exploits()).toEqual({ run: 1, passed: [], controlResolved: true });
  });

  it("says what its gradings left on the host", async () => {
    const path = join(tmpdir(), `infradev-left-${randomUUID()}`);
    try {
      const { left, run } = await call(1, {
        out: join(tiny.scratch, "leaving"),
        say: (text) => void (text.includes("gold #1") && mkdirSync(path)),
      });
      expect(run.calls.at(-1)?.paths).toContain(path);
      expect(left).toEqual([expect.stringMatching(/^after 3 gradings: .*path \//)]);
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  });

  it("gives every GPU back side by side, where no time is left and where it is told to end", async () => {
    const onGpu = (slug: string): LoadedTask => ({
      ...task,
      metadata: { ...task.metadata, slug },
      manifest: { ...task.manifest, task: { ...task.manifest.task, gpusGrade: 1 } },
    });
    const held: string[] = [];
    let given = 0;
    const sideBySide = {
      tasks: [onGpu("one"), onGpu("other")],
      out: join(tiny.scratch, "side-by-side"),
      gpus: 1,
      gpuParallel: 2,
      acquireGpus: async () => {
        given += 1;
        const uuid = `GPU-${given}`;
        held.push(uuid);
        const release = async () => void held.splice(held.indexOf(uuid), 1);
        return { uuids: [uuid], devices: [], release };
      },
    };
    const late = await call(1, { ...sideBySide, untilMs: 0 });
    expect([late.graded, late.complete, given, held], "nobody waits").toEqual([[], false, 0, []]);
    await expect(call(1, { ...sideBySide, signal: AbortSignal.abort(new Error("told to end")) })).rejects.toThrow(
      "told to end",
    );
    expect([given, held]).toEqual([4, []]);
    let asked = 0;
    const acquireGpus: HostRunOptions["acquireGpus"] = async (_count, signal) => {
      asked += 1;
      return await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    const waiting = await call(1, { ...sideBySide, acquireGpus, untilMs: performance.now() + 8000 });
    expect(asked).toBeGreaterThan(0);
    expect([waiting.graded, waiting.complete], "GPUs that others have are waited for within its time").toEqual([
      [],
      false,
    ]);
  });

  it("refuses a folder of another profile, and leaves what is there as it is", async () => {
    const out = join(tiny.scratch, "profiles");
    await call(1, { out });
    const files = ["host-run.json", `${task.suite.slug}/${task.metadata.slug}.validation.json`];
    const read = () => Promise.all(files.map((name) => readFile(join(out, name), "utf8")));
    const before = await read();
    const others: [Partial<Omit<HostRunOptions, "steps">>, string][] = [
      [{ executor: tinyExecutor === "bwrap" ? "process" : "bwrap" }, "validation.profile"],
      [{ gpus: 1, tasks: [{ ...task, metadata: { ...task.metadata, slug: "new" } }] }, "host-run.profile"],
      [{ pythonOf: async () => ({ ...(await ensurePython()), version: "2.7.18" }) }, "validation.software"],
    ];
    for (const [other, code] of others) {
      await expect(call(1, { out, ...other })).rejects.toMatchObject({ code });
      await expect(call(1, { out, steps: ["selftest"], ...other })).rejects.toMatchObject({ code });
    }
    expect(await read()).toEqual(before);
  });

  it("has its folder to itself", async () => {
    const out = join(tiny.scratch, "shared");
    const both = await Promise.allSettled([call(1, { out }), call(1, { out })]);
    const refused = both.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toEqual([expect.objectContaining({ code: "report.in-use" })]);
    expect((await call(1, { out })).graded, "nothing was lost").toEqual([]);
  });

  it("goes on from reports of a key that it was given, and signs them with its own", async () => {
    const out = join(tiny.scratch, "another-key");
    await call(1, { out });
    const before = verificationKeyOf(await loadSigningKey(join(tiny.scratch, "key.pem")));
    const signer = await loadSigningKey(join(tiny.scratch, "other-key.pem"));
    const own = [verificationKeyOf(signer)];
    await expect(call(2, { out, signer, keys: own })).rejects.toMatchObject({ code: "host-run.unknown-key" });
    expect((await call(2, { out, signer, keys: [...own, before] })).graded).toEqual(["gold #2"]);
    expect((await call(2, { out, signer, keys: own })).graded, "all is its own now").toEqual([]);
  });

  it("makes what ended as the host's fault again", async () => {
    const out = join(tiny.scratch, "infra");
    const { rows } = await call(1, { out });
    const report = rows[0]?.report as Validation;
    const signer = await loadSigningKey(join(tiny.scratch, "key.pem"));
    const gradings = report.gradings.map((each) =>
      each.patch === "gold" ? { ...each, status: "infra" as const, reason: "gpu.not-free", resolved: false } : each,
    );
    await writeValidation(
      join(out, task.suite.slug, `${task.metadata.slug}.validation.json`),
      { ...report, gradings },
      signer,
    );
    expect((await call(1, { out })).graded).toEqual(["gold #1"]);
  });

  it("does not take the host for clean after a call that was ended", async () => {
    const out = join(tiny.scratch, "ended");
    const ending = new AbortController();
    const say = (text: string): void => {
      if (text.includes("nop #1")) ending.abort(new Error("told to end"));
    };
    await expect(call(1, { out, parallel: 1, signal: ending.signal, say })).rejects.toThrow("told to end");
    const { run, graded } = await call(1, { out });
    expect(graded).toEqual(["gold #1", "mutant-1 #1"]);
    expect(run.calls).toEqual([
      { gradings: 1, processes: null, paths: null, gpuMemoryMb: null },
      expect.objectContaining({ gradings: 2, gpuMemoryMb: 0 }),
    ]);
  });

  it("compares nothing with launches by hand where gold fails, and says that it fails", async () => {
    const groups = task.manifest.groups.map((group) => ({ ...group, launcher: "torchrun" as const }));
    const failing: LoadedTask = { ...task, manifest: { ...task.manifest, groups } };
    await writeFile(task.goldPath, await answering(3));
    const { rows, complete } = await call(1, {
      tasks: [failing],
      out: join(tiny.scratch, "failing"),
      steps: ["gate", "overhead"],
      overheadRounds: 1,
    });
    expect(rows[0]?.verdict.holds).toBe(false);
    expect(complete).toBe(false);
  });
});
