export type Topology = {
  /** Indices of GPUs that reach each other over NVLink, each island ascending; a GPU without NVLink is one by itself. */
  islands: number[][];
  /** NUMA node by GPU index, where told. */
  numaNodes: Map<number, number>;
};

/** Reads the matrix of `nvidia-smi topo -m`; null where `printed` holds none. */
export function parseTopology(printed: string): Topology | null {
  const lines = printed.split("\n");
  const head = lines.findIndex((line) => /^\s*GPU\d+(\s|$)/.test(line) && !/\sX\s/.test(` ${line} `));
  if (head < 0) return null;
  const columns = (lines[head] ?? "").split("\t").map((cell) => cell.trim());
  const numaColumn = columns.indexOf("NUMA Affinity");
  const links = new Map<number, number[]>();
  const numaNodes = new Map<number, number>();
  for (const line of lines.slice(head + 1)) {
    const cells = line.split("\t").map((cell) => cell.trim());
    const own = /^GPU(\d+)$/.exec(cells[0] ?? "");
    if (own === null) {
      if (links.size > 0) break;
      continue;
    }
    const index = Number(own[1]);
    const peers = columns.flatMap((name, column) => {
      const peer = /^GPU(\d+)$/.exec(name);
      return peer !== null && /^NV\d+$/.test(cells[column] ?? "") ? [Number(peer[1])] : [];
    });
    links.set(index, peers);
    const node = cells[numaColumn];
    if (numaColumn >= 0 && node !== undefined && /^\d+$/.test(node)) numaNodes.set(index, Number(node));
  }
  return links.size === 0 ? null : { islands: islandsOf(links), numaNodes };
}

function islandsOf(links: ReadonlyMap<number, readonly number[]>): number[][] {
  const islands: number[][] = [];
  const seen = new Set<number>();
  for (const start of [...links.keys()].sort((a, b) => a - b)) {
    if (seen.has(start)) continue;
    const island: number[] = [];
    const pending = [start];
    seen.add(start);
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      island.push(at);
      for (const peer of links.get(at) ?? []) {
        if (seen.has(peer) || !links.has(peer)) continue;
        seen.add(peer);
        pending.push(peer);
      }
    }
    islands.push(island.sort((a, b) => a - b));
  }
  return islands;
}
