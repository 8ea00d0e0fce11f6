import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { findHolder, type GpuLock, releaseAll, takeLock, takeLocks } from "./lock";

const fresh = (): string => `GPU-test-${randomUUID()}`;
const held: GpuLock[] = [];
afterEach(async () => releaseAll(held.splice(0)));

const source = fileURLToPath(new URL("lock.ts", import.meta.url));
/** Another runner: takes the locks, says so, and holds them until it is killed. */
async function otherProcess(uuids: string[]) {
  const program = `import { takeLocks } from ${JSON.stringify(source)};
const locks = await takeLocks(${JSON.stringify(uuids)}, "another runner");
console.log(locks === null ? "refused" : "held");
setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return { child, said: said.toString().trim() };
}

it("is held by one at a time, and told who that is", async () => {
  const uuid = fresh();
  const lock = await takeLock(uuid, "grading x");
  if (lock === null) throw new Error("a new lock is free");
  held.push(lock);
  expect(await takeLock(uuid, "grading y")).toBeNull();
  expect(await findHolder(uuid)).toMatchObject({ pid: process.pid, what: "grading x" });
  await lock.release();
  await lock.release();
  expect(await findHolder(uuid)).toBeNull();
  const again = await takeLock(uuid, "grading y");
  expect(again).not.toBeNull();
  if (again !== null) held.push(again);
});

it("is given back while somebody stays connected who asked for its holder", async () => {
  const uuid = fresh();
  const lock = await takeLock(uuid, "grading x");
  const stopped = createConnection({ path: `\0infradev-gpu/${uuid}`, allowHalfOpen: true });
  try {
    const [told] = (await once(stopped, "data")) as [Buffer];
    expect(JSON.parse(told.toString())).toMatchObject({ pid: process.pid, what: "grading x" });
    expect(await Promise.race([lock?.release().then(() => "free"), sleep(2000, "held")])).toBe("free");
    expect(await findHolder(uuid)).toBeNull();
  } finally {
    stopped.destroy();
  }
});

it("takes all of a set or none", async () => {
  const [a, b, c] = [fresh(), fresh(), fresh()];
  held.push(...((await takeLocks([b], "one")) ?? []));
  expect(await takeLocks([a, b, c], "all")).toBeNull();
  const rest = await takeLocks([c, a], "rest");
  expect(rest?.map(({ uuid }) => uuid)).toEqual([a, c].sort((left, right) => (left < right ? -1 : 1)));
  held.push(...(rest ?? []));
});

it("lets one of many win, never two", async () => {
  const uuids = [fresh(), fresh(), fresh(), fresh()];
  for (let round = 0; round < 20; round += 1) {
    const tries = await Promise.all(Array.from({ length: 8 }, (_, n) => takeLocks(uuids.slice(n % 2), `try ${n}`)));
    const won = tries.filter((locks) => locks !== null);
    const taken = won.flat().map(({ uuid }) => uuid);
    expect(new Set(taken).size).toBe(taken.length);
    await releaseAll(won.flat());
  }
});

it("holds against another process, and is free the moment that process is killed", async () => {
  const uuids = [fresh(), fresh()];
  const { child, said } = await otherProcess(uuids);
  try {
    expect(said).toBe("held");
    expect(await takeLocks([uuids[0] ?? ""], "this one")).toBeNull();
    expect(await findHolder(uuids[1] ?? "")).toMatchObject({ pid: child.pid, what: "another runner" });
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const locks = await takeLocks(uuids, "this one");
  expect(locks).toHaveLength(2);
  held.push(...(locks ?? []));
});
