import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { compareBytes, digestFiles } from "../files";
import { upstreamProblem } from "./problems";

const lockPollMs = 100;
const lockLimitMs = 15 * 60_000;

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/**
 * Runs `build` while this process holds the lock file. A lock of a process that is gone is taken over. The lock saves
 * work only: what is built takes its place by one rename, so that two builders at once do no harm.
 */
async function withLock(path: string, build: () => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const deadlineMs = performance.now() + lockLimitMs;
  for (;;) {
    const handle = await open(path, "wx").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      return null;
    });
    if (handle !== null) {
      try {
        await handle.writeFile(`${process.pid}\n`);
        await handle.close();
        return await build();
      } finally {
        await rm(path, { force: true });
      }
    }
    const holder = Number(await readFile(path, "utf8").catch(() => "0"));
    if (Number.isInteger(holder) && holder > 0 && !isRunning(holder)) await rm(path, { force: true });
    if (performance.now() > deadlineMs) {
      throw upstreamProblem("unavailable", "layer-locked", {
        message: `another process (${holder}) has been building this layer for ${lockLimitMs / 60_000} minutes`,
        where: path,
        rule: "a layer is built once, under a lock",
        remedy: "end that process, or remove the lock file",
      });
    }
    await wait(lockPollMs);
  }
}

/**
 * Makes sure that a layer is there and whole: verified where it exists, built in a folder of its own and moved into
 * place where it does not, and built anew where its content is not what it was.
 * @param verify whether the layer at a path holds what its name promises
 * @param build fills an empty folder
 */
export async function ensureLayer(
  path: string,
  verify: (dir: string) => Promise<boolean>,
  build: (dir: string) => Promise<void>,
): Promise<void> {
  if (await verify(path)) return;
  await withLock(`${path}.lock`, async () => {
    if (await verify(path)) return;
    // Of a build that was ended half-way nothing is kept: only a whole layer has a layer's name.
    const building = `${path}.building`;
    await rm(building, { recursive: true, force: true });
    await mkdir(building, { recursive: true });
    try {
      await build(building);
    } catch (error) {
      await rm(building, { recursive: true, force: true });
      throw error;
    }
    await rm(path, { recursive: true, force: true });
    await rename(building, path);
  });
}

const sumsName = "sums.sha256";

async function sumsOf(dir: string): Promise<string> {
  const files = (await digestFiles(dir)).filter((file) => file.path !== sumsName);
  return files
    .map((file) => `${file.sha256}  ${file.path}\n`)
    .sort((a, b) => compareBytes(a.slice(66), b.slice(66)))
    .join("");
}

/** Writes the digests of a layer's files into it. */
export async function sealLayer(dir: string): Promise<void> {
  const sums = await sumsOf(dir);
  const file = await open(join(dir, sumsName), "w");
  await file.writeFile(sums);
  await file.sync();
  await file.close();
}

/** Whether a layer holds exactly the files whose digests `sealLayer` wrote. */
export async function isSealed(dir: string): Promise<boolean> {
  const stated = await readFile(join(dir, sumsName), "utf8").catch(() => null);
  return stated !== null && stated === (await sumsOf(dir));
}
