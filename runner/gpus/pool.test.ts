import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type FakeGpu, FakeNvidiaSmi, topologyMatrix } from "../testing/fake-nvidia-smi";
import { discoverGpus } from "./discover";
import type { GpuGrant } from "./grant";
import { takeLock, turnOf } from "./lock";
import { GpuPool, type PoolOptions } from "./pool";
import { Quarantine, type QuarantineEvent } from "./quarantine";
import { settleGpus } from "./settle";

// UUIDs of their own, since locks are the host's.
let gpus: FakeGpu[];
let fake: FakeNvidiaSmi;
let folder: string;
let events: QuarantineEvent[];
beforeEach(async () => {
  gpus = Array.from({ length: 4 }, (_, minor) => ({ uuid: `GPU-${minor}-${randomUUID()}`, minor }));
  fake = await FakeNvidiaSmi.install({
    gpus,
    topology: topologyMatrix(
      [
        [0, 1],
        [2, 3],
      ],
      () => 0,
    ),
  });
  folder = await mkdtemp(join(tmpdir(), "quarantine-"));
  events = [];
});
afterEach(async () => {
  await fake.remove();
  await rm(folder, { recursive: true, force: true });
});

const discover = () => discoverGpus(fake.options);
const newPool = (options: Partial<PoolOptions> = {}) =>
  new GpuPool({
    what: "test",
    discover,
    quarantine: new Quarantine(folder),
    pollMs: 50,
    graceMs: 300,
    onEvent: (event) => events.push(event),
    ...options,
  });
const uuid = (n: number): string => gpus[n]?.uuid ?? "";

it("grants GPUs of one island, each to one, and gets them back", async () => {
  const pool = newPool();
  const [a, b] = await Promise.all([pool.acquire(2), pool.acquire(2)]);
  expect(new Set([...a.uuids, ...b.uuids])).toEqual(new Set(gpus.map((gpu) => gpu.uuid)));
  expect(a.devices.map(({ index }) => index)).toEqual([0, 1]);
  expect(a.devices[0]?.devicePaths).toEqual([join(fake.dir, "dev", "nvidia0")]);
  expect((await pool.look()).busy.map(({ holder }) => holder.what)).toEqual(["test", "test", "test", "test"]);
  await Promise.all([a.release(), b.release()]);
  expect((await newPool().look()).free).toHaveLength(4);
  expect(events).toEqual([]);
});

it("lets the oldest large job go before younger small ones", async () => {
  const pool = newPool();
  const first = await pool.acquire(1);
  const order: string[] = [];
  const noted = async (name: string, grant: Promise<GpuGrant>) => {
    const given = await grant;
    order.push(name);
    return given;
  };
  const large = noted("large", pool.acquire(4));
  const entered = sleep(200);
  await entered;
  const small = noted("small", pool.acquire(1));
  await sleep(300);
  expect(order).toEqual([]);
  await first.release();
  await (await large).release();
  await (await small).release();
  expect(order).toEqual(["large", "small"]);
});

it("serves jobs in the order in which they asked, however long it looks for GPUs", async () => {
  let looks = 0;
  const pool = newPool({
    discover: async () => {
      looks += 1;
      await sleep(looks === 1 ? 300 : 0);
      return await discover();
    },
  });
  const order: string[] = [];
  const serve = async (name: string, count: number) => {
    const grant = await pool.acquire(count);
    order.push(name);
    await grant.release();
  };
  await Promise.all([serve("first", 3), serve("second", 2), serve("third", 3)]);
  expect(order).toEqual(["first", "second", "third"]);
});

it("looks again at once where another process was faster", async () => {
  const pools = [newPool({ pollMs: 600_000 }), newPool({ pollMs: 600_000 })];
  const grants = await Promise.all(pools.map((pool) => pool.acquire(2)));
  expect(new Set(grants.flatMap(({ uuids }) => uuids)).size).toBe(4);
  await Promise.all(grants.map((grant) => grant.release()));
});

it("starts no more jobs where another process's job waits for more than is free", async () => {
  const [pool, other] = [newPool(), newPool()];
  let served = 0;
  const serveSmall = async () => {
    for (let turn = 0; turn < 12; turn += 1) {
      const grant = await pool.acquire(2);
      served += 1;
      await sleep(60);
      await grant.release();
    }
  };
  const small = Promise.all([serveSmall(), serveSmall()]);
  await sleep(100);
  const large = await other.acquire(4);
  const before = served;
  expect(before).toBeLessThan(24);
  await large.release();
  await small;
  expect(served).toBe(24);
});

