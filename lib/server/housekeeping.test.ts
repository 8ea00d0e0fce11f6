import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeLeftovers } from "./housekeeping";

test("what a killed process left behind goes when nobody can want it any more; blobs stay", async () => {
  const root = await mkdtemp(join(tmpdir(), "infradev-leftovers-"));
  try {
    const old = new Date(Date.now() - 8 * 24 * 3600 * 1000);
    for (const [folder, name] of [
      ["ingest", "old"],
      ["ingest", "new"],
      ["uploads", "old.part"],
      ["blobs/ab", "old"],
    ] as const) {
      const path = join(root, folder, name);
      await mkdir(join(root, folder), { recursive: true });
      await writeFile(path, "x");
      if (name.startsWith("old")) await utimes(path, old, old);
    }
    expect(await removeLeftovers(root)).toBe(2);
    expect(await readdir(join(root, "ingest"))).toEqual(["new"]);
    expect(await readdir(join(root, "blobs/ab"))).toEqual(["old"]);
    expect(await removeLeftovers(join(root, "nowhere"))).toBe(0);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
