import "server-only";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

const dayMs = 24 * 3600 * 1000;

/** Folders that hold what a killed process may leave behind, and how old it is when nobody can want it any more. */
const leftovers = [
  { folder: "ingest", afterMs: dayMs },
  { folder: join("blobs", "tmp"), afterMs: dayMs },
  { folder: "uploads", afterMs: 7 * dayMs },
  { folder: "live-logs", afterMs: 7 * dayMs },
];

/** Removes leftovers below the data folder. Answers how many there were. */
export async function removeLeftovers(dataDir: string, now = Date.now()): Promise<number> {
  let removed = 0;
  for (const { folder, afterMs } of leftovers) {
    const parent = join(/* turbopackIgnore: true */ dataDir, folder);
    for (const name of await readdir(/* turbopackIgnore: true */ parent).catch(() => [])) {
      const path = join(/* turbopackIgnore: true */ parent, name);
      const found = await stat(/* turbopackIgnore: true */ path).catch(() => null);
      if (!found || now - found.mtimeMs < afterMs) continue;
      await rm(path, { recursive: true, force: true });
      removed++;
    }
  }
  return removed;
}