it("lets another process have its turn before its own next job", async () => {
  const [pool, other] = [newPool(), newPool()];
  const held = await pool.acquire(1);
  const order: string[] = [];
  const serve = async (name: string, from: GpuPool) => {
    const grant = await from.acquire(4);
    order.push(name);
    await sleep(20);
    await grant.release();
  };
  const own = ["own 1", "own 2", "own 3"].map((name) => serve(name, pool));
  await sleep(300);
  const others = serve("other", other);
  await sleep(300);
  await held.release();
  await Promise.all([...own, others]);
  expect(order.indexOf("other")).toBeLessThan(3);
});

it("minds no turn of a process that does not answer", async () => {
  const stopped = createServer(() => undefined);
  await new Promise<void>((resolve) => stopped.listen(`\0infradev-gpu/${turnOf(gpus)}`, resolve));
  await (await newPool().acquire(1)).release();
  await new Promise((resolve) => stopped.close(resolve));
});

it("says once of each job that waits what it waits for, and who has it", async () => {
  const said: string[] = [];
  const pool = newPool({ what: "one", onWait: (text) => said.push(`one ${text}`) });
  const other = newPool({ what: "other", onWait: (text) => said.push(`other ${text}`) });
  const controller = new AbortController();
  const { signal } = controller;
  const held = await pool.acquire(3);
  const stopped = [pool.acquire(4, { signal }), pool.acquire(1, { signal })];
  for (const each of stopped) each.catch(() => undefined);
  await expect.poll(() => said).toHaveLength(2);
  const kept = other.acquire(1);
  await expect.poll(() => said).toHaveLength(3);
  const users = [0, 1, 2].map((gpu) => `GPU ${gpu} has one (process ${process.pid})`).join("; ");
  expect(said).toEqual([
    `one waiting for 4 GPUs; ${users}`,
    `one waiting for 1 GPU; ${users}; what is free is kept for an older job`,
    `other waiting for 1 GPU; ${users}; what is free is kept for the next job of one (process ${process.pid})`,
  ]);
  controller.abort(new Error("stopped"));
  await (await kept).release();
  await Promise.allSettled(stopped);
  await held.release();
  const [three] = await Promise.all([
    pool.acquire(3),
    pool.acquire(2, { signal: AbortSignal.timeout(300) }).catch(() => null),
  ]);
  expect(said.at(-1), "what was given away in the same look").toBe(`one waiting for 2 GPUs; ${users}`);
  await three.release();
});

it("keeps nothing for a job that stopped waiting", async () => {
  const [pool, other] = [newPool(), newPool()];
  const held = await other.acquire(1);
  const controller = new AbortController();
  const large = expect(pool.acquire(4, { signal: controller.signal })).rejects.toThrow("stopped");
  await sleep(300);
  const small = other.acquire(1);
  const early = await Promise.race([small, sleep(300, "waits")]);
  expect(early).toBe("waits");
  controller.abort(new Error("stopped"));
  await large;
  await (await small).release();
  await held.release();
});

it("waits for what another process holds, and counts it as what it can serve", async () => {
  const other = await takeLock(uuid(0), "another runner");
  const waiting = newPool().acquire(4);
  await sleep(150);
  await other?.release();
  await (await waiting).release();
});

it("refuses what the host can never give, with the reason", async () => {
  await expect(newPool().acquire(5)).rejects.toMatchObject({ code: "gpu.too-few" });
  await expect(newPool().acquire(1, { minMemoryMb: 200_000 })).rejects.toMatchObject({
    code: "gpu.too-few",
    message: expect.stringContaining("200000 MiB"),
  });
  await fake.answer({ stdout: "Failed to initialize NVML: Driver/library version mismatch\n", code: 18 });
  await expect(newPool().acquire(1)).rejects.toMatchObject({
    problem: { remedy: expect.stringContaining("reload the modules") },
  });
});

it("waits a little for memory that is on its way back, before it calls a GPU not to be had", async () => {
  await fake.answer({ gpus: gpus.map((gpu) => ({ ...gpu, usedMb: 3000 })) });
  const pool = newPool({ graceMs: 20_000 });
  const waiting = pool.acquire(2);
  await sleep(1500);
  await fake.answer({ gpus });
  await (await waiting).release();
});

