import { existsSync, readdirSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { z } from "zod";
import type { Mount } from "../executors/executor";

const libraryName = /^libnccl-profiler.*\.so(\.\d+)*$/;
const systemFolders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda/lib64"];
const dumpEveryUs = 500;

/**
 * Path of NCCL's profiler plugin on this host: what `NCCL_PROFILER_PLUGIN` names, by path or by the name in
 * `libnccl-profiler-<name>.so`, else the first `libnccl-profiler*.so` in the linker's and the given folders; null where
 * there is none.
 */
export function findProfilerPlugin(
  variables: Readonly<Record<string, string | undefined>>,
  folders: readonly string[] = systemFolders,
): string | null {
  const named = variables.NCCL_PROFILER_PLUGIN ?? "";
  if (isAbsolute(named)) {
    return existsSync(named) ? named : null;
  }
  const linked = (variables.LD_LIBRARY_PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  for (const folder of [...linked, ...folders]) {
    const library = librariesOf(folder).find(
      (name) => named === "" || [named, `libnccl-profiler-${named}.so`].includes(name),
    );
    if (library !== undefined) return join(folder, library);
  }
  return null;
}

function librariesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => libraryName.test(name))
      .sort();
  } catch {
    return [];
  }
}

/** Where a launch finds the plugin. */
export const pluginMount = (library: string): Mount => ({ hostPath: library, name: "libnccl-profiler.so" });

/**
 * Variables that load the plugin, by its path in the launch, and let Inspector write a line for each operation; the
 * launcher gives each rank a folder of its own for that.
 */
export const profilerEnv = (path: string): Record<string, string> => ({
  NCCL_PROFILER_PLUGIN: path,
  NCCL_INSPECTOR_ENABLE: "1",
  NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS: String(dumpEveryUs),
  NCCL_INSPECTOR_PROM_DUMP: "0",
});

/** Names of what `profilerEnv` sets. */
export const profilerVariables: readonly string[] = Object.keys(profilerEnv(""));

const count = z.number().int().nonnegative();
const recordSchema = z.object({
  header: z.object({ id: z.string(), rank: count, n_ranks: count }),
  coll_perf: z.object({ coll: z.string(), coll_sn: count, coll_msg_size_bytes: count }).optional(),
  p2p_perf: z.object({ p2p: z.string(), p2p_sn: count, p2p_msg_size_bytes: count }).optional(),
});

type Operation = { communicator: string; rank: number; operation: string; sequence: number; bytes: number };

/** Sums of one operation of one communicator on one rank. */
export type OperationSum = { communicator: string; rank: number; operation: string; messages: number; bytes: number };

/** What Inspector's files of a launch say; `missing` counts records that the numbering shows to be lost. */
export type Profile = { sums: OperationSum[]; bytes: number; missing: number; unreadable: number };

function operationOf(line: string): Operation | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return null;
  }
  const record = recordSchema.safeParse(parsed).data;
  if (record === undefined) return null;
  const { id: communicator, rank } = record.header;
  const { coll_perf: coll, p2p_perf: p2p } = record;
  if (coll !== undefined) {
    return { communicator, rank, operation: coll.coll, sequence: coll.coll_sn, bytes: coll.coll_msg_size_bytes };
  }
  if (p2p === undefined) return null;
  return { communicator, rank, operation: p2p.p2p, sequence: p2p.p2p_sn, bytes: p2p.p2p_msg_size_bytes };
}

/** Numbers between the least and the greatest of `sequences` that are not among them. */
function holesOf(sequences: readonly number[]): number {
  if (sequences.length === 0) return 0;
  const distinct = new Set(sequences);
  return sequences.reduce((a, b) => Math.max(a, b)) - sequences.reduce((a, b) => Math.min(a, b)) + 1 - distinct.size;
}

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
};

/**
 * Reads the lines that NCCL's Inspector plugin writes (output format v4 and v5: `header`, then `coll_perf` or
 * `p2p_perf`) and adds up message sizes over all ranks. Inspector numbers the operations of a communicator, by kind or
 * together; versions that keep the newest operation only lose those that end within one interval of writing.
 */
export function readInspector(texts: readonly string[]): Profile {
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  const operations = lines.map(operationOf).filter((operation) => operation !== null);
  const sums = [...groupBy(operations, (each) => `${each.communicator} ${each.rank} ${each.operation}`).values()].map(
    (group): OperationSum => ({
      communicator: group[0]?.communicator ?? "",
      rank: group[0]?.rank ?? 0,
      operation: group[0]?.operation ?? "",
      messages: group.length,
      bytes: group.reduce((sum, { bytes }) => sum + bytes, 0),
    }),
  );
  return {
    sums,
    bytes: sums.reduce((sum, { bytes }) => sum + bytes, 0),
    missing: missingOf(operations),
    unreadable: lines.length - operations.length,
  };
}

function missingOf(operations: readonly Operation[]): number {
  const byRank = [...groupBy(operations, (each) => `${each.communicator} ${each.rank}`).values()];
  const holes = byRank.reduce((sum, own) => {
    const together = holesOf(own.map(({ sequence }) => sequence));
    const kinds = [...groupBy(own, ({ operation }) => operation).values()];
    const apart = kinds.reduce((inner, kind) => inner + holesOf(kind.map(({ sequence }) => sequence)), 0);
    return sum + Math.min(together, apart);
  }, 0);
  // A collective is on every rank of its communicator: a rank with fewer has lost some at its end.
  const collectives = operations.filter(({ operation }) => operation !== "Send" && operation !== "Recv");
  const uneven = [...groupBy(collectives, (each) => `${each.communicator} ${each.operation}`).values()].reduce(
    (sum, group) => {
      const lasts = [...groupBy(group, ({ rank }) => String(rank)).values()].map((own) =>
        own.reduce((last, { sequence }) => Math.max(last, sequence), 0),
      );
      const last = Math.max(...lasts);
      return sum + lasts.reduce((inner, own) => inner + (last - own), 0);
    },
    0,
  );
  return holes + uneven;
}
