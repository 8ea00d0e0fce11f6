/** What is free on a host, and how its GPUs hang together. */
export type FreeGpus = {
  /** In nvidia-smi's order. */
  free: readonly string[];
  /** Every NVLink island of the host, free or not. */
  islands: readonly (readonly string[])[];
  /** NUMA node by UUID, where known. */
  numaNodes?: ReadonlyMap<string, number>;
};

/**
 * Which of the free GPUs a job of `count` gets; null where there are not so many. First the NVLink island that has the
 * fewest free GPUs and still enough (best fit, so that large islands stay whole); where no island has enough, as few
 * islands as can be, the largest first. Within an island GPUs of one NUMA node come together.
 */
export function chooseGpus(state: FreeGpus, count: number): string[] | null {
  if (count < 1 || count > state.free.length) return null;
  const order = new Map(state.free.map((uuid, position) => [uuid, position]));
  const islands = state.islands.map((island) => island.filter((uuid) => order.has(uuid)));
  const placed = new Set(islands.flat());
  for (const uuid of state.free) if (!placed.has(uuid)) islands.push([uuid]);
  const first = (island: readonly string[]): number => Math.min(...island.map((uuid) => order.get(uuid) ?? Infinity));
  const bySize = islands
    .filter((island) => island.length > 0)
    .sort((a, b) => a.length - b.length || first(a) - first(b));
  const fitting = bySize.find((island) => island.length >= count);
  if (fitting !== undefined) return fromIsland(fitting, count, state, order);
  const chosen: string[] = [];
  for (const island of bySize.sort((a, b) => b.length - a.length || first(a) - first(b))) {
    chosen.push(...fromIsland(island, Math.min(count - chosen.length, island.length), state, order));
    if (chosen.length === count) break;
  }
  return chosen.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
}

function fromIsland(
  island: readonly string[],
  count: number,
  { numaNodes }: FreeGpus,
  order: ReadonlyMap<string, number>,
): string[] {
  const nodes = new Map<number, string[]>();
  for (const uuid of island) {
    const node = numaNodes?.get(uuid) ?? -1;
    nodes.set(node, [...(nodes.get(node) ?? []), uuid]);
  }
  const groups = [...nodes]
    .sort(([a, left], [b, right]) => left.length - right.length || a - b)
    .map(([, uuids]) => uuids);
  const fitting = groups.find((uuids) => uuids.length >= count);
  const pool = fitting ?? groups.reverse().flat();
  return pool.slice(0, count).sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
}

export type WaitingJob<Job> = {
  job: Job;
  gpus: number;
  /** Whether the job can use this GPU, by default each. */
  usable?: (uuid: string) => boolean;
};
export type Start<Job> = { job: Job; uuids: string[] };

/**
 * Which waiting jobs start now, oldest first, and on which GPUs. The oldest job that needs more than is free, and not
 * more than the host can ever give (`servable`, free or in use), has what is free reserved for it: younger jobs that
 * need GPUs wait behind it, so that small jobs never starve a large one. Jobs that need none, and jobs that this host
 * can never serve, hold nobody up.
 */
export function planStarts<Job>(
  waiting: readonly WaitingJob<Job>[],
  state: FreeGpus,
  servable: readonly string[],
): Start<Job>[] {
  const starts: Start<Job>[] = [];
  let free = [...state.free];
  let reserved = false;
  for (const { job, gpus, usable = () => true } of waiting) {
    if (gpus === 0) {
      starts.push({ job, uuids: [] });
      continue;
    }
    if (reserved || gpus > servable.filter(usable).length) continue;
    const uuids = chooseGpus({ ...state, free: free.filter(usable) }, gpus);
    if (uuids === null) {
      reserved = true;
      continue;
    }
    starts.push({ job, uuids });
    free = free.filter((uuid) => !uuids.includes(uuid));
  }
  return starts;
}
