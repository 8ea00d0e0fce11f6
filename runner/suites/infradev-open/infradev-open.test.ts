import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gitTreeOid } from "../files";
import { type LoadedSuite, loadSuite } from "../load";
import { findMirror } from "../upstream/mirrors";
import { provideSources } from "../upstream/sources";

const dir = fileURLToPath(new URL(".", import.meta.url));
/** Found before the data folder is another one. */
const mirror = await findMirror("NVIDIA/Megatron-LM", new Map()).catch(() => null);
const before = process.env.INFRADEV_DATA_DIR;
let data: string;
let suite: LoadedSuite;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "infradev-open-"));
  process.env.INFRADEV_DATA_DIR = data;
  suite = await loadSuite(dir);
});
afterAll(async () => {
  if (before === undefined) delete process.env.INFRADEV_DATA_DIR;
  else process.env.INFRADEV_DATA_DIR = before;
  await rm(data, { recursive: true, force: true });
});

describe("infradev-open", () => {
  it("is read without a mirror: what is graded is known by digest", () => {
    const shapes = suite.tasks.map(({ metadata, mutants, probeFiles, manifest }) => ({
      slug: metadata.slug,
      mutants: mutants.length,
      probes: manifest.tests.filter((test) => test.kind === "probe").length,
      properties: new Set(manifest.tests.flatMap((test) => (test.kind === "probe" ? [test.property] : []))).size,
      files: probeFiles.length,
    }));
    expect(shapes).toEqual([
      { slug: "megatron-distributed-buffer", mutants: 8, probes: 24, properties: 6, files: 3 },
      { slug: "megatron-fully-shard", mutants: 8, probes: 16, properties: 6, files: 4 },
    ]);
  });

  it("requires of upstream's tests those that two CPU ranks run, but one that decides by luck; two more on two GPUs", () => {
    const counts = suite.tasks.map(({ manifest }) => {
      const official = manifest.tests.filter((test) => test.kind === "official");
      const required = official.filter((test) => test.required);
      return [official.length, required.length, required.filter((test) => test.needs.gpus === 0).length];
    });
    expect(counts).toEqual([
      [21, 14, 14],
      [33, 27, 25],
    ]);
  });

  it("holds no file of upstream, and no patch", async () => {
    const paths = (await readdir(dir, { recursive: true })).filter((path) =>
      /\.(?:patch|diff)$|\/official\//.test(path),
    );
    expect(paths).toEqual([]);
  });

  it.skipIf(mirror === null)(
    "is what a mirror of Megatron-LM gives (skipped where none is given: see README.md)",
    { timeout: 120_000 },
    async () => {
      for (const task of suite.tasks) {
        await provideSources(task, new Map([["NVIDIA/Megatron-LM", mirror ?? ""]]));
        expect(await gitTreeOid(task.baseDir)).toBe(task.manifest.task.baseTree);
        expect((await readFile(task.goldPath, "utf8")).match(/^diff --git/gm)).toHaveLength(
          task.metadata.pr === 4835 ? 4 : 6,
        );
        for (const mutant of task.mutants) expect(await readFile(mutant.absPath, "utf8")).toMatch(/^diff --git/);
      }
    },
  );
});
