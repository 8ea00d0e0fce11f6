import { createConnection, createServer, type Server } from "node:net";

/** Who holds a GPU's lock, as the holder itself tells. */
export type Holder = { pid: number; since: string; what: string };

/** A GPU's lock, held by this process until it is released or the process is gone. */
export type GpuLock = { uuid: string; release(): Promise<void> };

// An abstract socket (man 7 unix): a name of the host, in no folder, that the kernel frees with its last holder.
const nameOf = (uuid: string): string => `\0infradev-gpu/${uuid}`;

/** The name of the lock that one waiting job of a host with these GPUs has: the next that are free are its own. */
export const turnOf = (gpus: readonly { uuid: string }[]): string => `turn/${gpus.map(({ uuid }) => uuid).sort()[0]}`;

/** Takes a GPU's lock for this process; null where any live process of this host, this one too, holds it. */
export async function takeLock(uuid: string, what: string): Promise<GpuLock | null> {
  const holder: Holder = { pid: process.pid, since: new Date().toISOString(), what };
  const server = createServer((connection) => {
    connection.on("error", () => undefined);
    connection.write(JSON.stringify(holder));
    // Not `end`: `close` waits for connections, and a peer that is stopped never ends its side.
    connection.destroySoon();
  });
  const held = await new Promise<Server | null>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(null);
      else reject(error);
    });
    server.listen(nameOf(uuid), () => resolve(server));
  });
  if (held === null) return null;
  held.unref();
  let released: Promise<void> | null = null;
  return {
    uuid,
    release: () => {
      released ??= new Promise((resolve) => held.close(() => resolve()));
      return released;
    },
  };
}

/**
 * Takes all of the locks, or none. They are tried in one order and never waited for, so that two runners can neither
 * hold parts of each other's sets for long nor wait for each other.
 */
export async function takeLocks(uuids: readonly string[], what: string): Promise<GpuLock[] | null> {
  const locks: GpuLock[] = [];
  for (const uuid of [...uuids].sort((a, b) => (a < b ? -1 : 1))) {
    const lock = await takeLock(uuid, what).catch(async (error: unknown) => {
      await releaseAll(locks);
      throw error;
    });
    if (lock === null) {
      await releaseAll(locks);
      return null;
    }
    locks.push(lock);
  }
  return locks;
}

/** Gives these locks back; resolves when all of them are free. */
export const releaseAll = async (locks: readonly GpuLock[]): Promise<void> => {
  await Promise.all(locks.map((lock) => lock.release()));
};

/** Who holds a GPU's lock; null where nobody does, `pid` 0 where the holder does not answer. */
export async function findHolder(uuid: string): Promise<Holder | null> {
  return await new Promise((resolve) => {
    const silent: Holder = { pid: 0, since: "", what: "a process that does not answer" };
    const connection = createConnection(nameOf(uuid));
    const chunks: Buffer[] = [];
    let connected = false;
    let nobody = false;
    connection.setTimeout(1000, () => connection.destroy());
    connection.once("connect", () => {
      connected = true;
    });
    connection.on("data", (chunk: Buffer) => chunks.push(chunk));
    connection.once("error", ({ code }: NodeJS.ErrnoException) => {
      nobody = code !== "EAGAIN"; // with it, so many ask already that the holder takes no more
    });
    connection.once("close", () => {
      if (nobody && !connected) return resolve(null);
      if (!connected) return resolve(silent);
      try {
        resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Holder);
      } catch {
        resolve(silent);
      }
    });
  });
}
