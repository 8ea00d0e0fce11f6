import type { PublishedProbes } from "@/lib/contract/probes-api";

interface Publication {
  source: PublishedProbes["source"];
  tables: readonly PublishedProbes["table"][];
}

const officialKey = "official_pct";
const withProbesKey = "with_probes_pct";

/** The only count of `total` whose percentage prints so; null where none or several do. */
function countBehind(printedPct: string | undefined, total: number): number | null {
  if (!printedPct) return null;
  const decimals = printedPct.split(".")[1]?.length ?? 0;
  const fits = Array.from({ length: total + 1 }, (_, count) => count).filter(
    (count) => ((100 * count) / total).toFixed(decimals) === Number(printedPct).toFixed(decimals),
  );
  return fits.length === 1 ? (fits[0] ?? null) : null;
}

function recompute(table: PublishedProbes["table"], tasks: number | undefined): PublishedProbes["recomputed"] {
  if (!tasks) return null;
  const counts = table.rows.map(({ cells }) => ({
    official: countBehind(cells[officialKey]?.printed, tasks),
    both: countBehind(cells[withProbesKey]?.printed, tasks),
  }));
  let officialResolved = 0;
  let resolved = 0;
  for (const { official, both } of counts) {
    if (official === null || both === null) return null;
    officialResolved += official;
    resolved += both;
  }
  return { officialResolved, rejected: officialResolved - resolved, rows: counts.length, tasks };
}

/**
 * Tables of publications that set official tests alone against official tests and probes, digit for digit, with the
 * counts behind their percentages where the publication states how many tasks the repository has.
 */
export function publishedProbes(publications: readonly Publication[]): PublishedProbes[] {
  return publications.flatMap(({ source, tables }) =>
    tables
      .filter(({ columns }) =>
        [officialKey, withProbesKey].every((key) => columns.some((column) => column.key === key)),
      )
      .map((table) => {
        const taskRows = tables.find(({ columns }) =>
          columns.some(({ key, unit }) => key === "total" && unit === "tasks"),
        );
        const tasks = taskRows?.rows.find(({ key }) => key === table.repository)?.cells["total"]?.value;
        const labels = tables.flatMap(({ rows }) => rows.map(({ key, label }) => [key, label] as const));
        const stated = tables.flatMap(({ rows }) => rows).find(({ key }) => key === "probe-rejection");
        return {
          source: { title: source.title, url: source.url, published: source.published },
          table,
          missingNames: Object.fromEntries(labels.filter(([key]) => table.missing.includes(key))),
          recomputed: recompute(table, tasks),
          statedPct: stated?.cells["value"]?.printed ?? null,
        };
      }),
  );
}
