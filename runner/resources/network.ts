import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";

/** What the kernel counted on a network namespace's loopback interface since the namespace was made. */
export type NetworkCounters = { bytes: number; packets: number };

/** A launch's own loopback interface, readable from outside until `close`, also after the launch's last process. */
export type PrivateNetwork = {
  /** Null once the kernel gives no counters any more. */
  read(): NetworkCounters | null;
  close(): void;
};

/**
 * Counters of `lo` in the text of a `/proc/<pid>/net/dev`, or null where it lists none. Loopback counts each packet
 * once as received and once as sent, with its IP and TCP headers: `bytes` is the received side alone.
 */
export function parseLoopback(text: string): NetworkCounters | null {
  const line = text.split("\n").find((candidate) => candidate.trimStart().startsWith("lo:"));
  if (line === undefined) return null;
  const [bytes, packets] = line
    .slice(line.indexOf(":") + 1)
    .trim()
    .split(/\s+/)
    .map(Number);
  if (bytes === undefined || packets === undefined || !Number.isFinite(bytes) || !Number.isFinite(packets)) return null;
  return { bytes, packets };
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return searchChildren(pid);
  }
}

/** For kernels without `children` files. */
function searchChildren(pid: number): number[] {
  try {
    return readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry))
      .filter((entry) => {
        const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
      })
      .map(Number);
  } catch {
    return [];
  }
}

function namespaceOf(pid: number | "self"): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

/**
 * Opens the counters of the network namespace that descendants of `pid` have for themselves; null where they share this
 * process's network (then nothing can be told apart), or where the kernel refuses. The open file keeps the namespace,
 * so nothing that happens between the last read and the launch's end is lost.
 */
export function openPrivateNetwork(pid: number): PrivateNetwork | null {
  const own = namespaceOf("self");
  for (let level = [pid], depth = 0; level.length > 0 && depth < 4; depth += 1) {
    for (const candidate of level) {
      const namespace = namespaceOf(candidate);
      if (namespace === null || own === null || namespace === own) continue;
      return openCounters(candidate);
    }
    level = level.flatMap(childrenOf);
  }
  return null;
}

function openCounters(pid: number): PrivateNetwork | null {
  let descriptor: number | null;
  try {
    descriptor = openSync(`/proc/${pid}/net/dev`, "r");
  } catch {
    return null;
  }
  const buffer = Buffer.alloc(16_384);
  return {
    read: () => {
      if (descriptor === null) return null;
      try {
        return parseLoopback(buffer.toString("latin1", 0, readSync(descriptor, buffer, 0, buffer.length, 0)));
      } catch {
        return null;
      }
    },
    close: () => {
      if (descriptor !== null) closeSync(descriptor);
      descriptor = null;
    },
  };
}