it("stops waiting when told to", async () => {
  const pool = newPool();
  const all = await pool.acquire(4);
  const controller = new AbortController();
  const waiting = pool.acquire(1, { signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await all.release();
  expect((await pool.look()).free).toHaveLength(4);
});

it("keeps no GPU for a job that stopped waiting while its GPUs were looked for", async () => {
  const controller = new AbortController();
  let looks = 0;
  const pool = newPool({
    discover: async () => {
      looks += 1;
      if (looks === 1) controller.abort(new Error("stopped"));
      return await discover();
    },
  });
  await expect(pool.acquire(1, { signal: controller.signal })).rejects.toThrow("stopped");
  await sleep(200);
  expect((await pool.look()).busy).toEqual([]);
});

it("refuses a waiting job once the host cannot serve it any more", async () => {
  const pool = newPool();
  const held = await pool.acquire(1);
  const waiting = pool.acquire(4);
  const refused = expect(waiting).rejects.toMatchObject({ code: "gpu.too-few", message: expect.stringMatching(/ECC/) });
  await sleep(100);
  await fake.answer({ gpus: gpus.map((gpu) => (held.uuids.includes(gpu.uuid) ? gpu : { ...gpu, eccUncorrected: 1 })) });
  await refused;
  await held.release();
});

it("tells whoever waits that the quarantine cannot be written, and gives GPUs back all the same", async () => {
  const blocked = join(folder, "file");
  await writeFile(blocked, "");
  const pool = newPool({ quarantine: new Quarantine(blocked) });
  const held = await pool.acquire(3);
  const waiting = pool.acquire(2);
  const refused = expect(waiting).rejects.toMatchObject({ problem: { code: "gpu.quarantine-file" } });
  await sleep(100);
  await fake.answer({ gpus: gpus.map((gpu) => (held.uuids.includes(gpu.uuid) ? gpu : { ...gpu, eccUncorrected: 1 })) });
  await refused;
  await held.release();
});

it("gives back at once, however often it looked while jobs waited", async () => {
  const slow = async () => {
    await sleep(150);
    return await discover();
  };
  const pool = newPool({ discover: slow, pollMs: 10 });
  const held = await pool.acquire(4);
  const waiting = pool.acquire(1);
  await sleep(1500);
  const begun = performance.now();
  await held.release();
  expect(performance.now() - begun).toBeLessThan(2000);
  await (await waiting).release();
});

it("quarantines what is not healthy, remembers it, and clears it when it is well again", async () => {
  const sick = gpus.map((gpu, n) =>
    n === 1 ? { ...gpu, eccUncorrected: 2 } : n === 2 ? { ...gpu, usedMb: 5000 } : gpu,
  );
  await fake.answer({ gpus: sick });
  expect((await newPool().look()).free.map((gpu) => gpu.uuid)).toEqual([uuid(0), uuid(3)]);
  expect(events.map(({ type, entry }) => [type, entry.uuid, entry.code])).toEqual([
    ["quarantined", uuid(1), "ecc-uncorrected"],
    ["quarantined", uuid(2), "leftover-memory"],
  ]);
  await expect(newPool().acquire(3)).rejects.toMatchObject({ message: expect.stringContaining("ECC") });
  // Another process finds the file, and says nothing twice.
  expect(await new Quarantine(folder).list()).toHaveLength(2);
  await newPool().look();
  expect(events).toHaveLength(2);
  await fake.answer({ gpus });
  expect((await newPool().look()).free).toHaveLength(4);
  expect(events.slice(2).map(({ type }) => type)).toEqual(["cleared", "cleared"]);
  expect(await new Quarantine(folder).list()).toEqual([]);
});

it("keeps in quarantine what is not seen any more, with its reason, and clears it once it is seen well", async () => {
  const [first, ...others] = gpus;
  if (first === undefined) throw new Error("no GPU");
  const addressed = { ...first, pciBus: "00000000:2A:00.0" };
  const line = "Unable to determine the device handle for GPU 0000:2A:00.0: Unknown Error\n";
  await fake.answer({ gpus: [{ ...addressed, eccUncorrected: 2 }, ...others] });
  await newPool().look();
  await fake.answer({ gpus: others, before: line });
  await newPool().look();
  await fake.answer({ gpus: others });
  expect((await newPool().look()).quarantined.map(({ uuid: which, code }) => [which, code])).toEqual([
    ["pci:0000:2A:00.0", "unreadable"],
    [uuid(0), "ecc-uncorrected"],
  ]);
  expect(events.map(({ type }) => type)).toEqual(["quarantined", "quarantined"]);
  await fake.answer({ gpus: [addressed, ...others] });
  expect((await newPool().look()).free).toHaveLength(4);
  expect(events.slice(2).map(({ type }) => type)).toEqual(["cleared", "cleared"]);
});

it("tells last of what is not seen any more, as such, and does not wait for it", async () => {
  const [first, second, ...others] = gpus;
  if (first === undefined || second === undefined) throw new Error("no GPU");
  const sick = { ...second, eccUncorrected: 2 };
  await fake.answer({ gpus: [{ ...first, processes: [{ pid: 7, usedMb: 100 }] }, sick, ...others] });
  await newPool().look();
  await fake.answer({ gpus: [sick, ...others] });
  const { quarantined } = await newPool().look();
  expect(quarantined.map(({ uuid: which, isSeen }) => [which, isSeen])).toEqual([
    [uuid(1), true],
    [uuid(0), false],
  ]);
  const refusalOf = (count: number) =>
    Promise.race([
      newPool({ graceMs: 60_000 })
        .acquire(count)
        .catch((error: unknown) => error),
      sleep(5000, "waits"),
    ]);
  expect(await refusalOf(3)).toMatchObject({
    message: expect.stringMatching(
      /serve 2 of 3 GPUs: GPU \d has 2 unc[^;]*; not seen now, in [^;]*: GPU \d is used by/,
    ),
    problem: { remedy: expect.stringContaining("nvidia-smi --gpu-reset") },
  });
  await fake.answer({ gpus: [second, ...others] });
  expect(await refusalOf(4)).toMatchObject({
    message: expect.stringContaining("3 of 4 GPUs: not seen now"),
    problem: { remedy: expect.stringContaining("ask for fewer") },
  });
  await fake.answer({ gpus: [first, sick, ...others] });
  await newPool().look();
  await fake.answer({ gpus: [first, ...others] });
  expect(await refusalOf(4), "a GPU that fell off the bus").toMatchObject({
    problem: { remedy: expect.stringContaining("nvidia-smi --gpu-reset") },
  });
});

it("does not take a grading's own processes for foreign ones", async () => {
  const pool = newPool();
  const grant = await pool.acquire(2);
  const working = gpus.map((gpu) =>
    grant.uuids.includes(gpu.uuid) ? { ...gpu, usedMb: 9000, processes: [{ pid: 7, usedMb: 8000 }] } : gpu,
  );
  await fake.answer({ gpus: working });
  expect((await pool.look()).free).toHaveLength(2);
  expect(events).toEqual([]);
  await fake.answer({ gpus });
  await grant.release();
});

it("counts a quarantine file that is damaged as empty", async () => {
  await writeFile(join(folder, "quarantine.json"), "{ half");
  await fake.answer({ gpus: gpus.map((gpu) => ({ ...gpu, mig: "Enabled" as const })) });
  expect((await newPool().look()).free).toEqual([]);
  const text = await readFile(join(folder, "quarantine.json"), "utf8");
  expect(JSON.parse(text).gpus.map((entry: { code: string }) => entry.code)).toEqual(["mig", "mig", "mig", "mig"]);
});

it("says where the quarantine cannot be written, and how to name another place", async () => {
  await writeFile(join(folder, "file"), "");
  await fake.answer({ gpus: gpus.map((gpu) => ({ ...gpu, eccUncorrected: 1 })) });
  const pool = newPool({ quarantine: new Quarantine(join(folder, "file", "below")) });
  await expect(pool.look()).rejects.toMatchObject({
    code: "gpu.quarantine-file",
    problem: { remedy: expect.stringContaining("INFRADEV_GPU_DIR") },
  });
});

it("waits after a launch until its memory is back, for so long and no longer", async () => {
  const busy = gpus.map((gpu) => ({ ...gpu, usedMb: 3000 }));
  await fake.answer({ gpus: busy });
  const settled = settleGpus([uuid(0)], { discover, limitMs: 10_000 });
  await sleep(100);
  await fake.answer({ gpus });
  expect((await settled).unsettled).toEqual([]);
  await fake.answer({ gpus: busy });
  const { unsettled } = await settleGpus([uuid(0), uuid(3)], { discover, limitMs: 50 });
  expect(unsettled.map(({ uuid: which, fault }) => [which, fault.code])).toEqual([
    [uuid(0), "leftover-memory"],
    [uuid(3), "leftover-memory"],
  ]);
  await fake.answer({ gpus: gpus.slice(1) });
  expect((await settleGpus([uuid(0)], { discover })).unsettled[0]?.fault.code).toBe("unreadable");
});
