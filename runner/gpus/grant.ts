/** One GPU that a launch may use: its UUID, nvidia-smi's index, and the device nodes that are its own. */
type GrantedGpu = { uuid: string; index: number; devicePaths: readonly string[] };

/**
 * GPUs that this process holds the locks of, in the order in which the ranks get them. Whoever asked for it releases it,
 * once, after the last launch.
 */
export type GpuGrant = {
  readonly uuids: readonly string[];
  readonly devices: readonly GrantedGpu[];
  release(): Promise<void>;
};

/** The grant's first `count` GPUs, released with the whole; null where that is none. */
export function firstGpus(grant: GpuGrant | null, count: number): GpuGrant | null {
  if (grant === null || count === 0 || grant.uuids.length === 0) return null;
  if (grant.uuids.length <= count) return grant;
  return { uuids: grant.uuids.slice(0, count), devices: grant.devices.slice(0, count), release: () => grant.release() };
}

/** A number of GPUs for a sentence: `1 GPU`, `2 GPUs`. */
export const gpusInWords = (count: number): string => `${count} GPU${count === 1 ? "" : "s"}`;
